/** Asking and choosing: each function is one thing that a person does with the daemon. */

import * as vscode from "vscode";

import type { Panel } from "./panel/view";
import type { Parts } from "./parts";
import { lastAsked } from "./turns";
import type { TraceEvent } from "./wire";

const REQUEST_CANCELLED = -32800;
const CONNECTION_ENDED = [-32097, -32099]; // while an answer was awaited, or before

/** Ask with what is attached. `steer`: of the turn that runs; `mode` "read": nothing is to be changed. */
export async function ask(
  parts: Parts,
  panel: Panel,
  text: string,
  how: { steer?: boolean; mode?: "read" } = {},
): Promise<void> {
  const taken = parts.attachments.take();
  const context = taken.map(({ item }) => item);
  const argument = { text, ...(context.length > 0 ? { context } : {}), ...how };
  if (!(await turn(parts, panel, text, () => parts.daemon.call("ask", argument)))) {
    parts.attachments.putBack(taken);
  }
}

/** Problems are shown in the panel, where the person looks; what could not even begin is in the prompt again. False
 * where it did not. */
async function turn(parts: Parts, panel: Panel, text: string, run: () => Promise<unknown>): Promise<boolean> {
  parts.conversation.setRemark(null);
  const seen = { begun: false };
  const watch = parts.conversation.onDidArrive((events) => {
    seen.begun ||= events.some((event) => began(event, text));
  });
  try {
    await run();
    return true;
  } catch (problem) {
    parts.conversation.flush();
    if ((problem as { code?: number }).code !== REQUEST_CANCELLED) {
      parts.conversation.setRemark({ kind: "problem", text: wordsOf(problem) });
    }
    if (!seen.begun) {
      panel.postWhenReady({ type: "prompt", text });
    }
    return seen.begun;
  } finally {
    watch.dispose();
  }
}

/** Other turns may run before it. */
function began(event: TraceEvent, text: string): boolean {
  return (event.kind === "turn.started" || event.kind === "turn.steered") && (text === "" || event.text === text);
}

/** A turn again, from before it; its edits are taken back first where the person wants that. */
export async function retry(
  parts: Parts,
  panel: Panel,
  { turn: id, text, edited }: { turn: string; text?: string; edited: boolean },
): Promise<void> {
  const undo = edited ? await undoFirst() : false;
  if (undo === undefined) {
    return;
  }
  parts.conversation.willRetry(id);
  const argument = { turn: id, ...(text === undefined ? {} : { text }), ...(undo ? { undo } : {}) };
  await turn(parts, panel, text ?? "", () => parts.daemon.call("retry", argument));
}

/** The last turn of the conversation again: with its words, or with others; without `words` the person is asked. */
export async function retryLast(parts: Parts, panel: Panel, words?: string): Promise<void> {
  const events = parts.conversation.all();
  const started = lastAsked(events);
  if (started === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("There is no turn to do again."));
    return;
  }
  const prompt = vscode.l10n.t("What to ask instead; as it is, the same is asked again");
  const box = { prompt, value: started.text, ignoreFocusOut: true };
  const given = words === undefined ? await vscode.window.showInputBox(box) : words || started.text;
  if (given === undefined || given.trim() === "") {
    return;
  }
  const made = ["accepted", "modified"];
  const edited = events.some(
    (event) => event.turn === started.turn && event.kind === "edit.resolved" && made.includes(event.outcome),
  );
  const text = given === started.text ? {} : { text: given };
  await retry(parts, panel, { turn: started.turn, edited, ...text });
}

/** Undefined: the person thought better of it. */
async function undoFirst(): Promise<boolean | undefined> {
  const back = vscode.l10n.t("Undo its edits first");
  const keep = vscode.l10n.t("Keep its edits");
  const placeHolder = vscode.l10n.t("The turn changed files");
  const chosen = await vscode.window.showQuickPick([back, keep], { placeHolder });
  return chosen === undefined ? undefined : chosen === back;
}

interface Undone {
  outcome: string;
  reason?: string;
}

/** The way back of a turn's edits, reviewed as any edit. */
export async function undoTurn(parts: Parts, id?: string): Promise<void> {
  const result: Undone = await parts.daemon.call("undo_turn", id === undefined ? {} : { turn: id });
  const { outcome, reason } = result;
  const said: Record<string, string> = {
    accepted: vscode.l10n.t("The turn's edits are undone."),
    modified: vscode.l10n.t("The turn's edits are undone, as you changed it."),
    rejected: vscode.l10n.t("Nothing was undone."),
    nothing: vscode.l10n.t("There is nothing to undo."),
  };
  const words = said[outcome] ?? vscode.l10n.t("The edits could not be undone.");
  parts.conversation.setRemark({ kind: "note", text: reason === undefined ? words : `${words} ${reason}` });
}

