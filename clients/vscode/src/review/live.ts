/** The files of a proposal as they are at this moment, and what was typed in them a moment ago. */

import * as vscode from "vscode";

import type { LineChange } from "../text/lineshift";

const MOST_CHANGES = 200; // that are kept of a document: an edit of the daemon is under way for a few of them

export async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch (problem) {
    if (problem instanceof vscode.FileSystemError && problem.code === "FileNotFound") {
      return false;
    }
    throw problem;
  }
}

/** VS Code still shows the text of a file that was removed while it was open. */
export async function isGone(uri: vscode.Uri): Promise<boolean> {
  return uri.scheme === "file" && !(await exists(uri));
}

interface Step {
  /** The version that the change led to. */
  version: number;
  change: LineChange;
}

interface Followed {
  /** The last version of which nothing is known to be forgotten. */
  since: number;
  steps: Step[];
}

/** Where open documents changed lately. The daemon's edits are for the text that it knew when it sent them. */
export class Lately implements vscode.Disposable {
  private readonly documents = new Map<string, Followed>();
  private readonly listeners = vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument((document) => {
      this.follow(document);
    }),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      this.documents.delete(uri.toString());
    }),
    vscode.workspace.onDidChangeTextDocument((event) => {
      this.note(event);
    }),
  );

  constructor() {
    vscode.workspace.textDocuments.forEach((document) => {
      this.follow(document);
    });
  }

  /** The changes that made the document of today out of its `version`; null where that is not known. */
  since(document: vscode.TextDocument, version: number): LineChange[] | null {
    if (document.version === version) {
      return [];
    }
    const followed = this.documents.get(document.uri.toString());
    if (followed === undefined || version < followed.since || version > document.version) {
      return null;
    }
    return followed.steps.filter((step) => step.version > version).map(({ change }) => change);
  }

  dispose(): void {
    this.listeners.dispose();
  }

  private follow(document: vscode.TextDocument): void {
    this.documents.set(document.uri.toString(), { since: document.version, steps: [] });
  }

  private note({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const followed = this.documents.get(document.uri.toString());
    if (followed === undefined) {
      return;
    }
    for (const { range, text } of contentChanges) {
      const lines = (text.match(/\r\n|\r|\n/g)?.length ?? 0) + 1;
      const change = { first: range.start.line, last: range.end.line, lines };
      followed.steps.push({ version: document.version, change });
    }
    while (followed.steps.length > MOST_CHANGES) {
      followed.since = followed.steps.shift()?.version ?? followed.since;
    }
  }
}
