/** Wires the extension's parts together. */

import * as vscode from "vscode";

import { registerCommands, tellWithLog } from "./commands";
import { receive } from "./panel/doors";
import { Panel, VIEW } from "./panel/view";
import { Parts } from "./parts";
import { restartWhenIdle } from "./restarts";
import { closeLeftOver } from "./review/tab";
import { touches } from "./settings";
import { StatusBar } from "./statusbar";
import { modelReady, tell } from "./talk";

/** What tests may look at; nobody else should depend on it. */
export interface Api {
  parts: Parts;
}

export function activate(context: vscode.ExtensionContext): Api {
  const log = vscode.window.createOutputChannel("llamagent", { log: true });
  const parts = new Parts(context.extension, log);
  const panel: Panel = new Panel(context.extensionUri, {
    events: () => parts.conversation.all(),
    state: () => parts.state(),
    receive: (message) => void receive(parts, panel, message).catch(tell),
  });
  const status = new StatusBar();
  const show = (): void => {
    const state = parts.state();
    status.show(state);
    parts.conversation.flush(); // so that a question is drawn behind what led to it
    panel.post({ type: "state", state });
    void setContext("reviewPending", state.reviews.length > 0);
    void setContext("running", state.running);
    void setContext("daemonRunning", state.daemon === "running");
    void setContext("asked", state.running || parts.conversation.all().length > 0);
  };
  context.subscriptions.push(
    log,
    parts,
    status,
    vscode.window.registerWebviewViewProvider(VIEW, panel),
    registerCommands(parts, panel),
    parts.onDidChangeState(show),
    ...forwardConversation(parts, panel),
    ...followSettings(parts),
  );
  show();
  showPanelOnce(context, panel);
  void closeLeftOver();
  running = parts;
  // Now, so that the person sees at once whether it works.
  parts.daemon.ensure().then(
    () => modelReady(parts),
    (problem: unknown) => tellWithLog(parts, problem),
  );
  return { parts };
}

let running: Parts | undefined;

export async function deactivate(): Promise<void> {
  await running?.daemon.stop();
}

/** Until it was shown once, VS Code leaves the panel's place blank. */
function showPanelOnce(context: vscode.ExtensionContext, panel: Panel): void {
  const key = "panelWasShown";
  if (context.globalState.get(key) !== true) {
    void panel.reveal();
    void context.globalState.update(key, true);
  }
}

function setContext(key: string, value: boolean): Thenable<unknown> {
  return vscode.commands.executeCommand("setContext", `llamagent.${key}`, value);
}

function forwardConversation(parts: Parts, panel: Panel): vscode.Disposable[] {
  return [
    parts.conversation.onDidArrive((events) => {
      panel.post({ type: "events", events });
    }),
    parts.conversation.onDidRestart(() => {
      panel.post({ type: "reset", events: parts.conversation.all() });
    }),
    parts.consents.onDidChange(() => {
      if (parts.consents.pending().length > 0 && !panel.visible) {
        void panel.reveal();
      }
    }),
  ];
}

function followSettings(parts: Parts): vscode.Disposable[] {
  const say = (problem: unknown): Promise<void> => tellWithLog(parts, problem);
  return [
    vscode.workspace.onDidChangeConfiguration((event) => {
      switch (touches(event)) {
        case "program":
          void restartWhenIdle(parts, vscode.l10n.t("The daemon's settings changed.")).catch(say);
          break;
        case "values":
          void parts.daemon.tellSettings();
          break;
        case "nothing":
          break;
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void restartWhenIdle(parts, vscode.l10n.t("This folder is trusted now.")).catch(say);
    }),
  ];
}
