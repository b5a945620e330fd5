/** What the person attached to the next ask: selections and files, shown as chips. */

import * as vscode from "vscode";

import { asLsp, asLspRange } from "./documents";
import type { Chip } from "./panel/messages";
import { type ContextItem, FOLLOWED } from "./wire";

export interface Attached {
  chip: Chip;
  item: ContextItem;
}

export class Attachments implements vscode.Disposable {
  private items: Attached[] = [];
  private count = 0;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  chips(): Chip[] {
    return this.items.map(({ chip }) => chip);
  }

  add(item: ContextItem, label: string): void {
    this.count += 1;
    this.items.push({ chip: { id: this.count, label }, item });
    this.changed.fire();
  }

  remove(id: number): void {
    this.items = this.items.filter(({ chip }) => chip.id !== id);
    this.changed.fire();
  }

  /** What goes with an ask; the next one begins with none. */
  take(): Attached[] {
    const taken = this.items;
    this.items = [];
    this.changed.fire();
    return taken;
  }

  /** What went with an ask that did not begin goes with the next one. */
  putBack(taken: readonly Attached[]): void {
    this.items = [...taken, ...this.items];
    this.changed.fire();
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** The selection, or the line of the cursor, with the diagnostics in it. */
export function selected(editor: vscode.TextEditor): { item: ContextItem; label: string } {
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  const inside = vscode.languages.getDiagnostics(document.uri).filter((one) => one.range.intersection(range));
  const item: ContextItem = {
    uri: addressOf(document.uri),
    languageId: document.languageId,
    range: asLspRange(range),
    ...(FOLLOWED.includes(document.uri.scheme) ? {} : { text: document.getText(range) }),
    ...(inside.length > 0 ? { diagnostics: inside.map(asLsp) } : {}),
  };
  const lines = range.isSingleLine
    ? String(range.start.line + 1)
    : `${String(range.start.line + 1)}-${String(range.end.line + 1)}`;
  return { item, label: `${nameOf(document.uri)}:${lines}` };
}

export async function wholeFile(uri: vscode.Uri): Promise<{ item: ContextItem; label: string }> {
  const text = FOLLOWED.includes(uri.scheme) ? {} : { text: (await vscode.workspace.openTextDocument(uri)).getText() };
  return { item: { uri: addressOf(uri), ...text }, label: nameOf(uri) };
}

/** Without what tells one cell of a notebook from another: the model sees the name. */
function addressOf(uri: vscode.Uri): string {
  return (FOLLOWED.includes(uri.scheme) ? uri : uri.with({ fragment: "" })).toString();
}

/** The path of what is no file, as of a notebook's cell, is of no use to anyone. */
function nameOf(uri: vscode.Uri): string {
  return FOLLOWED.includes(uri.scheme) ? vscode.workspace.asRelativePath(uri) : (uri.path.split("/").at(-1) ?? "");
}
