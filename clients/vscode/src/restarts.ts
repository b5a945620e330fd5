/** Restarts of the daemon that a change calls for: at once, or when what runs has ended. */

import * as vscode from "vscode";

import type { Parts } from "./parts";

const QUIET_MS = 300; // from the end of one turn to its reply, or to the next turn of the queue

/** `why` is a sentence for the person. A turn that runs is not killed without their word. */
export async function restartWhenIdle(parts: Parts, why: string): Promise<void> {
  const { pid } = parts.daemon;
  if (busy(parts)) {
    const now = vscode.l10n.t("Restart Now");
    const text = vscode.l10n.t("{0} llamagent restarts for it as soon as the running turn has ended.", why);
    const idle = untilIdle(parts);
    const word = vscode.window.showInformationMessage(text, now).then((chosen) => (chosen === now ? undefined : idle));
    await Promise.race([idle, word]);
  }
  if (parts.daemon.pid === pid) {
    await parts.daemon.restart(); // else it was restarted meanwhile
  }
}

function busy({ conversation, reviews, consents }: Parts): boolean {
  const waiting = reviews.pending().length + consents.pending().length + conversation.queue.length;
  return conversation.running !== undefined || waiting > 0;
}

async function untilIdle(parts: Parts): Promise<void> {
  do {
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!busy(parts)) {
          listener.dispose();
          resolve();
        }
      };
      const listener = parts.onDidChangeState(check);
      check();
    });
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  } while (busy(parts));
}
