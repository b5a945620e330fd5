/** Proposals and questions as cards in the flow, with buttons as long as they wait. */

import type { ConsentDecision, PanelState, ReviewDecision } from "../panel/messages";
import { visible } from "../text/visible";
import type { ChangedFile, ConsentQuestion, EventOf } from "../wire";
import { announce } from "./announce";
import { diffBlock } from "./diff";
import { button, el, fold, scrollable } from "./dom";
import { host } from "./host";
import { OUTCOMES } from "./rows";
import { t } from "./words";

const FOLD_OVER_LINES = 40;

/** A proposal's card, and its parts that change. */
interface Review {
  card: HTMLElement;
  status: HTMLElement;
  decide: HTMLElement;
  diff: HTMLDetailsElement | null;
  files: number;
}

export class Cards {
  private readonly reviews = new Map<string, Review>();
  private readonly consents = new Map<string, HTMLElement>();

  clear(): void {
    this.reviews.clear();
    this.consents.clear();
  }

  proposal({ reviewId, files, diff }: EventOf<"edit.proposed">): HTMLElement {
    this.reviews.get(reviewId)?.card.remove();
    const head = files.length === 1 ? t("Proposed edit") : t("Proposed edit of {0} files", files.length);
    const names = shortest(files.map(({ uri }) => uri));
    const rows = el("ul", { class: "files" }, ...files.map((file, index) => fileRow(file, names[index] ?? file.uri)));
    const open = diff.split("\n").length <= FOLD_OVER_LINES;
    const body = fold(t("Diff"), () => diffBlock(diff, { names: files.length > 1 }), { open });
    return this.review(reviewId, head, rows, body, files.length);
  }

  /** What became of a proposal, in its card. False where there is none. */
  resolved({ reviewId, outcome, reason, diff }: EventOf<"edit.resolved">): boolean {
    const review = this.reviews.get(reviewId);
    if (review === undefined) {
      return false;
    }
    decided(review, outcome, reason);
    if (review.diff !== null && diff !== undefined && diff !== "") {
      const kept = fold(t("Diff"), () => diffBlock(diff, { names: review.files > 1 }), { open: false });
      review.diff.replaceWith(kept);
      review.diff = kept;
    } else if (review.diff !== null) {
      review.diff.open = false;
    }
    return true;
  }

  /** What was open when a turn ended, as where the window was closed over it, was not applied. */
  turnEnded(): void {
    for (const review of this.reviews.values()) {
      const ofTheTurn = review.card.querySelector(".files") !== null;
      if (ofTheTurn && !review.card.classList.contains("decided")) {
        decided(review, "failed");
        if (review.diff !== null) {
          review.diff.open = false;
        }
      }
    }
  }

  private review(
    id: string,
    head: string,
    rows: HTMLElement,
    diff: HTMLDetailsElement | null,
    files: number,
  ): HTMLElement {
    const status = el("span", { class: "status" });
    const decide = el("div", { class: "decide" });
    const card = el(
      "section",
      { class: "card editor", attributes: { "aria-label": head } },
      el("div", { class: "head" }, el("span", { class: "title", text: head }), status),
      rows,
      ...(diff === null ? [] : [diff]),
      decide,
    );
    this.reviews.set(id, { card, status, decide, diff, files });
    return card;
  }

  /** Buttons where something waits, none where nothing does any more; questions have no event of their own. */
  update(state: PanelState, flow: HTMLElement): void {
    const waiting = new Map(state.reviews.map((review) => [review.id, review]));
    for (const [id, { label }] of waiting) {
      if (!this.reviews.has(id)) {
        // No turn proposed it, as when a turn's edits are undone.
        flow.append(this.review(id, t("Proposed edit"), el("div", { text: visible(label) }), null, 1));
      }
    }
    for (const [id, { card, decide }] of this.reviews) {
      const review = waiting.get(id);
      if ((review !== undefined) !== decide.hasChildNodes()) {
        decide.replaceChildren(...(review === undefined ? [] : reviewButtons(id)));
        card.classList.toggle("waiting", review !== undefined);
        if (review !== undefined) {
          announce(t("An edit waits for your review: {0}", review.label));
        } else if (card.querySelector(".files") === null) {
          card.remove();
          this.reviews.delete(id);
        }
      }
    }
    const asked = new Map(state.consents.map((question) => [question.call, question]));
    for (const [call, card] of this.consents) {
      if (!asked.has(call)) {
        card.remove();
        this.consents.delete(call);
      }
    }
    for (const question of asked.values()) {
      if (!this.consents.has(question.call)) {
        const card = consentCard(question);
        this.consents.set(question.call, card);
        flow.append(card);
        announce(t("A command waits for your yes or no: {0}", question.command));
      }
    }
  }
}

