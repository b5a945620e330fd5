/** The status bar item: the model, what goes on, and above all what waits for the person. */

import * as vscode from "vscode";

import type { PanelState } from "./panel/messages";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("llamagent", vscode.StatusBarAlignment.Right, 100);

  constructor() {
    this.item.name = "llamagent";
    this.item.command = "llamagent.ui.menu";
    this.item.show();
  }

  show(state: PanelState): void {
    const { text, tooltip, warns } = described(state);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = warns ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }

  dispose(): void {
    this.item.dispose();
  }
}

interface Look {
  text: string;
  tooltip: string;
  warns: boolean;
}

function described(state: PanelState): Look {
  const { l10n } = vscode;
  const name = state.model ?? "llamagent";
  if (state.reviews.length > 0) {
    const text = `$(diff) ${l10n.t("Review the edit")}`;
    return { text, tooltip: l10n.t("An edit waits for your review"), warns: true };
  }
  if (state.consents.length > 0) {
    const text = `$(terminal) ${l10n.t("Run a command?")}`;
    return { text, tooltip: l10n.t("A command waits for your yes or no"), warns: true };
  }
  if (state.daemon === "failed") {
    return { text: "$(error) llamagent", tooltip: l10n.t("The daemon does not run"), warns: true };
  }
  if (state.daemon === "starting" || state.running) {
    return { text: `$(loading~spin) ${name}`, tooltip: l10n.t("llamagent works"), warns: false };
  }
  return { text: `$(sparkle) ${name}`, tooltip: l10n.t("llamagent: what to do"), warns: false };
}
