/** The diagnostics of documents once they are those of the text that is there: language servers need a moment for it. */

import * as vscode from "vscode";

import { asLsp } from "./documents";
import type { DiagnosticsReply, Uris } from "./wire";

const MOST_MS = 1000; // the daemon waits two seconds
const QUIET_MS = 150; // several servers tell of one document, one after the other

export class Problems implements vscode.Disposable {
  /** When each document's text, and its diagnostics, changed last. */
  private readonly edited = new Map<string, number>();
  private readonly told = new Map<string, number>();
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly listeners = vscode.Disposable.from(
    this.changed,
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (contentChanges.length > 0) {
        this.edited.set(document.uri.toString(), Date.now());
      }
    }),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      [this.edited, this.told, this.texts].forEach((kept) => kept.delete(uri.toString()));
    }),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      uris.forEach((uri) => {
        this.note(uri);
      });
    }),
  );

  /** Waits until the diagnostics of all `uris` changed after their texts did, and come to rest; at most MOST_MS. */
  async tell({ uris }: Uris): Promise<DiagnosticsReply> {
    const parsed = uris.map((uri) => [uri, vscode.Uri.parse(uri, true)] as const);
    const keys = parsed.map(([, uri]) => uri.toString());
    const end = Date.now() + MOST_MS;
    for (let rest = this.rest(keys, end); rest > 0; rest = this.rest(keys, end)) {
      await this.changeOr(rest);
    }
    return {
      diagnostics: Object.fromEntries(
        parsed.map(([name, uri]) => [name, vscode.languages.getDiagnostics(uri).map(asLsp)]),
      ),
    };
  }

  dispose(): void {
    this.listeners.dispose();
  }

  /** VS Code tells of a change also where all is as it was before: that says nothing of the new text. */
  private note(uri: vscode.Uri): void {
    const key = uri.toString();
    const text = JSON.stringify(vscode.languages.getDiagnostics(uri).map(asLsp));
    if (text !== (this.texts.get(key) ?? "[]")) {
      this.texts.set(key, text);
      this.told.set(key, Date.now());
      this.changed.fire();
    }
  }

  /** How long to wait for the next change; 0: it is all there, or the time is up. */
  private rest(keys: readonly string[], end: number): number {
    const now = Date.now();
    const told = keys.map((key) => this.told.get(key) ?? 0);
    const fresh = keys.every((key, index) => {
      const at = told[index] ?? 0;
      return at > 0 && at >= (this.edited.get(key) ?? 0);
    });
    const quiet = fresh ? Math.max(...told) + QUIET_MS : end;
    return Math.max(0, Math.min(quiet, end) - now);
  }

  private changeOr(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        listener.dispose();
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      const listener = this.changed.event(done);
    });
  }
}
