/** What a person changes for this session only: the model's temperature and context, and commands that run unasked. */

import * as vscode from "vscode";

import type { Parts } from "./parts";
import type { Changed } from "./wire";

/** `bounds` as the settings have them. */
interface Knob {
  key: "temperature" | "num_ctx";
  prompt: string;
  bounds: readonly [number, number];
  whole: boolean;
}

export function setTemperature(parts: Parts): Promise<void> {
  const prompt = vscode.l10n.t("How freely the model chooses its words, from 0 to 2");
  return turn(parts, { key: "temperature", prompt, bounds: [0, 2], whole: false });
}

export function setNumCtx(parts: Parts): Promise<void> {
  const prompt = vscode.l10n.t("How many tokens the model sees at once, from 2048 to 131072; more need more memory");
  return turn(parts, { key: "num_ctx", prompt, bounds: [2048, 131072], whole: true });
}

async function turn(parts: Parts, { key, prompt, bounds: [least, most], whole }: Knob): Promise<void> {
  const { settings } = await parts.daemon.call("config", {});
  const now = settings.find((setting) => setting.key === key)?.value;
  const validateInput = (text: string): string | undefined => {
    const value = Number(text.trim().replace(",", "."));
    const fits = text.trim() !== "" && value >= least && value <= most && (!whole || Number.isInteger(value));
    return fits ? undefined : vscode.l10n.t("A number from {0} to {1}, please.", least, most);
  };
  const given = await vscode.window.showInputBox({
    prompt,
    value: typeof now === "number" ? String(now) : "",
    validateInput,
  });
  if (given === undefined) {
    return;
  }
  const value = Number(given.trim().replace(",", "."));
  const changed = await parts.daemon.call(`set_${key}`, { value });
  void vscode.window.showInformationMessage(saidOf(key, changed));
}

function saidOf(key: string, { value, previous, note }: Changed): string {
  const text = vscode.l10n.t("{0} is now {1} (it was {2}), for this session.", key, String(value), String(previous));
  return note === undefined ? text : `${text} ${note}`;
}

interface AllowedRow extends vscode.QuickPickItem {
  prefix?: string;
}

/** Commands that run without a question: one more, or one less. */
export async function allow(parts: Parts): Promise<void> {
  const { allowed } = await parts.daemon.call("allow", {});
  const rows: AllowedRow[] = [
    { label: `$(add) ${vscode.l10n.t("Allow commands that begin with…")}` },
    ...allowed.map((prefix) => ({ label: prefix, description: vscode.l10n.t("choose it to be asked again"), prefix })),
  ];
  const placeHolder = vscode.l10n.t("Commands that the model may run without asking, in this session");
  const chosen = await vscode.window.showQuickPick(rows, { placeHolder });
  if (chosen === undefined) {
    return;
  }
  const { prefix } = chosen;
  if (prefix !== undefined) {
    await parts.daemon.call("allow", { prefix, revoke: true });
    return;
  }
  const prompt = vscode.l10n.t("The first words of the commands, such as: pytest -q");
  const given = await vscode.window.showInputBox({ prompt, ignoreFocusOut: true });
  if (given !== undefined && given.trim() !== "") {
    await parts.daemon.call("allow", { prefix: given.trim() });
  }
}
