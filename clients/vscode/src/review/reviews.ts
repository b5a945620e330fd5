/** Reviews from the proposal to the answer: who waits, what was decided, and what the daemon is told. */

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult } from "vscode-languageclient/node";

import { put, TOOK_BACK } from "./apply";
import { ReviewDocuments } from "./documents";
import { type Proposal, readProposal, Unreviewable } from "./proposal";
import { closeTab, isOpen, openTab } from "./tab";
import { Typing } from "./typing";

/** `stop`, with a no: the turn is to end here; `failed`: it could not be made, though nobody said no (docs/PROTOCOL.md). */
export type Answer = ApplyWorkspaceEditResult & { stop?: true; failed?: true };

interface Review {
  proposal: Proposal;
  answer: (result: Answer) => void;
  /** Once true, every later decision does nothing. */
  decided: boolean;
  /** Whether it had its turn to be shown. */
  presented: boolean;
  /** Whether its tab was seen open: only then can closing it mean no. */
  shown: boolean;
}

export interface PendingReview {
  id: string;
  label: string;
}

export class Reviews implements vscode.Disposable {
  private readonly documents = new ReviewDocuments();
  private readonly typing = new Typing();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable;
  private open: Review[] = [];
  private acceptingTurn = false;

  readonly onDidChange = this.changed.event;

  constructor(private readonly log: vscode.LogOutputChannel) {
    const tabs = vscode.window.tabGroups.onDidChangeTabs((event) => {
      this.tabsChanged(event);
    });
    this.disposables = vscode.Disposable.from(this.documents.register(), this.typing, this.changed, tabs);
  }

  dispose(): void {
    this.rejectAll("the window was closed");
    this.disposables.dispose();
  }

  pending(): PendingReview[] {
    return this.open.map(({ proposal }) => ({ id: proposal.id, label: proposal.label }));
  }

  /** Whether what comes later in this turn is accepted without asking. */
  get acceptsTurn(): boolean {
    return this.acceptingTurn;
  }

  /** The answer to `workspace/applyEdit`. Never throws: a problem is a no with its reason. */
  async receive(params: ApplyWorkspaceEditParams, token: vscode.CancellationToken): Promise<Answer> {
    let proposal: Proposal;
    try {
      proposal = await readProposal(params);
    } catch (problem) {
      if (!(problem instanceof Unreviewable)) {
        this.log.error(problem instanceof Error ? problem : String(problem));
      }
      return failed(problem instanceof Error ? problem.message : String(problem));
    }
    return new Promise((answer) => {
      const review = { proposal, answer, decided: false, presented: false, shown: false };
      this.open.push(review);
      token.onCancellationRequested(() => void this.settle(review, refused("the proposal was withdrawn")));
      if (token.isCancellationRequested) {
        void this.settle(review, refused("the proposal was withdrawn"));
        return;
      }
      this.changed.fire();
      void this.presentNext();
    });
  }

  /** Accept what the person left of the proposal. */
  async accept(id?: string): Promise<void> {
    const review = this.find(id);
    if (review === undefined || review.decided) {
      return;
    }
    review.decided = true;
    const { files } = review.proposal;
    const wanted = files.map((file) => this.documents.wanted(file.right));
    let problem: string | null;
    try {
      problem = await put(files, wanted);
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      problem = error instanceof Error ? error.message : String(error);
    }
    if (problem !== null) {
      void vscode.window.showWarningMessage(vscode.l10n.t("The edit was not applied: {0}", problem));
    }
    await this.finish(
      review,
      problem === null ? { applied: true } : problem === TOOK_BACK ? refused(problem) : failed(problem),
    );
  }

  /** Accept this proposal, and without asking what comes later in this turn. */
  async acceptTurn(id?: string): Promise<void> {
    if (this.find(id) !== undefined) {
      this.acceptingTurn = true;
      await this.accept(id);
    }
  }

  async reject(reason?: string, id?: string): Promise<void> {
    const review = this.find(id);
    if (review !== undefined) {
      await this.settle(review, refused(reason));
    }
  }

  /** A no after which the model is not to try again: the turn ends. */
  async rejectAndStop(id?: string): Promise<void> {
    const review = this.find(id);
    if (review !== undefined) {
      await this.settle(review, { ...refused(), stop: true });
    }
  }

  /** Bring the review that waits longest to the front. */
  async show(id?: string): Promise<void> {
    const review = this.find(id);
    if (review !== undefined) {
      await this.openTabOf(review);
    }
  }

  withdraw(id: string): void {
    const review = this.open.find(({ proposal }) => proposal.id === id);
    if (review !== undefined) {
      void this.settle(review, refused("the proposal was withdrawn"));
    }
  }

  /** The person's standing order ends with the turn that it was given in. */
  turnEnded(): void {
    this.acceptingTurn = false;
  }

  rejectAll(reason: string): void {
    this.acceptingTurn = false;
    for (const review of [...this.open]) {
      void this.settle(review, refused(reason));
    }
  }

  private find(id?: string): Review | undefined {
    return id === undefined ? this.open[0] : this.open.find(({ proposal }) => proposal.id === id);
  }

  /** One at a time: the one that waits longest, once. */
  private async presentNext(): Promise<void> {
    const review = this.open[0];
    if (review === undefined || review.presented) {
      return;
    }
    review.presented = true;
    for (const file of review.proposal.files) {
      this.documents.put(file.left, file.base, file.right, file.proposed);
    }
    if (this.acceptingTurn) {
      await this.accept(review.proposal.id);
      return;
    }
    await this.typing.pause();
    await this.openTabOf(review);
  }

  private async openTabOf(review: Review): Promise<void> {
    if (review.decided) {
      return;
    }
    try {
      await openTab(review.proposal);
    } catch (problem) {
      // The card and the commands can still decide it.
      this.log.error(problem instanceof Error ? problem : String(problem));
      return;
    }
    review.shown = true;
    if (!this.open.includes(review)) {
      await closeTab(review.proposal); // decided while it opened
    }
  }

  private tabsChanged(event: vscode.TabChangeEvent): void {
    const review = this.open[0];
    if (review === undefined || review.decided) {
      return;
    }
    review.shown ||= isOpen(review.proposal);
    if (review.shown && event.closed.length > 0 && !isOpen(review.proposal)) {
      void this.settle(review, refused("the person closed the review"));
    }
  }

  private async settle(review: Review, result: Answer): Promise<void> {
    if (!review.decided) {
      review.decided = true;
      await this.finish(review, result);
    }
  }

  /** Answer, then clear away. */
  private async finish(review: Review, result: Answer): Promise<void> {
    review.answer(result);
    this.open = this.open.filter((other) => other !== review);
    this.changed.fire();
    await closeTab(review.proposal);
    for (const file of review.proposal.files) {
      this.documents.drop(file.left, file.right);
    }
    await this.presentNext();
  }
}

/** Nobody said no: the edit could not be made. */
function failed(reason: string): Answer {
  return { applied: false, failed: true, failureReason: reason };
}

function refused(reason?: string): Answer {
  return reason === undefined || reason === "" ? { applied: false } : { applied: false, failureReason: reason };
}
