/** One turn of the conversation: its rows, and what can be done with it once it has ended. */

import type { PanelState } from "../panel/messages";
import { visible } from "../text/visible";
import { askedTheModel } from "../turns";
import type { EventOf, TraceEvent } from "../wire";
import { button, el, fold } from "./dom";
import { host } from "./host";
import { rendered } from "./markdown";
import { row } from "./rows";
import { Step } from "./step";
import { t } from "./words";

interface Stream {
  channel: "content" | "thinking";
  body: HTMLElement;
}

export class Turn {
  readonly element = el("div", { class: "turn", attributes: { role: "group" } });
  private readonly actions = el("div", { class: "buttons more actions" });
  private readonly steps = new Map<string, Step>();
  private streaming: HTMLElement[] = [];
  private stream: Stream | null = null;
  private text = "";
  private answer = "";
  private edited = false;
  private ended = false;
  /** Whether the model was: what a typed command answered is not asked again. */
  private asked = false;

  constructor(
    readonly id: string,
    private readonly again: (turn: string, text: string, edited: boolean) => void,
  ) {}

  add(node: HTMLElement): void {
    this.element.append(node);
  }

  /** What the turn itself has to know of an event. `far`: it is out of sight, and Markdown can wait until it is not. */
  note(event: TraceEvent, far: boolean): void {
    switch (event.kind) {
      case "turn.started":
        this.text = event.text;
        this.element.setAttribute("aria-label", visible(event.text));
        break;
      case "model.replied":
        this.replied(event, far);
        break;
      case "edit.resolved":
        this.edited ||= event.outcome === "accepted" || event.outcome === "modified";
        break;
      case "turn.ended":
        this.ended = true;
        this.asked = askedTheModel(event);
        this.answer = event.answer;
        this.stream = null;
        break;
      default:
        break;
    }
  }

  /** Whether the event belongs to a call that is shown, and is now in it. */
  tookIn(event: TraceEvent): boolean {
    switch (event.kind) {
      case "harness.decided":
        return this.inStep(event.decision === "allow" || event.decision === "ask" ? event.call : undefined, (step) =>
          step.decided(event),
        );
      case "tool.started":
        return this.inStep(event.call, (step) => step.started());
      case "tool.returned":
        return this.inStep(event.call, (step) => step.returned(event));
      default:
        return false;
    }
  }

  private inStep(call: string | undefined, act: (step: Step) => void): boolean {
    const step = call === undefined ? undefined : this.steps.get(call);
    if (step !== undefined) {
      act(step);
    }
    return step !== undefined;
  }

  streamed({ channel, text }: EventOf<"model.delta">): void {
    if (this.stream?.channel !== channel) {
      const body = el("div", { class: "text" });
      const element = row("model", `streaming ${channel}`, channel === "thinking" ? thinking(() => body) : body);
      this.stream = { channel, body };
      this.streaming.push(element);
      this.add(element);
    }
    this.stream.body.append(text);
  }

  /** Buttons under a turn that has ended, as far as the daemon can. */
  offer({ can, running, aside }: PanelState): void {
    const put = aside.includes(this.id);
    this.element.classList.toggle("aside", put);
    if (!this.ended) {
      return;
    }
    if (this.actions.parentElement === null) {
      this.add(this.actions);
    }
    const again = can.retry && this.asked && !running && !put;
    const all: [boolean, string, string, () => void][] = [
      [
        this.answer !== "",
        t("Copy"),
        t("Copy the answer"),
        () => host.postMessage({ type: "copy", text: this.answer }),
      ],
      [again, t("Ask again"), t("Ask again"), () => this.retry()],
      [again, t("Change…"), t("Change and ask again"), () => this.again(this.id, this.text, this.edited)],
      [
        can.undo && !running && this.edited,
        t("Undo"),
        t("Undo its edits"),
        () => host.postMessage({ type: "undo", turn: this.id }),
      ],
    ];
    const offered = all.filter(([is]) => is);
    const names = offered.map(([, name]) => name).join("\n");
    if (names !== this.actions.dataset["names"]) {
      this.actions.dataset["names"] = names;
      this.actions.replaceChildren(
        ...(put ? [el("span", { class: "dim", text: t("set aside") })] : []),
        ...offered.map(([, name, whole, click]) => titled(button(name, click, "link"), whole)),
      );
    }
  }

  private retry(): void {
    host.postMessage({ type: "retry", turn: this.id, edited: this.edited });
  }

  /** The reply as a whole is the truth; what streamed gives way to it. */
  private replied(event: EventOf<"model.replied">, far: boolean): void {
    this.streaming.forEach((old) => old.remove());
    this.streaming = [];
    this.stream = null;
    if (event.thinking !== undefined && event.thinking.trim() !== "") {
      const { thinking: text } = event;
      this.add(
        row(
          "model",
          "thinking",
          thinking(() => el("div", { class: "text", text })),
        ),
      );
    }
    if (event.content.trim() !== "") {
      const answer = far ? this.renderedInSight(event.content) : rendered(event.content);
      this.add(row("model", "answer", answer, ...cut(event)));
    }
    for (const call of event.toolCalls) {
      const step = new Step(call);
      step.element.classList.add("row");
      this.steps.set(call.id, step);
      this.add(step.element);
    }
  }

  private renderedInSight(content: string): HTMLElement {
    const plain = el("div", { class: "text", text: content });
    const look = (event: Event): void => {
      if (event instanceof ContentVisibilityAutoStateChangeEvent && !event.skipped) {
        this.element.removeEventListener("contentvisibilityautostatechange", look);
        plain.replaceWith(rendered(content));
      }
    };
    this.element.addEventListener("contentvisibilityautostatechange", look);
    return plain;
  }
}

/** A short name that says itself in full to whoever asks. */
function titled(short: HTMLButtonElement, whole: string): HTMLButtonElement {
  short.title = whole;
  short.setAttribute("aria-label", whole);
  return short;
}

function thinking(body: () => HTMLElement): HTMLElement {
  return fold(t("Thinking"), body, { open: false }, "thoughts");
}

function cut({ finishReason }: EventOf<"model.replied">): HTMLElement[] {
  return finishReason === "length" ? [el("div", { class: "note", text: t("cut: the reply was too long") })] : [];
}
