/** What the panel's page asks for: one thin door each. */

import * as vscode from "vscode";

import { UI } from "../commands";
import type { Parts } from "../parts";
import * as talk from "../talk";
import * as waiting from "../waiting";
import type { ConsentReply } from "../wire";
import type { ConsentDecision, FromPage, PageCommand } from "./messages";
import { runTyped } from "./slash";
import type { Panel } from "./view";

// A page that was tampered with could send any name.
const COMMANDS: ReadonlySet<PageCommand> = new Set<PageCommand>([
  "chooseModel",
  "restart",
  "log",
  "attach",
  "sessions",
]);

export async function receive(parts: Parts, panel: Panel, message: FromPage): Promise<void> {
  switch (message.type) {
    case "writing":
      parts.reviews.typing.inPrompt(message.is ? () => panel.focusIfVisible() : null);
      return;
    case "ask":
      if (!(await runTyped(message.text))) {
        await talk.ask(parts, panel, message.text, message.steer ? { steer: true } : {});
      }
      return;
    case "retry":
      return talk.retry(parts, panel, message);
    case "undo":
      return talk.undoTurn(parts, message.turn);
    case "stop":
      await parts.daemon.call("cancel", {});
      return;
    case "review":
      return review(parts, message);
    case "consent":
      return consent(parts, message);
    case "unqueue":
      await parts.daemon.call("unqueue", { id: message.id });
      return;
    case "detach":
      parts.attachments.remove(message.id);
      return;
    case "command":
      if (COMMANDS.has(message.name)) {
        await vscode.commands.executeCommand(UI + message.name);
      }
      return;
    case "complete":
      return complete(parts, panel, message);
    case "copy":
      return vscode.env.clipboard.writeText(message.text);
    case "insert":
      return insert(message.text);
    case "openText":
      return openText(message.text, message.language);
    case "openFile":
      await vscode.window.showTextDocument(vscode.Uri.parse(message.uri, true), { preview: true });
      return;
    case "ready":
      parts.reviews.typing.inPrompt(null);
      return;
  }
}

type Message<T extends FromPage["type"]> = Extract<FromPage, { type: T }>;

function review(parts: Parts, { id, decision }: Message<"review">): Promise<void> {
  const { reviews } = parts;
  switch (decision) {
    case "accept":
      return reviews.accept(id);
    case "acceptTurn":
      return reviews.acceptTurn(id);
    case "reject":
      return reviews.reject(undefined, id);
    case "stop":
      return reviews.rejectAndStop(id);
    case "show":
      return reviews.show(id);
    case "reason":
      return waiting.rejectWithReason(parts, id);
  }
}

const ANSWERS: Record<Exclude<ConsentDecision, "reason">, ConsentReply> = {
  run: { decision: "run" },
  network: { decision: "run", network: true },
  always: { decision: "always" },
  refuse: { decision: "refuse" },
  stop: { decision: "refuse", stop: true },
};

async function consent(parts: Parts, { call, decision }: Message<"consent">): Promise<void> {
  if (decision === "reason") {
    await waiting.refuseWithReason(parts, call);
  } else {
    parts.consents.decide(ANSWERS[decision], call);
  }
}

/** Where the daemon completes; else the prompt has none. */
async function complete(parts: Parts, panel: Panel, { request, text, offset }: Message<"complete">): Promise<void> {
  await parts.daemon.ensure(); // the first letters may come while it starts
  if (parts.daemon.serves("complete")) {
    const { items } = await parts.daemon.call("complete", { text, offset });
    panel.post({ type: "completions", request, items });
  }
}

async function insert(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (editor === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("Open the file that the code is for."));
    return;
  }
  await editor.edit((edit) => {
    edit.replace(editor.selection, text);
  });
}

async function openText(content: string, language: string): Promise<void> {
  const known = await vscode.languages.getLanguages();
  const options = known.includes(language) ? { content, language } : { content };
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(options));
}
