/** Questions whether a command may run: they wait until the person answers, or the daemon takes them back. */

import * as vscode from "vscode";

import type { ConsentQuestion, ConsentReply } from "./wire";

interface Waiting {
  question: ConsentQuestion;
  answer: (reply: ConsentReply) => void;
}

/** Whether a command that was asked about could run with network too, if the person wants. */
export function offersNetwork({ sandboxed, network }: ConsentQuestion): boolean {
  return sandboxed && !network;
}

export class Consents implements vscode.Disposable {
  private waiting: Waiting[] = [];
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  pending(): ConsentQuestion[] {
    return this.waiting.map(({ question }) => question);
  }

  receive(question: ConsentQuestion, token: vscode.CancellationToken): Promise<ConsentReply> {
    return new Promise((answer) => {
      this.waiting.push({ question, answer });
      token.onCancellationRequested(() => {
        this.withdraw(question.call);
      });
      this.changed.fire();
    });
  }

  decide(reply: ConsentReply, call?: string): void {
    const found = call === undefined ? this.waiting[0] : this.waiting.find(({ question }) => question.call === call);
    if (found !== undefined) {
      if (reply.network === true && !offersNetwork(found.question)) {
        throw new Error("this command was not asked about without network");
      }
      this.waiting = this.waiting.filter((other) => other !== found);
      found.answer(reply);
      this.changed.fire();
    }
  }

  withdraw(call: string): void {
    if (this.waiting.some(({ question }) => question.call === call)) {
      this.decide({ decision: "refuse", reason: "the question was withdrawn" }, call);
    }
  }

  refuseAll(reason: string): void {
    for (const { question } of this.waiting) {
      this.decide({ decision: "refuse", reason }, question.call);
    }
  }

  dispose(): void {
    this.refuseAll("the window was closed");
    this.changed.dispose();
  }
}
