/** What the panel's page and the extension tell each other. Types only. */

import type { CompletionItem, ConsentQuestion, ContextReport, QueuedAsk, TraceEvent } from "../wire";

export interface Chip {
  id: number;
  label: string;
}

/** Something to say that is no event of the trace: it stays through a replay, until the next ask. */
export interface Remark {
  kind: "problem" | "note";
  text: string;
}

/** Everything that the page shows beside the events. */
export interface PanelState {
  daemon: "stopped" | "starting" | "running" | "failed";
  running: boolean;
  model: string | null;
  gauge: ContextReport | null;
  queue: QueuedAsk[];
  reviews: { id: string; label: string }[];
  consents: ConsentQuestion[];
  acceptsTurn: boolean;
  chips: Chip[];
  remark: Remark | null;
  /** Turns that a retry took out of the conversation: shown folded. */
  aside: string[];
  /** What this daemon can do with a turn that ended. */
  can: { retry: boolean; undo: boolean };
}

export type ToPage =
  | { type: "reset"; events: readonly TraceEvent[] }
  | { type: "events"; events: readonly TraceEvent[] }
  | { type: "state"; state: PanelState }
  | { type: "prompt"; text: string }
  | { type: "completions"; request: number; items: CompletionItem[] };

/** What a button of the page may start by name. */
export type PageCommand = "chooseModel" | "restart" | "log" | "attach" | "sessions";

export type ReviewDecision = "accept" | "acceptTurn" | "reject" | "reason" | "stop" | "show";
export type ConsentDecision = "run" | "network" | "always" | "refuse" | "reason" | "stop";

export type FromPage =
  | { type: "ready" }
  /** Whether the person is in the prompt, in the middle of a text; said again at each key. */
  | { type: "writing"; is: boolean }
  | { type: "ask"; text: string; steer: boolean }
  | { type: "retry"; turn: string; text?: string; edited: boolean }
  | { type: "undo"; turn: string }
  | { type: "stop" }
  | { type: "review"; id: string; decision: ReviewDecision }
  | { type: "consent"; call: string; decision: ConsentDecision }
  | { type: "unqueue"; id: string }
  | { type: "detach"; id: number }
  | { type: "command"; name: PageCommand }
  | { type: "complete"; request: number; text: string; offset: number }
  | { type: "copy"; text: string }
  | { type: "insert"; text: string }
  | { type: "openText"; text: string; language: string }
  | { type: "openFile"; uri: string };
