/** How the language client behaves: which documents it tells of, what it says of itself, what it keeps from doing. */

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient/node";

import { editorsRipgrep } from "./program";
import { personsSettings, type Values } from "./settings";
import { tell } from "./talk";
import { FLAGS, FOLLOWED } from "./wire";

export function clientOptions(log: vscode.LogOutputChannel): LanguageClientOptions {
  return {
    documentSelector: FOLLOWED.map((scheme) => ({ scheme })),
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: () => ({ trusted: vscode.workspace.isTrusted, settings: settingsForDaemon() }),
    initializationFailedHandler: () => false, // told by who started it
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      // The person decides: a daemon that came back by itself would have lost the conversation that is on the screen.
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
    },
    middleware: {
      executeCommand: runForEditor,
      workspace: {
        configuration: ({ items }) =>
          items.map(({ section }) => (section === "llamagent" ? settingsForDaemon() : null)),
        // The stock answer would send every default as if the person had set it.
        didChangeConfiguration: () => Promise.resolve(),
      },
    },
  };
}

/** A code action of the daemon: VS Code would show a rejected one as a modal dialog. */
async function runForEditor(
  command: string,
  given: unknown[],
  next: (command: string, given: unknown[]) => vscode.ProviderResult<unknown>,
): Promise<unknown> {
  try {
    return await next(command, given);
  } catch (problem) {
    tell(problem);
    return undefined;
  }
}

/** What the person set, and where this editor's own ripgrep is. */
export function settingsForDaemon(): Values {
  const settings = personsSettings();
  const ripgrep = editorsRipgrep();
  return ripgrep === null ? settings : { ripgrep, ...settings };
}

/** Says what this client can do beyond LSP. */
export const flagsFeature: StaticFeature = {
  fillClientCapabilities(capabilities) {
    const others = (capabilities.experimental ?? {}) as object;
    capabilities.experimental = { ...others, llamagent: FLAGS };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
