/** Saves what the person types into a proposal, in memory: VS Code opens a tab of its own for a document that stays unsaved. */

import * as vscode from "vscode";

import { PROPOSED } from "./documents";

const SOON_MS = 300; // VS Code waits for 800 ms

/** `known`: whether the document still has a place to be saved in. */
export class Saving implements vscode.Disposable {
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly listener = vscode.workspace.onDidChangeTextDocument(({ document }) => {
    if (document.uri.scheme === PROPOSED && document.isDirty) {
      this.saveSoon(document);
    }
  });

  constructor(private readonly known: (uri: vscode.Uri) => boolean) {}

  dispose(): void {
    this.listener.dispose();
    this.timers.forEach((timer) => {
      clearTimeout(timer);
    });
  }

  private saveSoon(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    if (this.timers.has(key) || changedBySaving(document)) {
      return;
    }
    const save = async (): Promise<void> => {
      this.timers.delete(key);
      if (document.isDirty && !document.isClosed && this.known(document.uri)) {
        await document.save();
      }
    };
    this.timers.set(
      key,
      setTimeout(() => void save(), SOON_MS),
    );
  }
}

/** Then it would change under the hands of whoever types in it: rather the other tab. */
function changedBySaving(document: vscode.TextDocument): boolean {
  const editor = vscode.workspace.getConfiguration("editor", document);
  const files = vscode.workspace.getConfiguration("files", document);
  return (
    ["trimTrailingWhitespace", "insertFinalNewline", "trimFinalNewlines"].some((name) => files.get(name) === true) ||
    editor.get("formatOnSave") === true ||
    Object.keys(editor.get<object>("codeActionsOnSave") ?? {}).length > 0
  );
}
