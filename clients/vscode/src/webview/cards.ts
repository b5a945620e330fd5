/** Proposals and questions as cards in the flow, with buttons as long as they wait. */

import type { ConsentDecision, PanelState, ReviewDecision } from "../panel/messages";
import { visible } from "../text/visible";
import type { ConsentQuestion, EventOf } from "../wire";
import { announce } from "./announce";
import { diffBlock } from "./diff";
import { button, el, fold, scrollable } from "./dom";
import { host } from "./host";
import { t } from "./words";

const FOLD_OVER_LINES = 40;

export class Cards {
  private readonly reviews = new Map<string, HTMLElement>();
  private readonly consents = new Map<string, HTMLElement>();

  clear(): void {
    this.reviews.clear();
    this.consents.clear();
  }

  proposal(event: EventOf<"edit.proposed">): HTMLElement {
    const head = event.files.length === 1 ? t("Proposed edit") : t("Proposed edit of {0} files", event.files.length);
    const buttons = el("div", { class: "decide" });
    this.reviews.set(event.reviewId, buttons);
    const short = event.diff.split("\n").length <= FOLD_OVER_LINES;
    return el(
      "section",
      { class: "card editor", attributes: { "aria-label": head } },
      el("div", { class: "head", text: head }),
      el("ul", { class: "files" }, ...event.files.map(fileRow)),
      fold(t("Diff"), diffBlock(event.diff), { open: short }),
      buttons,
    );
  }

  /** Buttons where something waits, none where nothing does any more; questions have no event of their own. */
  update(state: PanelState, flow: HTMLElement): void {
    const waiting = new Map(state.reviews.map((review) => [review.id, review]));
    for (const [id, place] of this.reviews) {
      const review = waiting.get(id);
      if ((review !== undefined) !== place.hasChildNodes()) {
        place.replaceChildren(...(review === undefined ? [] : reviewButtons(id)));
        place.parentElement?.classList.toggle("waiting", review !== undefined);
        if (review !== undefined) {
          announce(t("An edit waits for your review: {0}", review.label));
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

function fileRow({ uri, added, removed }: EventOf<"edit.proposed">["files"][number]): HTMLElement {
  const name = el("button", {
    class: "link file",
    text: visible(fileName(uri)),
    title: visible(decoded(uri)),
    attributes: { type: "button" },
    click: () => host.postMessage({ type: "openFile", uri }),
  });
  const plus = el("span", { class: "plus", text: `+${String(added)}` });
  const minus = el("span", { class: "minus", text: `−${String(removed)}` });
  return el("li", {}, name, " ", plus, " ", minus);
}

function fileName(uri: string): string {
  return decoded(uri.split("/").at(-1) ?? uri);
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
      button(t("Open the diff"), decide("show")),
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
  const withNetwork = sandboxed && !network ? [button(t("Run with network"), decide("network"))] : [];
  return el(
    "section",
    { class: "card consent waiting", attributes: { "aria-label": t("Run this command?") } },
    el("div", { class: "head", text: t("Run this command?") }),
    scrollable("command", t("Command"), visible(command)),
    el("div", { class: "dim", text: bounds.join(" · ") }),
    el("div", { class: "dim", text: t("in {0}", visible(cwd)) }),
    el(
      "div",
      { class: "buttons" },
      button(t("Run"), decide("run"), "primary"),
      ...withNetwork,
      button(t("Refuse"), decide("refuse")),
    ),
    el(
      "div",
      { class: "buttons more" },
      button(t("Always in this session"), decide("always"), "link"),
      button(t("Refuse with a reason…"), decide("reason"), "link"),
      button(t("Refuse and stop"), decide("stop"), "link"),
    ),
  );
}
