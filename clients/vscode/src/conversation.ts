/** The conversation that the panel shows: its events in order, kept short, and whether a turn runs. */

import * as vscode from "vscode";

import type { Remark } from "./panel/messages";
import type { ContextReport, QueuedAsk, TraceEvent } from "./wire";

const MOST_EVENTS = 5000;
const BATCH_MS = 33;

export class Conversation implements vscode.Disposable {
  private events: TraceEvent[] = [];
  private batch: TraceEvent[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly arrived = new vscode.EventEmitter<TraceEvent[]>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly ended = new vscode.EventEmitter<void>();
  private readonly restarted = new vscode.EventEmitter<void>();

  /** New events, some together: what the panel can draw in one frame. */
  readonly onDidArrive = this.arrived.event;
  /** Something of the state beside the events. */
  readonly onDidChange = this.changed.event;
  readonly onDidEndTurn = this.ended.event;
  /** Everything shown so far is to go. */
  readonly onDidRestart = this.restarted.event;

  session: string | undefined;
  running: string | undefined;
  model: string | undefined;
  gauge: ContextReport | undefined;
  queue: QueuedAsk[] = [];
  remark: Remark | null = null;
  aside: string[] = [];
  private retried: string | undefined;

  add(event: TraceEvent): void {
    this.session = event.session;
    this.note(event);
    this.keep(event);
    this.batch.push(event);
    this.timer ??= setTimeout(() => {
      this.flush();
    }, BATCH_MS);
  }

  setQueue(queue: QueuedAsk[]): void {
    this.queue = queue;
    this.changed.fire();
  }

  setRemark(remark: Remark | null): void {
    this.remark = remark;
    this.changed.fire();
  }

  /** The next turn takes the place of this one, and of those after it. */
  willRetry(turn: string): void {
    this.retried = turn;
  }

  setModel(model: string): void {
    this.model = model;
    this.changed.fire();
  }

  /** Another conversation, with what is stored of it. */
  reset(session: string | undefined, events: readonly TraceEvent[] = [], aside: readonly string[] = []): void {
    this.flush();
    this.events = [];
    this.session = session;
    this.running = undefined;
    this.gauge = undefined;
    this.queue = [];
    this.remark = null;
    this.aside = [...aside];
    this.retried = undefined;
    for (const event of events) {
      this.note(event);
      this.keep(event);
    }
    this.running = undefined;
    this.restarted.fire();
    this.changed.fire();
  }

  /** The daemon is gone: whatever ran ended with it. */
  stopped(): void {
    this.running = undefined;
    this.queue = [];
    this.changed.fire();
  }

  all(): readonly TraceEvent[] {
    return this.events;
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(this.arrived, this.changed, this.ended, this.restarted).dispose();
  }

  private note(event: TraceEvent): void {
    switch (event.kind) {
      case "turn.started":
        this.running = event.turn;
        this.model = event.model;
        this.remark = null;
        this.putAside(event.turn);
        break;
      case "context.gauge":
        this.gauge = event;
        break;
      case "turn.ended":
        this.running = undefined;
        this.ended.fire();
        break;
      default:
        return;
    }
    this.changed.fire();
  }

  private putAside(next: string): void {
    if (this.retried !== undefined) {
      const turns = [...new Set(this.events.map(({ turn }) => turn))];
      const from = turns.indexOf(this.retried);
      const out = from < 0 ? [] : turns.slice(from).filter((turn) => turn !== next);
      this.aside = [...new Set([...this.aside, ...out])];
      this.retried = undefined;
    }
  }

  /** The pieces of a reply go once the whole is there. */
  private keep(event: TraceEvent): void {
    if (event.kind === "model.replied") {
      this.events = this.events.filter((other) => other.kind !== "model.delta");
    }
    this.events.push(event);
    if (this.events.length > MOST_EVENTS) {
      this.events = this.events.slice(-MOST_EVENTS);
    }
  }

  /** Hand on what has gathered. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.batch.length > 0) {
      const batch = this.batch;
      this.batch = [];
      this.arrived.fire(batch);
    }
  }
}
