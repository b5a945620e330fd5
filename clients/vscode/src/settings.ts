/** The settings as the daemon gets them: only what the person set, and nothing that an untrusted folder says. */

import * as vscode from "vscode";

const SECTION = "llamagent";

/** The daemon's keys (`settings.py`); a drift test compares them and package.json's. */
export const KEYS = [
  "provider",
  "url",
  "model",
  "temperature",
  "num_ctx",
  "allowed_commands",
  "max_steps",
  "max_tokens_per_turn",
  "command_timeout",
  "request_timeout",
  "think",
  "keep_alive",
  "api_key_env",
  "sandbox",
  "save",
  "allow_cloud",
  "ripgrep",
] as const;

/** Which of them no project may set, whatever VS Code reports: they name a server or a program. */
export const MACHINE: ReadonlySet<string> = new Set([
  "provider",
  "url",
  "api_key_env",
  "sandbox",
  "allow_cloud",
  "ripgrep",
]);

export type Values = Record<string, unknown>;

export function personsSettings(): Values {
  const section = vscode.workspace.getConfiguration(SECTION);
  const values: Values = {};
  for (const key of KEYS) {
    const found = section.inspect(key);
    const own = found?.globalValue;
    const fromProject = vscode.workspace.isTrusted && !MACHINE.has(key);
    const project = fromProject ? (found?.workspaceFolderValue ?? found?.workspaceValue) : undefined;
    const value = project ?? own;
    if (value !== undefined && value !== null) {
      values[key] = value;
    }
  }
  return values;
}

/** The whole command that starts the daemon; empty where the person set none. */
export function serverCommand(): string[] {
  return vscode.workspace.getConfiguration(SECTION).get<string[]>("server.command") ?? [];
}

/** The Python that runs the bundled daemon; empty where one is to be looked for. */
export function interpreter(): string {
  return vscode.workspace.getConfiguration(SECTION).get<string>("server.interpreter") ?? "";
}

/** Which of the settings that need a new daemon, or only a word to the running one, a change touches. */
export function touches(event: vscode.ConfigurationChangeEvent): "program" | "values" | "nothing" {
  if (event.affectsConfiguration(`${SECTION}.server`)) {
    return "program";
  }
  return event.affectsConfiguration(SECTION) ? "values" : "nothing";
}
