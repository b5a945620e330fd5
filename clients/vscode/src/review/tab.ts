/** The tab of a review: one multi-file diff, opened, found again and closed. */

import * as vscode from "vscode";

import type { Proposal } from "./proposal";

const LONGEST_NOTE = 40;

/** The files, and what the person should know of the change: the daemon's label ends with it, in brackets. */
export function tabTitle({ label, files }: Proposal): string {
  const title = vscode.l10n.t("Review: {0}", files.map((file) => file.name).join(", "));
  const notes = / \(([^()]+)\)$/.exec(label)?.[1]?.split("; ");
  const note = notes?.sort((one, other) => one.length - other.length).join("; "); // so that most of them fit
  if (note === undefined) {
    return title;
  }
  return `${title} ⚠ ${note.length > LONGEST_NOTE ? `${note.slice(0, LONGEST_NOTE)}…` : note}`;
}

export async function openTab(proposal: Proposal): Promise<void> {
  const rows = proposal.files.map((file) => [file.uri, file.left, file.right]);
  await vscode.commands.executeCommand("vscode.changes", tabTitle(proposal), rows);
}

/** Two proposals for one file have the same title: a tab is told by its documents. */
function tabsOf(proposal: Proposal): vscode.Tab[] {
  const title = tabTitle(proposal);
  const right = proposal.files[0]?.right.toString();
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter((tab) => {
      const shown = modifiedIn(tab);
      // VS Code adds "(2 files)" to the title.
      return shown === undefined ? tab.label === title || tab.label.startsWith(`${title} (`) : shown === right;
    });
}

/** The first right side of a multi-diff tab, whose class is no part of the stable API; undefined where it has none. */
function modifiedIn({ input }: vscode.Tab): string | undefined {
  const { textDiffs } = (input ?? {}) as { textDiffs?: readonly vscode.TabInputTextDiff[] };
  return textDiffs?.[0]?.modified.toString();
}

/** After a reload VS Code may bring back the tab of a review whose daemon is gone: empty, and of no use. */
export async function closeLeftOver(): Promise<void> {
  const begins = vscode.l10n.t("Review: {0}", "");
  const tabs = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ label, input }) => label.startsWith(begins) && !(input instanceof vscode.TabInputText));
  if (tabs.length > 0) {
    await vscode.window.tabGroups.close(tabs, true);
  }
}

export function isOpen(proposal: Proposal): boolean {
  return tabsOf(proposal).length > 0;
}

/** The proposal's documents are saved first (into memory): VS Code would ask about each that is not. */
export async function closeTab(proposal: Proposal): Promise<void> {
  const rights = new Set(proposal.files.map((file) => file.right.toString()));
  for (const document of vscode.workspace.textDocuments) {
    if (document.isDirty && rights.has(document.uri.toString())) {
      await document.save();
    }
  }
  const tabs = [...tabsOf(proposal), ...tabsBeside(rights)];
  if (tabs.length > 0) {
    await vscode.window.tabGroups.close(tabs, true);
  }
}

/** VS Code opens a document that stays unsaved in a tab of its own. */
function tabsBeside(rights: ReadonlySet<string>): vscode.Tab[] {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => input instanceof vscode.TabInputText && rights.has(input.uri.toString()));
}
