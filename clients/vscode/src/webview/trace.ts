/** The flow of a conversation: events become rows, the model's words stream, and the end stays in sight. */

import type { PanelState } from "../panel/messages";
import type { EventOf, TraceEvent } from "../wire";
import { Cards } from "./cards";
import { el, fold } from "./dom";
import { rendered } from "./markdown";
import { callRow, row, rowOf, seconds } from "./rows";

interface Stream {
  channel: "content" | "thinking";
  text: string;
  element: HTMLElement;
  body: HTMLElement;
}

export class Trace {
  readonly element = el("div", {
    class: "trace",
    attributes: { role: "log", "aria-label": "Conversation", "aria-live": "polite", tabindex: "0" },
  });
  private readonly cards = new Cards();
  private stream: Stream | null = null;
  private lastError: string | null = null;
  private state: PanelState | null = null;

  reset(events: readonly TraceEvent[]): void {
    this.element.replaceChildren();
    this.cards.clear();
    this.stream = null;
    this.lastError = null;
    this.add(events);
  }

  add(events: readonly TraceEvent[]): void {
    const follow = this.atEnd();
    const rows = document.createDocumentFragment();
    for (const event of events) {
      this.draw(event, rows);
    }
    this.element.append(rows);
    if (this.state !== null) {
      this.cards.update(this.state, this.element); // a proposal may wait before its event is drawn
    }
    if (follow) {
      this.element.scrollTop = this.element.scrollHeight;
    }
  }

  update(state: PanelState): void {
    this.state = state;
    const follow = this.atEnd();
    this.cards.update(state, this.element);
    if (follow) {
      this.element.scrollTop = this.element.scrollHeight;
    }
  }

  /** Something that is no event. What the turn's end already said is not said again. */
  problem(text: string): void {
    if (text !== this.lastError) {
      this.element.append(row("harness", "error", el("div", { class: "problem", text })));
      this.element.scrollTop = this.element.scrollHeight;
    }
  }

  private atEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < 40;
  }

  private draw(event: TraceEvent, rows: DocumentFragment): void {
    switch (event.kind) {
      case "model.delta":
        this.streamed(event, rows);
        return;
      case "model.replied":
        this.replied(event, rows);
        return;
      case "edit.proposed":
        rows.append(this.cards.proposal(event, fileName));
        return;
      case "turn.ended":
        this.stream = null;
        this.lastError = event.error ?? null;
        break;
      default:
        break;
    }
    const drawn = rowOf(event);
    if (drawn !== null) {
      rows.append(drawn);
    }
  }

  private streamed({ channel, text }: EventOf<"model.delta">, rows: DocumentFragment): void {
    if (this.stream?.channel !== channel) {
      this.stream = stream(channel);
      rows.append(this.stream.element);
    }
    this.stream.text += text;
    this.stream.body.append(text);
  }

  /** The reply as a whole is the truth; what streamed gives way to it. */
  private replied(event: EventOf<"model.replied">, rows: DocumentFragment): void {
    this.element.querySelectorAll(".streaming").forEach((old) => {
      old.remove();
    });
    rows.querySelectorAll(".streaming").forEach((old) => {
      old.remove();
    });
    this.stream = null;
    if (event.thinking !== undefined && event.thinking.trim() !== "") {
      rows.append(row("model", "thinking", thinking(el("div", { class: "text", text: event.thinking }))));
    }
    if (event.content.trim() !== "") {
      rows.append(row("model", "answer", rendered(event.content), el("div", { class: "dim", text: footnote(event) })));
    }
    rows.append(...event.toolCalls.map(callRow));
  }
}

function stream(channel: Stream["channel"]): Stream {
  const body = el("div", { class: "text" });
  const element = row("model", `streaming ${channel}`, channel === "thinking" ? thinking(body) : body);
  return { channel, text: "", element, body };
}

function thinking(body: HTMLElement): HTMLElement {
  return fold("Thinking", body, { open: false }, "thoughts");
}

function footnote({ usage, latency, finishReason }: EventOf<"model.replied">): string {
  const parts = [
    ...(usage.completionTokens === undefined ? [] : [`${String(usage.completionTokens)} tokens`]),
    seconds(latency.totalSeconds),
    ...(finishReason === "length" ? ["cut: the reply was too long"] : []),
  ];
  return parts.join(" · ");
}

function fileName(uri: string): string {
  return decodeURIComponent(uri.split("/").at(-1) ?? uri);
}
