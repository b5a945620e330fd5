/** Whether the person is typing: a review that opens must not take the keys that were meant for a file or the prompt. */

import * as vscode from "vscode";

import { PROPOSED } from "./documents";

const PAUSE_MS = 800;

/** Gives the focus to the panel's prompt. */
type Refocus = () => Promise<void>;

interface Writing {
  back: Refocus;
  last: number;
}

export class Typing implements vscode.Disposable {
  private last = 0;
  private prompt: Writing | null = null;
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

  /** The person writes in the panel's prompt, and gets back there by `back`; null: no more. */
  inPrompt(back: Refocus | null): void {
    this.prompt = back === null ? null : { back, last: Date.now() };
  }

  /** `open` takes the focus; who wrote in the prompt has it again afterwards. */
  async keepingPrompt(open: () => Promise<void>): Promise<void> {
    const { prompt } = this;
    await open();
    await prompt?.back();
  }

  dispose(): void {
    this.listener.dispose();
  }

  private rest(): number {
    return Math.max(this.last, this.prompt?.last ?? 0) + PAUSE_MS - Date.now();
  }
}