function decided({ card, status }: Review, outcome: keyof typeof OUTCOMES, reason?: string): void {
  status.textContent = reason === undefined ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}: ${visible(reason)}`;
  card.classList.add("decided", outcome);
}

/** What the person should know of a change stands under its file. */
function fileRow({ uri, added, removed, note }: ChangedFile, shown: string): HTMLElement {
  const name = el("button", {
    class: "link file",
    text: visible(shown),
    title: visible(decoded(uri)),
    attributes: { type: "button" },
    click: () => host.postMessage({ type: "openFile", uri }),
  });
  const plus = el("span", { class: "plus", text: `+${String(added)}` });
  const minus = el("span", { class: "minus", text: `−${String(removed)}` });
  const known = note === undefined ? [] : [el("div", { class: "note", text: visible(note) })];
  return el("li", {}, name, " ", plus, " ", minus, ...known);
}

/** The last names of each path, as many as tell it from the others. */
function shortest(uris: readonly string[]): string[] {
  const paths = uris.map((uri) => uri.split("/"));
  const most = Math.max(...paths.map((path) => path.length));
  const last = (path: readonly string[], count: number): string => path.slice(-count).join("/");
  return paths.map((path) => {
    let count = 1;
    while (count < most && paths.some((other) => other !== path && last(other, count) === last(path, count))) {
      count += 1;
    }
    return decoded(last(path, count));
  });
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri; // a lone % is no escape
  }
}

function reviewButtons(id: string): HTMLElement[] {
  const decide = (decision: ReviewDecision) => (): void => {
    host.postMessage({ type: "review", id, decision });
  };
  return [
    el(
      "div",
      { class: "buttons" },
      button(t("Accept"), decide("accept"), "primary"),
      button(t("Reject"), decide("reject")),
      el("span", { class: "gap" }),
      button(t("Open the diff"), decide("show"), "link"),
    ),
    el(
      "div",
      { class: "buttons more" },
      button(t("Accept the rest of this turn"), decide("acceptTurn"), "link"),
      button(t("Reject with a reason…"), decide("reason"), "link"),
      button(t("Reject and stop"), decide("stop"), "link"),
    ),
  ];
}

function consentCard(question: ConsentQuestion): HTMLElement {
  const { call, command, cwd, sandboxed, network } = question;
  const decide = (decision: ConsentDecision) => (): void => {
    host.postMessage({ type: "consent", call, decision });
  };
  const bounds = [
    sandboxed ? t("shut in a sandbox") : t("not sandboxed"),
    network ? t("can reach the network") : t("cannot reach the network"),
  ];
  const withNetwork = sandboxed && !network ? [button(t("Run with network"), decide("network"), "link")] : [];
  return el(
    "section",
    { class: "card consent waiting", attributes: { "aria-label": t("Run this command?") } },
    el("div", { class: "head" }, el("span", { class: "title", text: t("Run this command?") })),
    scrollable("command", t("Command"), visible(command)),
    el("div", { class: "dim", text: bounds.join(" · ") }),
    el("div", { class: "dim", text: t("in {0}", visible(cwd)) }),
    el("div", { class: "buttons" }, button(t("Run"), decide("run"), "primary"), button(t("Refuse"), decide("refuse"))),
    el(
      "div",
      { class: "buttons more" },
      ...withNetwork,
      button(t("Always in this session"), decide("always"), "link"),
      button(t("Refuse with a reason…"), decide("reason"), "link"),
      button(t("Refuse and stop"), decide("stop"), "link"),
    ),
  );
}