/** What a person can do about a problem is in its message, and sometimes in its hint. */
export function wordsOf(problem: unknown): string {
  const { code, message, data } = problem as { code?: number; message?: string; data?: { hint?: string } };
  if (code !== undefined && CONNECTION_ENDED.includes(code)) {
    return vscode.l10n.t(
      "The daemon ended before the turn did. Start it and ask again; what the turn had done is above.",
    );
  }
  const words = message ?? String(problem);
  const hint = data?.hint ?? "";
  return hint === "" || words.includes(hint) ? words : `${words} ${hint}`;
}

export async function chooseModel(parts: Parts): Promise<void> {
  const { models } = await parts.daemon.call("models", {});
  const rows = models.map((model) => ({
    label: model.name,
    description: model.current ? vscode.l10n.t("in use") : "",
    detail: [size(model.size), (model.capabilities ?? []).join(", ")].filter((part) => part !== "").join(" · "),
  }));
  const chosen = await pick(rows, vscode.l10n.t("The model to ask from now on"));
  if (chosen !== undefined) {
    await parts.daemon.call("set_model", { value: chosen.label });
    parts.conversation.setModel(chosen.label);
    await modelReady(parts);
  }
}

/** Ollama fetches it: the daemon asks first, with the size, and shows how far it is. */
export async function pullModel(parts: Parts, given?: string): Promise<void> {
  const prompt = vscode.l10n.t("The model's name, as Ollama's library has it");
  const name = given ?? (await vscode.window.showInputBox({ prompt, value: "qwen3.5:4b", ignoreFocusOut: true }));
  if (name !== undefined && name.trim() !== "") {
    await parts.daemon.call("pull_model", { name: name.trim() });
    await modelReady(parts);
  }
}

/** For the walkthrough: whether the model of the settings is there. A server that is not there is no news here. */
export async function modelReady(parts: Parts): Promise<void> {
  let ready = false;
  try {
    const { models } = await parts.daemon.call("models", {});
    const used = models.find(({ current }) => current);
    ready = used !== undefined;
    if (used !== undefined && parts.conversation.model === undefined) {
      parts.conversation.setModel(used.name);
    }
  } catch (problem) {
    parts.log.info(`no models yet: ${wordsOf(problem)}`);
  }
  await vscode.commands.executeCommand("setContext", "llamagent.modelReady", ready);
}

function size(bytes: number | undefined): string {
  return bytes === undefined ? "" : `${(bytes / 1e9).toFixed(1)} GB`;
}

async function pick<T extends vscode.QuickPickItem>(rows: T[], placeHolder: string): Promise<T | undefined> {
  if (rows.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t("There are none."));
    return undefined;
  }
  return vscode.window.showQuickPick(rows, { placeHolder, matchOnDescription: true, matchOnDetail: true });
}

/** Sets the project up: what it would change in the folder is reviewed first. */
export async function init(parts: Parts): Promise<void> {
  const { created, skipped } = await parts.daemon.call("init", {});
  const said = [
    created.length > 0 ? vscode.l10n.t("Made: {0}.", created.join(", ")) : vscode.l10n.t("Nothing was made."),
    ...(skipped.length > 0 ? [vscode.l10n.t("Left as it was: {0}.", skipped.join(", "))] : []),
  ];
  void vscode.window.showInformationMessage(said.join(" "));
}

/** What fills the model's context, part by part. */
export async function showContext(parts: Parts): Promise<void> {
  const { tokens, numCtx, estimated, parts: rows } = await parts.daemon.call("context", {});
  const about = estimated ? "~" : "";
  const placeHolder = vscode.l10n.t("{0} of {1} tokens are in use", `${about}${String(tokens)}`, numCtx);
  await vscode.window.showQuickPick(
    rows.map((part) => ({ label: part.name, description: `${about}${String(part.tokens)}` })),
    { placeHolder },
  );
}

export async function loadSkill(parts: Parts): Promise<void> {
  const { skills } = await parts.daemon.call("skills", {});
  const rows = skills.map((skill) => ({ label: skill.name, description: skill.source, detail: skill.description }));
  const chosen = await pick(rows, vscode.l10n.t("The skill whose text the model gets"));
  if (chosen !== undefined) {
    const { tokens } = await parts.daemon.call("load_skill", { name: chosen.label });
    void vscode.window.showInformationMessage(vscode.l10n.t("{0} is loaded ({1} tokens).", chosen.label, tokens));
  }
}

export async function compact(parts: Parts): Promise<void> {
  const { tokensBefore, tokensAfter } = await parts.daemon.call("compact", {});
  void vscode.window.showInformationMessage(
    vscode.l10n.t("The conversation was summed up: {0} tokens became {1}.", tokensBefore, tokensAfter),
  );
}

/** The settings in force and where each comes from, as a text to read. */
export async function showSettings(parts: Parts): Promise<void> {
  const { settings, problems } = await parts.daemon.call("config", {});
  const lines = settings.map(({ key, value, source }) => `${key.padEnd(22)}${JSON.stringify(value)}  # ${source}`);
  const content = [...problems.map((problem) => `! ${problem}`), ...lines].join("\n") + "\n";
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content }), { preview: true });
}

/** For commands: a rejected one would show a modal dialog. */
export function tell(problem: unknown): void {
  void vscode.window.showErrorMessage(wordsOf(problem));
}
