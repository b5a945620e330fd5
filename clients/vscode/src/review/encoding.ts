/** Whether a document shows its file's bytes truly: saving one that does not would destroy them. */

import * as vscode from "vscode";

const REPLACEMENT = "\ufffd";

/** True where the editor decoded as UTF-8 what is no UTF-8. */
export async function lossy(document: vscode.TextDocument): Promise<boolean> {
  if (document.uri.scheme !== "file" || !document.encoding.startsWith("utf8")) {
    return false;
  }
  if (!document.getText().includes(REPLACEMENT)) {
    return false;
  }
  const bytes = await vscode.workspace.fs.readFile(document.uri);
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return false;
  } catch {
    return true; // the decoder's one way to say that the bytes are no UTF-8
  }
}
