/** Reviews from the proposal to the answer: who waits, what was decided, and what the daemon is told. */

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult } from "vscode-languageclient/node";

import { put, TOOK_BACK } from "./apply";
import { ReviewDocuments } from "./documents";
import { Lately } from "./live";
import { type Proposal, readProposal, refreshed, Unreviewable } from "./proposal";
import { Saving } from "./saving";
import { closeTab, isOpen, openTab } from "./tab";
import { Typing } from "./typing";

/** `stop`, with a no: the turn is to end here; `failed`: it could not be made, though nobody said no (docs/PROTOCOL.md). */
export type Answer = ApplyWorkspaceEditResult & { stop?: true; failed?: true };

interface Review {
  /** For the text that was there when it came; from its turn on for the text of that moment. */
  proposal: Proposal;
  answer: (result: Answer) => void;
  /** Once true, every later decision does nothing. */
  decided: boolean;
  /** Whether it had its turn to be shown. */
  presented: boolean;
  /** Done once its documents are there; rejected where the proposal cannot be made on the live text. */
  prepared: Promise<void> | undefined;
  /** Whether its tab was seen open: only then can closing it mean no. */
  shown: boolean;
}

export interface PendingReview {
  id: string;
  label: string;
}

export class Reviews implements vscode.Disposable {
  private readonly documents = new ReviewDocuments();
  readonly typing = new Typing();
  private readonly lately = new Lately();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable;
  private open: Review[] = [];
  private reading: Promise<unknown> = Promise.resolve();
  private acceptingTurn = false;
  private era = 0; // of the daemon whose proposals count

  readonly onDidChange = this.changed.event;

  constructor(private readonly log: vscode.LogOutputChannel) {
    const tabs = vscode.window.tabGroups.onDidChangeTabs((event) => {
      this.tabsChanged(event);
    });
    const { documents, typing, lately, changed } = this;
    const saving = new Saving((uri) => documents.has(uri));
    this.disposables = vscode.Disposable.from(documents.register(), saving, typing, lately, changed, tabs);
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
    const { era } = this;
    const read = this.reading.then(() => readProposal(params, this.lately));
    this.reading = read.catch(() => undefined); // the next one is read after this one, so that they keep their order
    let proposal: Proposal;
    try {
      proposal = await read;
    } catch (problem) {
      return failed(this.wordsOf(problem));
    }
    if (era !== this.era) {
      return refused("the daemon that proposed it is gone");
    }
    return new Promise((answer) => {
      const review: Review = {
        proposal,
        answer,
        decided: false,
        presented: false,
        prepared: undefined,
        shown: false,
      };
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
    let problem: string | null;
    try {
      await this.prepare(review);
      const { files } = review.proposal;
      problem = await put(
        files,
        files.map((file) => this.documents.wanted(file.right)),
      );
    } catch (error) {
      problem = this.wordsOf(error);
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
    this.era += 1;
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
    if (this.acceptingTurn) {
      await this.accept(review.proposal.id);
      return;
    }
    await this.typing.pause();
    await this.typing.keepingPrompt(() => this.openTabOf(review));
  }

  /** Puts the proposal, made on the text as it is now, where the diff and the decision read it. Once; throws. */
  private async prepare(review: Review): Promise<void> {
    review.prepared ??= refreshed(review.proposal).then((proposal) => {
      review.proposal = proposal;
      for (const file of proposal.files) {
        this.documents.put(file.left, file.base, file.right, file.proposed);
      }
    });
    await review.prepared;
  }

  private async openTabOf(review: Review): Promise<void> {
    if (review.decided) {
      return;
    }
    try {
      await this.prepare(review);
    } catch (problem) {
      await this.settle(review, failed(this.wordsOf(problem)));
      return;
    }
    try {
      await openTab(review.proposal);
    } catch (problem) {
      this.wordsOf(problem); // the card and the commands can still decide it
      return;
    }
    review.shown = true;
    if (!this.open.includes(review)) {
      await closeTab(review.proposal); // decided while it opened
    }
  }

  private tabsChanged(event: vscode.TabChangeEvent): void {
    for (const review of this.open.filter(({ decided, prepared }) => !decided && prepared !== undefined)) {
      review.shown ||= isOpen(review.proposal);
      if (review.shown && event.closed.length > 0 && !isOpen(review.proposal)) {
        void this.settle(review, refused("the person closed the review"));
      }
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
    try {
      await review.prepared?.catch(() => undefined); // told by who needed it
      await closeTab(review.proposal);
    } catch (problem) {
      this.wordsOf(problem); // the next review does not wait for a tab that stays
    }
    for (const file of review.proposal.files) {
      this.documents.drop(file.left, file.right);
    }
    await this.presentNext();
  }

  /** For the model and the person; what nobody expected is logged. */
  private wordsOf(problem: unknown): string {
    if (!(problem instanceof Unreviewable)) {
      this.log.error(problem instanceof Error ? problem : String(problem));
    }
    return problem instanceof Error ? problem.message : String(problem);
  }
}

/** Nobody said no: the edit could not be made. */
function failed(reason: string): Answer {
  return { applied: false, failed: true, failureReason: reason };
}

function refused(reason?: string): Answer {
  return reason === undefined || reason === "" ? { applied: false } : { applied: false, failureReason: reason };
}
