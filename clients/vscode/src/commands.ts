/** The one table of the extension's commands. Ids begin with `llamagent.ui.`: `llamagent.` alone is the daemon's. */

import * as vscode from "vscode";

import { selected, wholeFile } from "./attachments";
import type { Panel } from "./panel/view";
import type { Parts } from "./parts";
import * as sessions from "./sessions";
import * as talk from "./talk";
import * as tuning from "./tuning";
import * as waiting from "./waiting";
import type { CommandName } from "./wire";

export const UI = "llamagent.ui.";

/** Where each command of the daemon is in this extension: a command of the table below, or its own place. */
export const REACHED: Record<CommandName, string | null> = {
  ask: "open",
  ask_about: "askAbout",
  cancel: "stop",
  compact: "compact",
  load_skill: "loadSkill",
  skills: "loadSkill",
  new: "new",
  clear: "clear",
  retry: "retry",
  context: "context",
  config: "settings",
  init: "init",
  models: "chooseModel",
  pull_model: "pullModel",
  set_model: "chooseModel",
  set_temperature: "setTemperature",
  set_num_ctx: "setNumCtx",
  allow: "allow",
  sessions: "sessions",
  resume: "sessions",
  delete_session: "sessions",
  undo_turn: "undoTurn",
  export: "export",
  help: "help",
  trust: null, // VS Code's own trust of a folder
  trace: null, // the panel
  complete: null, // the panel's prompt
  unqueue: null, // the panel's queue
};

type Run = (...args: unknown[]) => Promise<void> | void;

export function commandTable(parts: Parts, panel: Panel): Record<string, Run> {
  const { reviews, daemon } = parts;
  return {
    open: () => panel.focus(),
    menu: () => waiting.menu(parts),
    stop: async () => {
      await daemon.call("cancel", {});
    },
    new: () => sessions.fresh(parts, "new"),
    clear: () => sessions.fresh(parts, "clear"),
    compact: () => talk.compact(parts),
    sessions: () => sessions.sessions(parts),
    chooseModel: () => talk.chooseModel(parts),
    loadSkill: () => talk.loadSkill(parts),
    settings: () => talk.showSettings(parts),
    accept: () => reviews.accept(),
    acceptTurn: () => reviews.acceptTurn(),
    reject: () => reviews.reject(),
    rejectWithReason: () => waiting.rejectWithReason(parts),
    rejectAndStop: () => reviews.rejectAndStop(),
    showReview: () => reviews.show(),
    askAbout: () => askAbout(parts, panel),
    explain: () => askNow(parts, panel, vscode.l10n.t("Explain what this does. Change nothing."), "read"),
    fix: () => askNow(parts, panel, vscode.l10n.t("Fix this code.")),
    attach: () => attach(parts, panel),
    pullModel: (name) => talk.pullModel(parts, typeof name === "string" ? name : undefined),
    firstAsk: () => firstAsk(parts, panel),
    undoTurn: () => talk.undoTurn(parts),
    retry: (words) => talk.retryLast(parts, panel, typeof words === "string" ? words : undefined),
    export: () => sessions.exportText(parts),
    init: () => talk.init(parts),
    context: () => talk.showContext(parts),
    allow: () => tuning.allow(parts),
    setTemperature: () => tuning.setTemperature(parts),
    setNumCtx: () => tuning.setNumCtx(parts),
    help: () => help(parts),
    attachFile: (uri) => attachFile(parts, panel, uri),
    restart: () => daemon.restart(),
    log: () => {
      parts.log.show();
    },
  };
}

/** Every command tells its problem itself: a rejected one would show VS Code's modal dialog. */
export function registerCommands(parts: Parts, panel: Panel): vscode.Disposable {
  const rows = Object.entries(commandTable(parts, panel)).map(([name, run]) =>
    vscode.commands.registerCommand(UI + name, async (...args: unknown[]) => {
      try {
        await run(...args);
      } catch (problem) {
        parts.log.error(problem instanceof Error ? problem : String(problem));
        await tellWithLog(parts, problem);
      }
    }),
  );
  return vscode.Disposable.from(...rows);
}

/** With the ways out, where it is the daemon itself that does not run. */
export async function tellWithLog(parts: Parts, problem: unknown): Promise<void> {
  if (parts.daemon.state !== "failed") {
    talk.tell(problem);
    return;
  }
  const openSettings = vscode.l10n.t("Open Settings");
  const showLog = vscode.l10n.t("Show Log");
  const chosen = await vscode.window.showErrorMessage(talk.wordsOf(problem), openSettings, showLog);
  if (chosen === openSettings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "llamagent.server");
  } else if (chosen === showLog) {
    parts.log.show();
  }
}

/** All that the daemon can do, each with its one line of help. */
async function help(parts: Parts): Promise<void> {
  const { commands } = await parts.daemon.call("help", {});
  const rows = commands.flatMap(({ name, title, help: detail }) => {
    const command = REACHED[name.replace(/^llamagent\./, "") as CommandName] as string | null | undefined;
    return typeof command === "string" ? [{ label: title, detail, command }] : [];
  });
  const placeHolder = vscode.l10n.t("What llamagent can do");
  const chosen = await vscode.window.showQuickPick(rows, { placeHolder, matchOnDetail: true });
  if (chosen !== undefined) {
    await vscode.commands.executeCommand(UI + chosen.command);
  }
}

function attachSelection(parts: Parts): boolean {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Open a file and select the code that you mean."));
    return false;
  }
  const { item, label } = selected(editor);
  parts.attachments.add(item, label);
  return true;
}

async function askAbout(parts: Parts, panel: Panel): Promise<void> {
  if (attachSelection(parts)) {
    await panel.focus();
  }
}

async function askNow(parts: Parts, panel: Panel, text: string, mode?: "read"): Promise<void> {
  if (attachSelection(parts)) {
    await panel.reveal();
    await talk.ask(parts, panel, text, mode === undefined ? {} : { mode });
  }
}

async function firstAsk(parts: Parts, panel: Panel): Promise<void> {
  await panel.focus();
  await talk.ask(parts, panel, vscode.l10n.t("What is in this folder?"));
}

/** What the person looks at: the selection, else the file. */
async function attach(parts: Parts, panel: Panel): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (editor !== undefined && !editor.selection.isEmpty) {
    const { item, label } = selected(editor);
    parts.attachments.add(item, label);
    await panel.focus();
  } else {
    await attachFile(parts, panel, editor?.document.uri);
  }
}

async function attachFile(parts: Parts, panel: Panel, argument: unknown): Promise<void> {
  const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
  if (uri === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Open the file that you mean."));
    return;
  }
  const { item, label } = await wholeFile(uri);
  parts.attachments.add(item, label);
  await panel.focus();
}
