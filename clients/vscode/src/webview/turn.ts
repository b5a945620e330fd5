/** One turn of the conversation: its rows, and what can be done with it once it has ended. */

import type { PanelState } from "../panel/messages";
import { visible } from "../text/visible";
import type { EventOf, TraceEvent } from "../wire";
import { button, el, fold, seconds } from "./dom";
import { host } from "./host";
import { rendered } from "./markdown";
import { callRow, row } from "./rows";
import { t } from "./words";

interface Stream {
  channel: "content" | "thinking";
  body: HTMLElement;
}

export class Turn {
  readonly element = el("div", { class: "turn", attributes: { role: "group" } });
  private readonly actions = el("div", { class: "buttons more actions" });
  private streaming: HTMLElement[] = [];
  private stream: Stream | null = null;
  private text = "";
  private answer = "";
  private edited = false;
  private ended = false;

  constructor(
    readonly id: string,
    private readonly again: (turn: string, text: string, edited: boolean) => void,
  ) {}

  add(node: HTMLElement): void {
    this.element.append(node);
  }

  /** What the turn itself has to know of an event. */
  note(event: TraceEvent): void {
    switch (event.kind) {
      case "turn.started":
        this.text = event.text;
        this.element.setAttribute("aria-label", visible(event.text));
        break;
      case "model.replied":
        this.replied(event);
        break;
      case "edit.resolved":
        this.edited ||= event.outcome === "accepted" || event.outcome === "modified";
        break;
      case "turn.ended":
        this.ended = true;
        this.answer = event.answer;
        this.stream = null;
        break;
      default:
        break;
    }
  }

  streamed({ channel, text }: EventOf<"model.delta">): void {
    if (this.stream?.channel !== channel) {
      const body = el("div", { class: "text" });
      const element = row("model", `streaming ${channel}`, channel === "thinking" ? thinking(body) : body);
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
    const all: [boolean, string, () => void][] = [
      [this.answer !== "", t("Copy the answer"), () => host.postMessage({ type: "copy", text: this.answer })],
      [can.retry && !running && !put, t("Ask again"), () => this.retry()],
      [can.retry && !running && !put, t("Change and ask again"), () => this.again(this.id, this.text, this.edited)],
      [
        can.undo && !running && this.edited,
        t("Undo its edits"),
        () => host.postMessage({ type: "undo", turn: this.id }),
      ],
    ];
    const names = all.filter(([offered]) => offered).map(([, name]) => name);
    if (names.join("\n") !== this.actions.dataset["names"]) {
      this.actions.dataset["names"] = names.join("\n");
      this.actions.replaceChildren(
        ...(put ? [el("span", { class: "dim", text: t("set aside") })] : []),
        ...all.filter(([offered]) => offered).map(([, name, click]) => button(name, click, "link")),
      );
    }
  }

  private retry(): void {
    host.postMessage({ type: "retry", turn: this.id, edited: this.edited });
  }

  /** The reply as a whole is the truth; what streamed gives way to it. */
  private replied(event: EventOf<"model.replied">): void {
    this.streaming.forEach((old) => old.remove());
    this.streaming = [];
    this.stream = null;
    if (event.thinking !== undefined && event.thinking.trim() !== "") {
      this.add(row("model", "thinking", thinking(el("div", { class: "text", text: event.thinking }))));
    }
    if (event.content.trim() !== "") {
      this.add(row("model", "answer", rendered(event.content), el("div", { class: "dim", text: footnote(event) })));
    }
    event.toolCalls.forEach((call) => this.add(callRow(call)));
  }
}

function thinking(body: HTMLElement): HTMLElement {
  return fold(t("Thinking"), body, { open: false }, "thoughts");
}

function footnote({ usage, latency, finishReason }: EventOf<"model.replied">): string {
  const parts = [
    ...(usage.completionTokens === undefined ? [] : [t("{0} tokens", usage.completionTokens)]),
    seconds(latency.totalSeconds),
    ...(finishReason === "length" ? [t("cut: the reply was too long")] : []),
  ];
  return parts.join(" · ");
}
