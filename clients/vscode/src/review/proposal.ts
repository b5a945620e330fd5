/** A workspace edit of the daemon as a proposal: which files, from which text to which. Changes nothing. */

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, TextDocumentEdit, WorkspaceEdit } from "vscode-languageclient/node";

import { lineEnds, plain } from "../text/lineends";
import { shifted } from "../text/lineshift";
import { merge } from "../text/merge";
import { applyEdits, type TextEdit } from "../text/textedit";
import { BEFORE, PROPOSED } from "./documents";
import { lossy } from "./encoding";
import { exists, isGone, type Lately } from "./live";

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
export async function readProposal(params: ApplyWorkspaceEditParams, lately: Lately): Promise<Proposal> {
  const id = reviewId(params.edit);
  const created = new Set<string>();
  const files: ProposedFile[] = [];
  for (const change of params.edit.documentChanges ?? []) {
    if ("kind" in change) {
      if (change.kind === "create") {
        created.add(change.uri);
      } else if (change.kind === "delete") {
        files.push(await readRemoved(sides(id, files.length), change.uri));
      } else {
        throw new Unreviewable(`this extension cannot review a file operation of the kind "${change.kind}"`);
      }
    } else {
      const isNew = created.has(change.textDocument.uri);
      files.push(await readFile(sides(id, files.length), change, isNew ? null : lately));
    }
  }
  if (files.length === 0) {
    throw new Unreviewable("the proposal changes no file");
  }
  return { id, label: params.label ?? files.map((file) => file.name).join(", "), files };
}

type Sides = (name: string) => Pick<ProposedFile, "left" | "right">;

function sides(id: string, index: number): Sides {
  return (name) => {
    const place = { authority: `${id}.${String(index)}`, path: `/${name.replace(/^\/+/, "")}` };
    return {
      left: vscode.Uri.from({ scheme: BEFORE, ...place }),
      right: vscode.Uri.from({ scheme: PROPOSED, ...place }),
    };
  };
}

/** `lately` is null for a file that does not exist yet. */
async function readFile(place: Sides, change: TextDocumentEdit, lately: Lately | null): Promise<ProposedFile> {
  const uri = vscode.Uri.parse(change.textDocument.uri, true);
  const name = vscode.workspace.asRelativePath(uri);
  const edits = change.edits.filter((edit): edit is TextEdit => "newText" in edit);
  const isNew = lately === null;
  const texts = isNew
    ? { base: "", proposed: applied(name, "", edits) }
    : await readTexts(uri, name, { edits, version: change.textDocument.version, lately });
  return { uri, name, isNew, goes: false, ...texts, ...place(name) };
}

async function readRemoved(place: Sides, address: string): Promise<ProposedFile> {
  const uri = vscode.Uri.parse(address, true);
  const name = vscode.workspace.asRelativePath(uri);
  const document = await opened(uri, name);
  if (document.isDirty) {
    throw new Unreviewable(`stale: ${name} has unsaved changes, so it is not removed`);
  }
  return { uri, name, isNew: false, goes: true, base: document.getText(), proposed: "", ...place(name) };
}

interface Asked {
  edits: readonly TextEdit[];
  /** That of the document which the edits are for; null where the daemon read the file on disk. */
  version: number | null;
  lately: Lately;
}

/** The live text, and what the edits make of it, wherever their lines are by now. */
async function readTexts(
  uri: vscode.Uri,
  name: string,
  { edits, version, lately }: Asked,
): Promise<Pick<ProposedFile, "base" | "proposed">> {
  const document = await opened(uri, name);
  const base = document.getText();
  if (version === null) {
    if (!document.isDirty) {
      return { base, proposed: applied(name, base, edits) };
    }
    const disk = await vscode.workspace.decode(await vscode.workspace.fs.readFile(uri), { uri });
    return { base, proposed: rebased(name, { base: disk, proposed: applied(name, disk, edits) }, base) };
  }
  const changes = lately.since(document, version);
  const moved = changes === null ? null : shifted(edits, changes);
  if (moved === null) {
    throw new Unreviewable(`stale: ${name} was changed in the same lines while the edit was made`);
  }
  return { base, proposed: applied(name, base, moved) };
}

function applied(name: string, text: string, edits: readonly TextEdit[]): string {
  try {
    return applyEdits(text, edits);
  } catch (problem) {
    throw new Unreviewable(`${name}: ${String(problem)}`);
  }
}

async function opened(uri: vscode.Uri, name: string): Promise<vscode.TextDocument> {
  let document: vscode.TextDocument;
  try {
    document = await vscode.workspace.openTextDocument(uri);
  } catch (problem) {
    throw new Unreviewable(`${name} cannot be opened in the editor: ${String(problem)}`);
  }
  if (await lossy(document)) {
    throw new Unreviewable(
      `${name} is not ${document.encoding} text: saving it would lose bytes; reopen it with its encoding first`,
    );
  }
  return document;
}

/** The proposal for the texts as they are by now. Throws Unreviewable where the same lines were changed. */
export async function refreshed(proposal: Proposal): Promise<Proposal> {
  const files = await Promise.all(proposal.files.map(refreshedFile));
  if (files.every(({ isNew, goes, base, proposed }) => !isNew && !goes && base === proposed)) {
    throw new Unreviewable("nothing is left to do: the text already is as proposed");
  }
  return { ...proposal, files };
}

async function refreshedFile(file: ProposedFile): Promise<ProposedFile> {
  if (file.isNew) {
    if (await exists(file.uri)) {
      throw new Unreviewable(`stale: ${file.name} exists by now`);
    }
    return file;
  }
  if (await isGone(file.uri)) {
    throw new Unreviewable(`stale: ${file.name} is not there any more`);
  }
  const current = (await opened(file.uri, file.name)).getText();
  if (current === file.base) {
    return file;
  }
  if (file.goes) {
    throw new Unreviewable(`stale: ${file.name} was changed while its review waited`);
  }
  return { ...file, base: current, proposed: rebased(file.name, file, current) };
}

function rebased(name: string, { base, proposed }: Pick<ProposedFile, "base" | "proposed">, current: string): string {
  const merged = merge(plain(base), plain(current), plain(proposed));
  if (merged === null) {
    throw new Unreviewable(`stale: ${name} was changed in the same lines while its review waited`);
  }
  return lineEnds(merged, current);
}
