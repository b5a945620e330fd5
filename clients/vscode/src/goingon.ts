/** The conversation on the screen goes on in the next daemon, whatever ended the one before. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { Conversation } from "./conversation";
import { callOn } from "./daemon";
import { wordsOf } from "./talk";

export async function goOn(conversation: Conversation, client: LanguageClient): Promise<void> {
  const ref = conversation.session;
  if (ref === undefined) {
    return;
  }
  try {
    const { session } = await callOn(client, "resume", { ref });
    const { events, aside } = await callOn(client, "trace", { session });
    if (events.length > 0) {
      conversation.reset(session, events, aside);
    }
  } catch (problem) {
    // What was never stored, as an ask that the daemon's end cut short.
    conversation.session = undefined;
    const text = vscode.l10n.t("The model does not know what is shown above: {0}", wordsOf(problem));
    conversation.setRemark({ kind: "note", text });
  }
}
