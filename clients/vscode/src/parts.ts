/** The extension's parts, put together once: what extension.ts wires and the commands act on. */

import * as vscode from "vscode";
import { ApplyWorkspaceEditRequest, type LanguageClient } from "vscode-languageclient/node";

import { Attachments } from "./attachments";
import { Consents } from "./consent";
import { Conversation } from "./conversation";
import { Daemon } from "./daemon";
import { save } from "./documents";
import { goOn } from "./goingon";
import type { PanelState } from "./panel/messages";
import { Problems } from "./problems";
import { Reviews } from "./review/reviews";
import * as wire from "./wire";

export class Parts implements vscode.Disposable {
  readonly attachments = new Attachments();
  readonly consents = new Consents();
  readonly conversation = new Conversation();
  readonly problems = new Problems();
  readonly reviews: Reviews;
  readonly daemon: Daemon;

  constructor(
    extension: vscode.Extension<unknown>,
    readonly log: vscode.LogOutputChannel,
  ) {
    this.reviews = new Reviews(log);
    this.daemon = new Daemon(extension, log, {
      connect: (client) => {
        this.connect(client);
      },
      begun: (client) => goOn(this.conversation, client),
    });
    this.conversation.onDidEndTurn(() => {
      this.reviews.turnEnded();
    });
    this.daemon.onDidChangeState((state) => {
      if (state === "stopped" || state === "failed") {
        this.daemonGone();
      }
    });
  }

  state(): PanelState {
    const { conversation, reviews } = this;
    return {
      daemon: this.daemon.state,
      running: conversation.running !== undefined,
      model: conversation.model ?? null,
      gauge: conversation.gauge ?? null,
      queue: conversation.queue,
      reviews: reviews.pending(),
      consents: this.consents.pending(),
      acceptsTurn: reviews.acceptsTurn,
      chips: this.attachments.chips(),
      remark: conversation.remark,
      aside: conversation.aside,
      can: { retry: this.daemon.serves("retry"), undo: this.daemon.serves("undo_turn") },
    };
  }

  onDidChangeState(listener: () => void): vscode.Disposable {
    return vscode.Disposable.from(
      this.daemon.onDidChangeState(listener),
      this.conversation.onDidChange(listener),
      this.reviews.onDidChange(listener),
      this.consents.onDidChange(listener),
      this.attachments.onDidChange(listener),
    );
  }

  dispose(): void {
    const { reviews, consents, daemon, conversation, attachments, problems } = this;
    vscode.Disposable.from(reviews, consents, daemon, conversation, attachments, problems).dispose();
  }

  /** What the daemon may send. The stock handler of workspace/applyEdit gives way: it cannot see a withdrawal. */
  private connect(client: LanguageClient): void {
    client.onRequest(ApplyWorkspaceEditRequest.type, (params, token) => this.reviews.receive(params, token));
    client.onRequest(wire.CONSENT, (question: wire.ConsentQuestion, token: vscode.CancellationToken) =>
      this.consents.receive(question, token),
    );
    client.onRequest(wire.SAVE, save);
    client.onRequest(wire.DIAGNOSTICS, (uris: wire.Uris) => this.problems.tell(uris));
    client.onRequest(wire.INPUT, input);
    client.onNotification(wire.TRACE, (event: wire.TraceEvent) => {
      this.conversation.add(event);
    });
    client.onNotification(wire.QUEUED, ({ queue }: wire.Queued) => {
      this.conversation.setQueue(queue);
    });
    client.onNotification(wire.REVIEW_CLOSED, ({ reviewId }: wire.ReviewClosed) => {
      this.reviews.withdraw(reviewId);
      this.consents.withdraw(reviewId);
    });
  }

  private daemonGone(): void {
    this.reviews.rejectAll("the daemon is gone");
    this.consents.refuseAll("the daemon is gone");
    this.conversation.stopped();
  }
}

/** Free text for something that the daemon wants to know. */
async function input({ title, text }: wire.InputQuestion, token: vscode.CancellationToken): Promise<wire.InputReply> {
  const answer = await vscode.window.showInputBox({ title, value: text, ignoreFocusOut: true }, token);
  return answer === undefined ? {} : { text: answer };
}
