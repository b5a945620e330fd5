/** What the panel's page and the extension tell each other. Types only. */

import type { CompletionItem, ConsentQuestion, ContextReport, QueuedAsk, TraceEvent } from "../wire";

export interface Chip {
  id: number;
  label: string;
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
}

export type ToPage =
  | { type: "reset"; events: readonly TraceEvent[] }
  | { type: "events"; events: readonly TraceEvent[] }
  | { type: "state"; state: PanelState }
  | { type: "problem"; text: string }
  | { type: "prompt"; text: string }
  | { type: "completions"; request: number; items: CompletionItem[] };

/** What a button of the page may start by name. */
export type PageCommand = "chooseModel" | "restart" | "log";

export type FromPage =
  | { type: "ready" }
  | { type: "ask"; text: string; steer: boolean }
  | { type: "stop" }
  | { type: "review"; id: string; decision: "accept" | "acceptTurn" | "reject" | "reason" | "show" }
  | { type: "consent"; call: string; decision: "run" | "always" | "refuse" | "reason" }
  | { type: "unqueue"; id: string }
  | { type: "detach"; id: number }
  | { type: "command"; name: PageCommand }
  | { type: "complete"; request: number; text: string; offset: number }
  | { type: "copy"; text: string }
  | { type: "insert"; text: string }
  | { type: "openText"; text: string; language: string }
  | { type: "openFile"; uri: string };
