/** What waits for the person, decided from the keyboard: edits to review and commands to run. */

import * as vscode from "vscode";

import { offersNetwork } from "./consent";
import type { Parts } from "./parts";
import { menuLine } from "./text/visible";
import type { ConsentReply } from "./wire";

type Row = vscode.QuickPickItem & { run: () => Promise<void> | void };

/** The one menu behind the status bar item. */
export async function menu(parts: Parts): Promise<void> {
  const rows = [...reviewRows(parts), ...consentRows(parts), ...otherRows(parts)];
  const chosen = await vscode.window.showQuickPick(rows, { placeHolder: "llamagent" });
  await chosen?.run();
}

function reviewRows(parts: Parts): Row[] {
  const review = parts.reviews.pending()[0];
  if (review === undefined) {
    return [];
  }
  const { l10n } = vscode;
  const { reviews } = parts;
  const { id } = review;
  return [
    {
      label: `$(check) ${l10n.t("Accept the edit")}`,
      description: menuLine(review.label),
      run: () => reviews.accept(id),
    },
    { label: `$(close) ${l10n.t("Reject the edit")}`, run: () => reviews.reject(undefined, id) },
    { label: `$(comment) ${l10n.t("Reject with a reason…")}`, run: () => rejectWithReason(parts, id) },
    { label: `$(debug-stop) ${l10n.t("Reject and stop the turn")}`, run: () => reviews.rejectAndStop(id) },
    { label: `$(check-all) ${l10n.t("Accept the rest of this turn's edits")}`, run: () => reviews.acceptTurn(id) },
    { label: `$(diff) ${l10n.t("Show the edit")}`, run: () => reviews.show(id) },
  ];
}

function consentRows(parts: Parts): Row[] {
  const question = parts.consents.pending()[0];
  if (question === undefined) {
    return [];
  }
  const { l10n } = vscode;
  const { consents } = parts;
  const { call } = question;
  const description = menuLine(question.command);
  const row = (icon: string, label: string, reply: ConsentReply, shown = ""): Row => ({
    label: `$(${icon}) ${label}`,
    description: shown,
    run: () => {
      consents.decide(reply, call);
    },
  });
  return [
    row("play", l10n.t("Run"), { decision: "run" }, description),
    ...(offersNetwork(question)
      ? [row("globe", l10n.t("Run with network"), { decision: "run", network: true }, description)]
      : []),
    row("run-all", l10n.t("Always in this session"), { decision: "always" }, description),
    row("close", l10n.t("Refuse"), { decision: "refuse" }),
    { label: `$(comment) ${l10n.t("Refuse with a reason…")}`, run: () => refuseWithReason(parts, call) },
    row("debug-stop", l10n.t("Refuse and stop the turn"), { decision: "refuse", stop: true }),
  ];
}

function otherRows(parts: Parts): Row[] {
  const { l10n } = vscode;
  const row = (icon: string, label: string, command: string): Row => ({
    label: `$(${icon}) ${label}`,
    run: async () => {
      await vscode.commands.executeCommand(`llamagent.ui.${command}`);
    },
  });
  return [
    ...(parts.conversation.running === undefined ? [] : [row("debug-stop", l10n.t("Stop"), "stop")]),
    row("comment-discussion", l10n.t("Open the panel"), "open"),
    row("server", l10n.t("Choose the model"), "chooseModel"),
    row("history", l10n.t("Conversations"), "sessions"),
    row("debug-restart", l10n.t("Restart the daemon"), "restart"),
    row("output", l10n.t("Show the log"), "log"),
  ];
}

export async function rejectWithReason(parts: Parts, id?: string): Promise<void> {
  const reason = await reasonFor(vscode.l10n.t("Why not? The model is told."));
  if (reason !== undefined) {
    await parts.reviews.reject(reason, id);
  }
}

export async function refuseWithReason(parts: Parts, call?: string): Promise<void> {
  const reason = await reasonFor(vscode.l10n.t("Why not? The model is told."));
  if (reason !== undefined) {
    parts.consents.decide({ decision: "refuse", ...(reason === "" ? {} : { reason }) }, call);
  }
}

function reasonFor(prompt: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({ prompt, ignoreFocusOut: true });
}
