/** Whether the person is typing: a review that opens must not take the keys that were meant for a file. */

import * as vscode from "vscode";

import { PROPOSED } from "./documents";

const PAUSE_MS = 800;

export class Typing implements vscode.Disposable {
  private last = 0;
  private readonly listener = vscode.workspace.onDidChangeTextDocument((event) => {
    const inEditor = event.document === vscode.window.activeTextEditor?.document;
    if (inEditor && event.contentChanges.length > 0 && event.document.uri.scheme !== PROPOSED) {
      this.last = Date.now();
    }
  });

  /** Resolves once nothing was typed for a moment. */
  async pause(): Promise<void> {
    for (let rest = this.rest(); rest > 0; rest = this.rest()) {
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
  }

  dispose(): void {
    this.listener.dispose();
  }

  private rest(): number {
    return this.last + PAUSE_MS - Date.now();
  }
}
