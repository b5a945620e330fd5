/** Saving documents for the daemon, and places and diagnostics in the form of LSP. */

import * as vscode from "vscode";

import type { SaveReply, Uris } from "./wire";

/** Only documents that are open; the reply names those that are now on disk. */
export async function save({ uris }: Uris): Promise<SaveReply> {
  const saved: string[] = [];
  for (const uri of uris) {
    const wanted = vscode.Uri.parse(uri, true).toString();
    const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === wanted);
    if (document !== undefined && document.uri.scheme === "file" && (!document.isDirty || (await document.save()))) {
      saved.push(uri);
    }
  }
  return { saved };
}

const SEVERITIES = [1, 2, 3, 4] as const; // of the editor's 0 to 3

export function asLsp(diagnostic: vscode.Diagnostic): object {
  const { range, message, severity, source } = diagnostic;
  return {
    range: asLspRange(range),
    message,
    severity: SEVERITIES[severity],
    ...(source === undefined ? {} : { source }),
  };
}

export function asLspRange(range: vscode.Range): {
  start: { line: number; character: number };
  end: { line: number; character: number };
} {
  return {
    start: { line: range.start.line, character: range.start.character },
    end: { line: range.end.line, character: range.end.character },
  };
}
