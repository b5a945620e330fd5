/** Documents that the editor keeps read-only: they take an edit without a word, do not count as changed, and are never saved. */

import * as vscode from "vscode";

import { after } from "../process";
import { plain } from "../text/lineends";

const KNOWN_MS = 300; // until a change, or an auto-save, is known here too

/** Which of the documents that were just changed are so; no event and no property tells it before. */
export async function readOnly(changed: readonly vscode.TextDocument[]): Promise<vscode.TextDocument[]> {
  const suspects = await lost(changed);
  if (suspects.length === 0) {
    return [];
  }
  await after(KNOWN_MS);
  return lost(suspects);
}

/** Neither to be saved nor saved. */
async function lost(documents: readonly vscode.TextDocument[]): Promise<vscode.TextDocument[]> {
  const found = await Promise.all(
    documents.map(async (one) => one.uri.scheme === "file" && !one.isDirty && !(await isOnDisk(one))),
  );
  return documents.filter((_, index) => found[index]);
}

async function isOnDisk(document: vscode.TextDocument): Promise<boolean> {
  const { uri, encoding } = document;
  const text = await vscode.workspace.decode(await vscode.workspace.fs.readFile(uri), { encoding });
  return plain(text.replace(/^\ufeff/, "")) === plain(document.getText());
}
