/** `/name words` in the prompt: the same commands as in the palette, by the names that the daemon completes. */

import * as vscode from "vscode";

import { UI } from "../commands";
import type { Parts } from "../parts";
import type { Panel } from "./view";

/** What is typed, and the palette's command for it. The words behind it are its argument. */
const COMMANDS: Record<string, string> = {
  cancel: "stop",
  clear: "clear",
  compact: "compact",
  config: "settings",
  delete: "sessions",
  delete_session: "sessions",
  load_skill: "loadSkill",
  model: "chooseModel",
  models: "chooseModel",
  new: "new",
  pull: "pullModel",
  pull_model: "pullModel",
  resume: "sessions",
  sessions: "sessions",
  set_model: "chooseModel",
  skill: "loadSkill",
  skills: "loadSkill",
  undo: "undoTurn",
  undo_turn: "undoTurn",
};

/** Whether the text was meant as a command, and so is no ask. */
export async function runTyped(parts: Parts, panel: Panel, text: string): Promise<boolean> {
  const typed = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text);
  if (typed === null) {
    return false;
  }
  const [, name = "", words] = typed;
  const command = COMMANDS[name];
  if (command === undefined) {
    const problem = vscode.l10n.t("There is no command /{0} here. With a word before it, it is sent as text.", name);
    parts.conversation.setRemark({ kind: "problem", text: problem });
    panel.post({ type: "prompt", text });
  } else {
    await vscode.commands.executeCommand(UI + command, ...(words === undefined ? [] : [words.trim()]));
  }
  return true;
}
