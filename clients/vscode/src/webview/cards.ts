/** Proposals and questions as cards in the flow, with buttons as long as they wait. */

import type { PanelState } from "../panel/messages";
import { visible } from "../text/visible";
import type { ConsentQuestion, EventOf } from "../wire";
import { diffBlock } from "./diff";
import { button, el, fold } from "./dom";
import { host } from "./host";

const FOLD_OVER_LINES = 40;

export class Cards {
  private readonly reviews = new Map<string, HTMLElement>();
  private readonly consents = new Map<string, HTMLElement>();

  clear(): void {
    this.reviews.clear();
    this.consents.clear();
  }

  proposal(event: EventOf<"edit.proposed">, nameOf: (uri: string) => string): HTMLElement {
    const files = event.files.map((file) =>
      el(
        "button",
        {
          class: "link file",
          attributes: { type: "button" },
          click: () => {
            open(file.uri);
          },
        },
        el("span", { text: visible(nameOf(file.uri)) }),
        el("span", { class: "plus", text: ` +${String(file.added)}` }),
        el("span", { class: "minus", text: ` −${String(file.removed)}` }),
      ),
    );
    const buttons = el("div", { class: "buttons" });
    this.reviews.set(event.reviewId, buttons);
    const short = event.diff.split("\n").length <= FOLD_OVER_LINES;
    return el(
      "section",
      { class: "card editor", attributes: { "aria-label": "Proposed edit" } },
      el("div", { class: "head" }, "proposes an edit of ", ...files),
      fold("Diff", diffBlock(event.diff), { open: short }),
      buttons,
    );
  }

  /** Buttons where something waits, none where nothing does any more; questions have no event of their own. */
  update(state: PanelState, flow: HTMLElement): void {
    const waiting = new Set(state.reviews.map(({ id }) => id));
    for (const [id, place] of this.reviews) {
      if (waiting.has(id) !== place.hasChildNodes()) {
        place.replaceChildren(...(waiting.has(id) ? reviewButtons(id) : []));
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
      }
    }
  }
}

function open(uri: string): void {
  host.postMessage({ type: "openFile", uri });
}

function reviewButtons(id: string): HTMLElement[] {
  const decide = (decision: "accept" | "acceptTurn" | "reject" | "reason" | "show") => (): void => {
    host.postMessage({ type: "review", id, decision });
  };
  return [
    button("Accept", decide("accept"), "primary"),
    button("Reject", decide("reject")),
    button("Reject with a reason…", decide("reason")),
    button("Open the diff", decide("show")),
    button("Accept the rest of this turn", decide("acceptTurn")),
  ];
}

function consentCard({ call, command, cwd, sandboxed, network }: ConsentQuestion): HTMLElement {
  const decide = (decision: "run" | "always" | "refuse" | "reason") => (): void => {
    host.postMessage({ type: "consent", call, decision });
  };
  const bounds = [
    `in ${visible(cwd)}`,
    sandboxed ? "sandboxed" : "not sandboxed",
    network ? "can reach the network" : "cannot reach the network",
  ];
  return el(
    "section",
    { class: "card consent", attributes: { "aria-label": "Run a command?" } },
    el("div", { class: "head", text: "Run this command?" }),
    el("pre", { class: "command", text: visible(command), attributes: { tabindex: "0" } }),
    el("div", { class: "dim", text: bounds.join(" · ") }),
    el(
      "div",
      { class: "buttons" },
      button("Run", decide("run"), "primary"),
      button("Always in this session", decide("always")),
      button("Refuse", decide("refuse")),
      button("Refuse with a reason…", decide("reason")),
    ),
  );
}
