/** `/name words` in the prompt: the same commands as in the palette, by the names that the daemon completes. */

import * as vscode from "vscode";

import { UI } from "../commands";
import type { Parts } from "../parts";
import type { CompletionItem } from "../wire";
import type { Panel } from "./view";

/** What is typed, and the palette's command for it. The words behind it are its argument. */
const COMMANDS: Record<string, string> = {
  allow: "allow",
  ask_about: "askAbout",
  cancel: "stop",
  clear: "clear",
  compact: "compact",
  config: "settings",
  context: "context",
  ctx: "setNumCtx",
  delete: "sessions",
  delete_session: "sessions",
  export: "export",
  help: "help",
  init: "init",
  load_skill: "loadSkill",
  model: "chooseModel",
  models: "chooseModel",
  new: "new",
  pull: "pullModel",
  pull_model: "pullModel",
  resume: "sessions",
  retry: "retry",
  sessions: "sessions",
  set_model: "chooseModel",
  set_num_ctx: "setNumCtx",
  set_temperature: "setTemperature",
  skill: "loadSkill",
  skills: "loadSkill",
  temp: "setTemperature",
  undo: "undoTurn",
  undo_turn: "undoTurn",
};

/** Whether a completion is of use here: a file, a name, or a command of the table. */
export function isOfUse({ kind, label }: CompletionItem): boolean {
  return kind !== "command" || label.slice(1) in COMMANDS;
}

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
