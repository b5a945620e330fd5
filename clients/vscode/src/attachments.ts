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
    uri: document.uri.toString(),
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
  return { item: { uri: uri.toString(), ...text }, label: nameOf(uri) };
}

/** What is in no folder begins with a slash where it is no file. */
function nameOf(uri: vscode.Uri): string {
  const name = vscode.workspace.asRelativePath(uri);
  return FOLLOWED.includes(uri.scheme) ? name : name.replace(/^\//, "");
}
