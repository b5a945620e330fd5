/** Whether the daemon and this extension belong together. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { PROTOCOL_VERSION } from "./wire";

const told = new Set<string>();

/** Says so where the daemon is of another version; once for each in a window. */
export function compareVersions(
  client: LanguageClient,
  extension: vscode.Extension<unknown>,
  log: vscode.LogOutputChannel,
): void {
  const result = client.initializeResult;
  const ours = (extension.packageJSON as { version: string }).version;
  const theirs = result?.serverInfo?.version ?? "?";
  const experimental = result?.capabilities.experimental as { llamagent?: { protocol?: number } } | undefined;
  const speaks = experimental?.llamagent?.protocol === PROTOCOL_VERSION;
  if ((speaks && theirs === ours) || told.has(theirs)) {
    return;
  }
  told.add(theirs);
  const text = speaks
    ? vscode.l10n.t(
        "The llamagent daemon is of version {0}, this extension of {1}. Some things may not work.",
        theirs,
        ours,
      )
    : vscode.l10n.t("The llamagent daemon {0} and this extension {1} do not speak the same protocol.", theirs, ours);
  log.warn(text);
  const openSettings = vscode.l10n.t("Open Settings");
  void vscode.window.showWarningMessage(text, openSettings).then(async (chosen) => {
    if (chosen === openSettings) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "llamagent.server");
    }
  });
}
