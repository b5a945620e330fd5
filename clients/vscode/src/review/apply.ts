/** Puts what the person accepted into their files: merged with what they typed meanwhile, as one step of undo. */

import * as vscode from "vscode";

import { after } from "../process";
import { lineHunks, splitLines } from "../text/linediff";
import { lineEnds, plain } from "../text/lineends";
import { merge } from "../text/merge";
import { exists, isGone } from "./live";
import type { ProposedFile } from "./proposal";
import { readOnly } from "./readonly";

/** What is there now: the document, null where there is none; the bytes of a file that may go. */
interface Found {
  document: vscode.TextDocument | null;
  bytes: Uint8Array | null;
}

/** What to put where; `text` has line feeds only, and is null where the file goes. `before` is the document's text. */
interface Planned extends Found {
  file: ProposedFile;
  text: string | null;
  before: string;
}

const NOTHING: Found = { document: null, bytes: null };
const MOST_TRIES = 50;
const KNOWN_MS = 100; // until what was typed is known here too

/** A no, though it came as a yes. */
export const TOOK_BACK = "the person took back every change of the proposal";

/** Null when it was done, else why nothing was changed. `wanted`: what the person left of each file's proposal. */
export async function put(files: readonly ProposedFile[], wanted: readonly string[]): Promise<string | null> {
  for (let tries = 1; ; tries += 1) {
    const found = await Promise.all(files.map(look));
    // From here to the edit nothing is waited for: what is typed meanwhile would be lost.
    const planned: Planned[] = [];
    for (const [index, file] of files.entries()) {
      const result = plan(file, found[index] ?? NOTHING, wanted[index] ?? file.base);
      if (typeof result === "string") {
        return result;
      }
      if (result !== null) {
        planned.push(result);
      }
    }
    if (planned.length === 0) {
      return TOOK_BACK;
    }
    const versions = planned.map(({ document }) => document?.version);
    if (await vscode.workspace.applyEdit(workspaceEdit(planned))) {
      return unlessReadOnly(planned);
    }
    await after(KNOWN_MS);
    const typed = planned.some(({ document }, index) => document?.version !== versions[index]);
    if (!typed || tries === MOST_TRIES) {
      return "the editor could not apply the edit; is a file, or a folder, read-only?";
    }
  }
}

async function look({ uri, isNew, goes }: ProposedFile): Promise<Found> {
  const is = isNew ? await exists(uri) : !(await isGone(uri));
  return is
    ? {
        document: await vscode.workspace.openTextDocument(uri),
        bytes: goes ? await vscode.workspace.fs.readFile(uri) : null,
      }
    : NOTHING;
}

/** All is taken back where the editor saves a part of it never. */
async function unlessReadOnly(planned: readonly Planned[]): Promise<string | null> {
  const changed = planned.flatMap(({ document, text }) => (document !== null && text !== null ? [document] : []));
  const locked = await readOnly(changed);
  if (locked.length === 0) {
    return null;
  }
  await vscode.workspace.applyEdit(wayBack(planned));
  const names = locked.map(({ uri }) => vscode.workspace.asRelativePath(uri));
  return `read-only in the editor: ${names.join(", ")}`;
}

/** Null where nothing is left to do in this file; words where it cannot be done. */
function plan(file: ProposedFile, found: Found, wanted: string): Planned | null | string {
  const { document } = found;
  const theirs = plain(wanted);
  if (file.isNew) {
    if (theirs === "" && file.proposed !== "") {
      return null;
    }
    return document === null ? { file, ...found, text: theirs, before: "" } : `stale: ${file.name} exists by now`;
  }
  if (document === null) {
    return `stale: ${file.name} is not there any more`;
  }
  const current = plain(document.getText());
  if (file.goes && theirs === "") {
    const same = current === plain(file.base) && !document.isDirty;
    return same ? { file, ...found, text: null, before: current } : `stale: ${file.name} was changed during the review`;
  }
  const merged = merge(plain(file.base), current, theirs);
  if (merged === null) {
    return `stale: ${file.name} was changed during the review in the same lines`;
  }
  return merged === current ? null : { file, ...found, text: merged, before: current };
}

/** Texts first: the editor refuses all of them where one was changed meanwhile, and then no file is made or removed. */
function workspaceEdit(planned: readonly Planned[]): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  for (const { file, document, text } of planned) {
    if (document !== null && text !== null) {
      edit.set(file.uri, smallEdits(document, text));
    }
  }
  for (const { file, document, text } of planned) {
    if (text === null) {
      edit.deleteFile(file.uri);
    } else if (document === null) {
      const contents = new TextEncoder().encode(lineEnds(text, file.proposed));
      edit.createFile(file.uri, { contents, overwrite: false, ignoreIfExists: false });
    }
  }
  return edit;
}

function wayBack(planned: readonly Planned[]): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  for (const { file, document, text, before, bytes } of planned) {
    if (document === null) {
      edit.deleteFile(file.uri);
    } else if (text !== null) {
      edit.set(file.uri, smallEdits(document, before));
    } else if (bytes !== null) {
      edit.createFile(file.uri, { contents: bytes });
    }
  }
  return edit;
}

/** Only the lines that differ, so that cursors, folds and marks elsewhere stay. */
function smallEdits(document: vscode.TextDocument, text: string): vscode.TextEdit[] {
  const current = document.getText();
  const before = splitLines(current);
  const after = splitLines(text);
  const starts = [0];
  for (const line of before) {
    starts.push((starts.at(-1) ?? 0) + line.length);
  }
  const position = (line: number): vscode.Position => document.positionAt(starts[line] ?? 0);
  return lineHunks(current.includes("\r") ? before.map(plain) : before, after).map((hunk) => {
    const range = new vscode.Range(position(hunk.aFirst), position(hunk.aEnd));
    return vscode.TextEdit.replace(range, after.slice(hunk.bFirst, hunk.bEnd).join(""));
  });
}
