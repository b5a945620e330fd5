/** `/word` in the prompt, where the extension has a list or a view for it. All others the daemon does and answers. */

import * as vscode from "vscode";

import { UI } from "../commands";

/** What is typed, and the palette's command for it. */
const COMMANDS: Record<string, string> = {
  clear: "clear",
  delete: "sessions",
  model: "chooseModel",
  models: "chooseModel",
  new: "new",
  pull: "pullModel",
  resume: "sessions",
  retry: "retry",
  sessions: "sessions",
  skill: "loadSkill",
  skills: "loadSkill",
  undo: "undoTurn",
};
/** With another conversation the panel shows another: whatever stands behind the word. */
const OF_THE_PANEL: ReadonlySet<string> = new Set(["clear", "new", "resume"]);

/** Those whose words behind go along, of several lines too. */
const WITH_WORDS: ReadonlySet<string> = new Set(["retry"]);

/** Whether the text was such a command, and so is no ask. */
export async function runTyped(text: string): Promise<boolean> {
  const [, word = "", rest = ""] = /^\/(\w+)(\s[^]*)?$/.exec(text) ?? [];
  const command = COMMANDS[word];
  const behind = rest.trim();
  const words = WITH_WORDS.has(word) ? [behind] : [];
  const fits = words.length > 0 || behind === "" || (OF_THE_PANEL.has(word) && !behind.includes("\n"));
  if (command === undefined || !fits) {
    return false;
  }
  await vscode.commands.executeCommand(UI + command, ...words);
  return true;
}
