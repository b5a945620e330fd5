/** Asking and choosing: each function is one thing that a person does with the daemon. */

import * as vscode from "vscode";

import type { Panel } from "./panel/view";
import type { Parts } from "./parts";
import type { SessionRow } from "./wire";

const REQUEST_CANCELLED = -32800;

/** Ask with what is attached. Problems are shown in the panel, where the person looks. */
export async function ask(parts: Parts, panel: Panel, text: string, steer = false): Promise<void> {
  const context = parts.attachments.take();
  try {
    await parts.daemon.call("ask", { text, ...(context.length > 0 ? { context } : {}), ...(steer ? { steer } : {}) });
  } catch (problem) {
    if ((problem as { code?: number }).code !== REQUEST_CANCELLED) {
      panel.postWhenReady({ type: "problem", text: wordsOf(problem) });
    }
  }
}

/** What a person can do about a problem is in its message, and sometimes in its hint. */
export function wordsOf(problem: unknown): string {
  const { message, data } = problem as { message?: string; data?: { hint?: string } };
  return [message ?? String(problem), data?.hint].filter((part) => part !== undefined && part !== "").join(" ");
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
  }
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

const DELETE: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete" };

interface SessionItem extends vscode.QuickPickItem {
  session: SessionRow;
}

/** The stored conversations: Enter goes on with one, the bin deletes one. */
export async function sessions(parts: Parts): Promise<void> {
  const list = vscode.window.createQuickPick<SessionItem>();
  const load = async (): Promise<void> => {
    const { sessions: rows } = await parts.daemon.call("sessions", {});
    list.items = rows.map((session) => ({
      session,
      label: session.title,
      description: session.current ? vscode.l10n.t("current") : session.model,
      detail: vscode.l10n.t("{0} messages, {1}", session.messages, new Date(session.updated).toLocaleString()),
      buttons: [DELETE],
    }));
  };
  list.placeholder = vscode.l10n.t("The conversation to go on with");
  list.onDidTriggerItemButton(({ item }) => void remove(parts, item.session).then(load));
  list.onDidHide(() => {
    list.dispose();
  });
  list.onDidAccept(() => {
    const chosen = list.selectedItems[0];
    list.hide();
    if (chosen !== undefined) {
      void resume(parts, chosen.session.id).catch(tell);
    }
  });
  list.show();
  await load();
}

async function remove(parts: Parts, session: SessionRow): Promise<void> {
  const yes = vscode.l10n.t("Delete");
  const question = vscode.l10n.t("Delete the conversation “{0}”?", session.title);
  if ((await vscode.window.showWarningMessage(question, { modal: true }, yes)) === yes) {
    await parts.daemon.call("delete_session", { ref: session.id });
  }
}

async function resume(parts: Parts, ref: string): Promise<void> {
  const { session } = await parts.daemon.call("resume", { ref });
  const { events } = await parts.daemon.call("trace", { session });
  parts.conversation.reset(session, events);
}

export async function fresh(parts: Parts, how: "new" | "clear"): Promise<void> {
  const { session } = await parts.daemon.call(how, {});
  parts.conversation.reset(session);
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
