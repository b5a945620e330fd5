/** A workspace edit of the daemon as a proposal: which files, from which text to which. Changes nothing. */

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, TextDocumentEdit, WorkspaceEdit } from "vscode-languageclient/node";

import { applyEdits, type TextEdit } from "../text/textedit";
import { BEFORE, PROPOSED } from "./documents";
import { lossy } from "./encoding";

export interface ProposedFile {
  uri: vscode.Uri;
  /** As the person sees it: relative to the workspace. */
  name: string;
  isNew: boolean;
  /** Accepted as it is, the file is removed. */
  goes: boolean;
  base: string;
  proposed: string;
  /** The documents of the review. */
  left: vscode.Uri;
  right: vscode.Uri;
}

export interface Proposal {
  id: string;
  label: string;
  files: ProposedFile[];
}

/** Why a proposal cannot be reviewed, in words for the model and the person. */
export class Unreviewable extends Error {}

export function reviewId(edit: WorkspaceEdit): string {
  const key = Object.keys(edit.changeAnnotations ?? {}).find((name) => name.startsWith("llamagent:"));
  return key === undefined ? `unnamed-${String(Date.now())}` : key.slice("llamagent:".length);
}

/** Throws Unreviewable. */
export async function readProposal(params: ApplyWorkspaceEditParams): Promise<Proposal> {
  const id = reviewId(params.edit);
  const created = new Set<string>();
  const files: ProposedFile[] = [];
  for (const change of params.edit.documentChanges ?? []) {
    if ("kind" in change) {
      if (change.kind === "create") {
        created.add(change.uri);
      } else if (change.kind === "delete") {
        files.push(await readRemoved(id, files.length, change.uri));
      } else {
        throw new Unreviewable(`this extension cannot review a file operation of the kind "${change.kind}"`);
      }
    } else {
      files.push(await readFile(id, files.length, change, created.has(change.textDocument.uri)));
    }
  }
  if (files.length === 0) {
    throw new Unreviewable("the proposal changes no file");
  }
  return { id, label: params.label ?? files.map((file) => file.name).join(", "), files };
}

async function readFile(id: string, index: number, change: TextDocumentEdit, isNew: boolean): Promise<ProposedFile> {
  const uri = vscode.Uri.parse(change.textDocument.uri, true);
  const name = vscode.workspace.asRelativePath(uri);
  const base = isNew ? "" : await baseText(uri, name, change.textDocument.version);
  let proposed: string;
  try {
    proposed = applyEdits(
      base,
      change.edits.filter((edit): edit is TextEdit => "newText" in edit),
    );
  } catch (problem) {
    throw new Unreviewable(`${name}: ${String(problem)}`);
  }
  return { uri, name, isNew, goes: false, base, proposed, ...sides(id, index, name) };
}

async function readRemoved(id: string, index: number, address: string): Promise<ProposedFile> {
  const uri = vscode.Uri.parse(address, true);
  const name = vscode.workspace.asRelativePath(uri);
  const base = await baseText(uri, name, null);
  return { uri, name, isNew: false, goes: true, base, proposed: "", ...sides(id, index, name) };
}

function sides(id: string, index: number, name: string): Pick<ProposedFile, "left" | "right"> {
  const place = { authority: `${id}.${String(index)}`, path: `/${name.replace(/^\/+/, "")}` };
  return {
    left: vscode.Uri.from({ scheme: BEFORE, ...place }),
    right: vscode.Uri.from({ scheme: PROPOSED, ...place }),
  };
}

async function baseText(uri: vscode.Uri, name: string, version: number | null): Promise<string> {
  let document: vscode.TextDocument;
  try {
    document = await vscode.workspace.openTextDocument(uri);
  } catch (problem) {
    throw new Unreviewable(`${name} cannot be opened in the editor: ${String(problem)}`);
  }
  if (version !== null && document.version !== version) {
    throw new Unreviewable(`stale: ${name} was changed while the edit was made`);
  }
  if (version === null && document.isDirty) {
    throw new Unreviewable(`stale: ${name} has unsaved changes that the edit was made without`);
  }
  if (await lossy(document)) {
    throw new Unreviewable(
      `${name} is not ${document.encoding} text: saving it would lose bytes; reopen it with its encoding first`,
    );
  }
  return document.getText();
}
