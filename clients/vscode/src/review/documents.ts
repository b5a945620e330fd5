/** The two sides of a review as documents: the text before, and the proposal, which the person may edit. In memory. */

import * as vscode from "vscode";

export const BEFORE = "llamagent-before";
export const PROPOSED = "llamagent-proposed";

interface Entry {
  data: Uint8Array;
  changed: number;
}

/** A tiny file system of whole files; VS Code's own "revert" arrows and typing write into it. */
export class ReviewDocuments implements vscode.FileSystemProvider, vscode.TextDocumentContentProvider {
  private readonly before = new Map<string, string>();
  private readonly proposed = new Map<string, Entry>();
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;

  has(uri: vscode.Uri): boolean {
    return this.proposed.has(uri.toString());
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.changes,
      vscode.workspace.registerTextDocumentContentProvider(BEFORE, this),
      vscode.workspace.registerFileSystemProvider(PROPOSED, this, { isCaseSensitive: true }),
    );
  }

  put(before: vscode.Uri, text: string, proposed: vscode.Uri, wanted: string): void {
    this.before.set(before.toString(), text);
    this.proposed.set(proposed.toString(), { data: new TextEncoder().encode(wanted), changed: Date.now() });
  }

  drop(before: vscode.Uri, proposed: vscode.Uri): void {
    this.before.delete(before.toString());
    this.proposed.delete(proposed.toString());
  }

  /** What the person left of the proposal, unsaved typing included. */
  wanted(uri: vscode.Uri): string {
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    return open === undefined ? new TextDecoder().decode(this.readFile(uri)) : open.getText();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.before.get(uri.toString()) ?? "";
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const entry = this.entry(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: entry.changed, size: entry.data.length };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.entry(uri).data;
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    this.entry(uri);
    this.proposed.set(uri.toString(), { data: content, changed: Date.now() });
    this.changes.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private entry(uri: vscode.Uri): Entry {
    const entry = this.proposed.get(uri.toString());
    if (entry === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return entry;
  }
}
