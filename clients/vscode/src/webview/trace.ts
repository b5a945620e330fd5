/** The flow of a conversation: its turns, what streams, and what goes on. */

import type { PanelState, Remark } from "../panel/messages";
import type { TraceEvent } from "../wire";
import { announce, live } from "./announce";
import { Cards } from "./cards";
import { el, number } from "./dom";
import { End } from "./end";
import { hello } from "./hello";
import { ENDS, row, rowOf } from "./rows";
import { Turn } from "./turn";
import { t } from "./words";

/** Of so many events at once the last turns are drawn as a whole, the others as they come into sight. */
const MANY = 100;
const LAST_TURNS = 5;

export class Trace {
  private readonly hello = hello();
  private readonly flow = el("div");
  private readonly activity = el("div", { class: "activity", attributes: { "aria-hidden": "true", hidden: "" } });
  private readonly remark = el("div");
  readonly element = el(
    "div",
    { class: "trace", attributes: { role: "log", "aria-label": t("Conversation"), "aria-live": "off", tabindex: "0" } },
    this.hello,
    this.flow,
    this.activity,
    this.remark,
  );
  private readonly cards = new Cards();
  private turns = new Map<string, Turn>();
  private lastError: string | null = null;
  private shown: Remark | null = null;
  private state: PanelState | null = null;
  readonly end = new End(this.element, this.flow);

  constructor(private readonly again: (turn: string, text: string, edited: boolean) => void) {}

  reset(events: readonly TraceEvent[]): void {
    this.flow.replaceChildren();
    live.replaceChildren();
    this.cards.clear();
    this.turns = new Map();
    this.lastError = null;
    this.shown = null;
    this.remark.replaceChildren();
    this.goesOn("");
    this.draw(events);
    this.end.go();
  }

  add(events: readonly TraceEvent[]): void {
    this.end.during(() => {
      this.draw(events);
      tell(events);
    });
  }

  update(state: PanelState): void {
    this.state = state;
    this.end.during(() => {
      this.settle(state);
    }, waitsIn(state));
  }

  private draw(events: readonly TraceEvent[]): void {
    const whole = lastReplies(events);
    const near = events.length > MANY && !readAloud() ? lastTurns(events) : null;
    for (const event of events) {
      // The pieces of a reply that is already there as a whole are not drawn.
      if (event.kind !== "model.delta" || event.seq > (whole.get(event.turn) ?? -1)) {
        this.drawOne(event, near?.has(event.turn) === false);
      }
    }
    this.goesOn(events.reduce((words, event) => activityOf(event) ?? words, this.activity.textContent));
    this.hello.hidden = this.turns.size > 0;
    if (this.state !== null) {
      this.settle(this.state); // a proposal may wait before its event is drawn
    }
  }

  private settle(state: PanelState): void {
    this.cards.update(state, [...this.turns.values()].at(-1)?.element ?? this.flow);
    this.turns.forEach((turn) => turn.offer(state));
    if (!state.running) {
      this.goesOn("");
    } else if (waitsIn(state)) {
      this.goesOn(t("Waits for you"));
    }
    this.say(state.remark);
  }

  /** What the turn's end already said is not said again. */
  private say(remark: Remark | null): void {
    if (remark === this.shown || (remark?.kind === this.shown?.kind && remark?.text === this.shown?.text)) {
      return;
    }
    this.shown = remark;
    if (remark === null || remark.text === this.lastError) {
      this.remark.replaceChildren();
    } else if (remark.kind === "problem") {
      this.remark.replaceChildren(row("harness", "error", el("div", { class: "problem", text: remark.text })));
      announce(remark.text);
    } else {
      this.remark.replaceChildren(row("harness", "info", remark.text));
    }
  }

  private drawOne(event: TraceEvent, far: boolean): void {
    const turn = this.turnOf(event);
    turn.note(event, far);
    if (event.kind === "model.delta") {
      turn.streamed(event);
      return;
    }
    if (event.kind === "turn.ended") {
      this.lastError = event.error ?? null;
      this.cards.turnEnded();
    }
    if (turn.tookIn(event) || (event.kind === "edit.resolved" && this.cards.resolved(event))) {
      return;
    }
    const drawn = event.kind === "edit.proposed" ? this.cards.proposal(event) : rowOf(event);
    if (drawn !== null) {
      turn.add(drawn);
    }
  }

  private turnOf({ turn: id }: TraceEvent): Turn {
    const known = this.turns.get(id);
    if (known !== undefined) {
      return known;
    }
    const turn = new Turn(id, this.again);
    this.turns.set(id, turn);
    this.flow.append(turn.element);
    return turn;
  }

  private goesOn(words: string): void {
    if (this.activity.textContent !== words) {
      this.activity.textContent = words;
      this.activity.hidden = words === "";
    }
  }
}

/** VS Code says so. A screen reader gets nothing of what is not laid out, so then all of it is. */
function readAloud(): boolean {
  return document.body.classList.contains("vscode-using-screen-reader");
}

function waitsIn({ reviews, consents }: PanelState): boolean {
  return reviews.length > 0 || consents.length > 0;
}

function lastTurns(events: readonly TraceEvent[]): ReadonlySet<string> {
  return new Set([...new Set(events.map(({ turn }) => turn))].slice(-LAST_TURNS));
}

function lastReplies(events: readonly TraceEvent[]): Map<string, number> {
  const replies = events.filter(({ kind }) => kind === "model.replied");
  return new Map(replies.map(({ turn, seq }) => [turn, seq]));
}

/** What goes on after an event; null where nothing else does than before. */
function activityOf(event: TraceEvent): string | null {
  switch (event.kind) {
    case "turn.started":
      return t("Begins");
    case "model.requested":
      return t("The model reads ≈ {0} tokens", number(event.promptTokensEstimate));
    case "model.delta":
      return event.channel === "thinking" ? t("The model thinks") : t("The model writes");
    case "tool.started":
      return t("{0} runs", event.name);
    case "turn.ended":
      return "";
    default:
      return null;
  }
}

/** The answer as a whole, and how a turn ended. */
function tell(events: readonly TraceEvent[]): void {
  for (const event of events) {
    if (event.kind === "turn.ended") {
      [event.answer, event.error ?? ENDS[event.stopReason]].filter((part) => part !== "").forEach(announce);
    } else if (event.kind === "notice" && event.level !== "info") {
      announce(event.text);
    }
  }
}
