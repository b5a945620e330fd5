/** The stored conversations: the list of them, another one on the screen, one as a text. */

import * as vscode from "vscode";

import type { Parts } from "./parts";
import { tell } from "./talk";
import { menuLine } from "./text/visible";
import type { SessionRow } from "./wire";

const DELETE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("trash"),
  tooltip: vscode.l10n.t("Delete"),
};
const EXPORT: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("export"),
  tooltip: vscode.l10n.t("Export as Markdown"),
};

interface SessionItem extends vscode.QuickPickItem {
  session: SessionRow;
}

/** The stored conversations: Enter goes on with one; its buttons export and delete it. */
export async function sessions(parts: Parts): Promise<void> {
  const list = vscode.window.createQuickPick<SessionItem>();
  const load = async (): Promise<void> => {
    const { sessions: rows } = await parts.daemon.call("sessions", {});
    list.items = rows.map((session) => ({
      session,
      label: session.damaged === true ? `$(warning) ${menuLine(session.title)}` : menuLine(session.title),
      description: described(session),
      detail: vscode.l10n.t("{0} messages, {1}", session.messages, new Date(session.updated).toLocaleString()),
      buttons: parts.daemon.serves("export") ? [EXPORT, DELETE] : [DELETE],
    }));
  };
  list.placeholder = vscode.l10n.t("The conversation to go on with");
  list.onDidTriggerItemButton(({ item, button }) => {
    const done = button === EXPORT ? exported(parts, item.session) : remove(parts, item.session).then(load);
    void done.catch(tell);
  });
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

function described({ current, damaged, model }: SessionRow): string {
  if (damaged === true) {
    return vscode.l10n.t("damaged: what can be read of it is there");
  }
  return current ? vscode.l10n.t("current") : model;
}

async function exported(parts: Parts, { id }: SessionRow): Promise<void> {
  await exportText(parts, id);
}

/** As an untitled document, for the person to keep or not; without `session` the conversation of the moment. */
export async function exportText(parts: Parts, session?: string): Promise<void> {
  const which = session === undefined ? {} : { session };
  const { text: content } = await parts.daemon.call("export", { ...which, format: "markdown" });
  const document = await vscode.workspace.openTextDocument({ content, language: "markdown" });
  await vscode.window.showTextDocument(document, { preview: false });
}

async function remove(parts: Parts, session: SessionRow): Promise<void> {
  const yes = vscode.l10n.t("Delete");
  const question = vscode.l10n.t("Delete the conversation “{0}”?", session.title);
  if ((await vscode.window.showWarningMessage(question, { modal: true }, yes)) === yes) {
    await parts.daemon.call("delete_session", { ref: session.id });
  }
}

/** What runs in the conversation, and what waits in it, ends: nobody would see it any more. */
async function leave({ conversation, daemon }: Parts): Promise<void> {
  for (const { id } of conversation.queue) {
    await daemon.call("unqueue", { id });
  }
  if (conversation.running === undefined) {
    return;
  }
  const ended = new Promise<void>((resolve) => {
    const listener = conversation.onDidChange(() => {
      if (conversation.running === undefined) {
        listener.dispose();
        resolve();
      }
    });
  });
  await daemon.call("cancel", {});
  await ended;
}

async function resume(parts: Parts, ref: string): Promise<void> {
  if (ref === parts.conversation.session) {
    return; // it is on the screen, and may run
  }
  await leave(parts);
  const { session, title, messages } = await parts.daemon.call("resume", { ref });
  const { events, aside } = await parts.daemon.call("trace", { session });
  parts.conversation.reset(session, events, aside);
  if (events.length === 0 && messages > 0) {
    // Of an older kind: the model knows it, but what went on was not kept.
    const text = vscode.l10n.t(
      "“{0}” goes on. The model knows its {1} messages; they are not shown here.",
      title,
      messages,
    );
    parts.conversation.setRemark({ kind: "note", text });
  }
}

export async function fresh(parts: Parts, how: "new" | "clear"): Promise<void> {
  await leave(parts);
  const { session } = await parts.daemon.call(how, {});
  parts.conversation.reset(session);
}
