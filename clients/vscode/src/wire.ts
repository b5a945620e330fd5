/** The wire as types: a mirror of `server/llamagent_server/lsp/wire.py`, kept in step by tests/vscode/test_drift.py. */

export const PROTOCOL_VERSION = 1;
export const PREFIX = "llamagent.";

export const TRACE = "llamagent/trace";
export const QUEUED = "llamagent/queued";
export const REVIEW_CLOSED = "llamagent/reviewClosed";
export const CONSENT = "llamagent/consent";
export const SAVE = "llamagent/save";
export const DIAGNOSTICS = "llamagent/diagnostics";
export const INPUT = "llamagent/input";

/** What this client can do beyond LSP: `capabilities.experimental.llamagent`. */
export const FLAGS = { review: true, trace: true, save: true, consent: true, diagnostics: true, prompt: true };

/** The schemes of the documents that the daemon is told of; of any other it knows only what is sent along. */
export const FOLLOWED: readonly string[] = ["file", "untitled"];

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface ContextItem {
  uri?: string;
  text?: string;
  languageId?: string;
  range?: Range;
  diagnostics?: object[];
}

export interface Ask {
  text: string;
  session?: string;
  context?: ContextItem[];
  mode?: "agent" | "read";
  detach?: boolean;
  steer?: boolean;
}

export interface SessionArguments {
  session?: string;
}

export interface LoadSkill {
  name: string;
  session?: string;
}

export interface Retry {
  session?: string;
  turn?: string;
  text?: string;
  undo?: boolean;
}

export interface PullModel {
  name: string;
}

export interface SetModel {
  value: string;
}

export interface SetTemperature {
  value: number;
}

export interface SetNumCtx {
  value: number;
}

export interface Allow {
  prefix?: string;
  revoke?: boolean;
}

export interface Resume {
  ref?: number | string;
}

export interface StoredSession {
  ref: number | string;
}

export interface TraceSince {
  session?: string;
  since?: number;
}

export interface TurnArguments {
  session?: string;
  turn?: string;
}

export interface Export {
  session?: string;
  format?: "markdown" | "json";
}

export interface Trust {
  folder: string;
  trusted: boolean;
}

export interface Complete {
  text: string;
  offset: number;
}

export interface Unqueue {
  id: string;
}

/** The person is asked for the text (`llamagent/input`). */
export interface AskAbout {
  context?: ContextItem[];
}

export type NoArguments = Record<string, never>;

// --- Results ---------------------------------------------------------------------------------------------------------

/** Of a whole turn. */
export interface TurnUsage {
  promptTokens?: number;
  completionTokens?: number;
  requests?: number;
  seconds?: number;
  cachedPromptTokens?: number;
}

/** Of one request to the model. */
export interface Usage {
  promptTokens?: number;
  completionTokens?: number;
  cachedPromptTokens?: number;
  seconds?: number;
}

export interface Latency {
  firstTokenSeconds?: number;
  totalSeconds: number;
}

export type StopReason = "answered" | "step_limit" | "budget" | "cancelled" | "refused" | "error";

export interface TurnResult {
  answer: string;
  session: string;
  turn: string;
  stopReason: StopReason;
  steps: number;
  usage: TurnUsage;
}

export interface Part {
  name: string;
  tokens: number;
}

export interface ContextReport {
  tokens: number;
  numCtx: number;
  estimated: boolean;
  parts: Part[];
  measured?: number;
}

export interface ContextGauge {
  tokens: number;
  numCtx: number;
  estimated: boolean;
  parts: Part[];
}

export interface ModelRow {
  name: string;
  current: boolean;
  size?: number;
  capabilities?: string[];
  contextLength?: number;
}

export interface SessionRow {
  id: string;
  title: string;
  updated: string;
  model: string;
  messages: number;
  current: boolean;
  damaged?: boolean;
}

export interface SessionRef {
  session: string;
  title: string;
  messages: number;
}

export interface SettingInfo {
  key: string;
  value: unknown;
  source: string;
  workspaceMaySet: boolean;
}

export interface Changed {
  value: unknown;
  previous: unknown;
  note?: string;
}

export interface CompletionItem {
  label: string;
  insertText: string;
  start: number;
  end: number;
  detail?: string;
  kind?: string;
}

/** The commands by their names without PREFIX: what each takes and answers. */
export interface CommandTable {
  ask: { arguments: Ask; result: TurnResult };
  cancel: { arguments: SessionArguments; result: { cancelled: boolean } };
  compact: { arguments: SessionArguments; result: { summary: string; tokensBefore: number; tokensAfter: number } };
  load_skill: { arguments: LoadSkill; result: { name: string; description: string; tokens: number } };
  skills: { arguments: NoArguments; result: { skills: { name: string; description: string; source: string }[] } };
  new: { arguments: NoArguments; result: { session: string } };
  clear: { arguments: NoArguments; result: { session: string } };
  retry: { arguments: Retry; result: TurnResult };
  context: { arguments: SessionArguments; result: ContextReport };
  config: { arguments: NoArguments; result: { settings: SettingInfo[]; problems: string[] } };
  init: { arguments: NoArguments; result: { created: string[]; skipped: string[] } };
  models: {
    arguments: NoArguments;
    result: { models: ModelRow[]; proposed?: { name: string; size: number; present: boolean } };
  };
  pull_model: { arguments: PullModel; result: { name: string } };
  set_model: { arguments: SetModel; result: Changed };
  set_temperature: { arguments: SetTemperature; result: Changed };
  set_num_ctx: { arguments: SetNumCtx; result: Changed };
  allow: { arguments: Allow; result: { allowed: string[] } };
  sessions: { arguments: NoArguments; result: { sessions: SessionRow[] } };
  resume: { arguments: Resume; result: SessionRef };
  delete_session: { arguments: StoredSession; result: SessionRef };
  trace: { arguments: TraceSince; result: { events: TraceEvent[]; aside?: string[] } };
  undo_turn: { arguments: TurnArguments; result: { proposed: string[]; outcome: string; reason?: string } };
  export: { arguments: Export; result: { text: string } };
  trust: { arguments: Trust; result: { folder: string; trusted: boolean } };
  complete: { arguments: Complete; result: { items: CompletionItem[] } };
  help: {
    arguments: NoArguments;
    result: { commands: { name: string; title: string; help: string; slash: string }[] };
  };
  unqueue: { arguments: Unqueue; result: { cancelled: boolean } };
  ask_about: { arguments: AskAbout; result: { session: string; turn: string } };
}

export type CommandName = keyof CommandTable;

// --- Our own messages ------------------------------------------------------------------------------------------------

export interface QueuedAsk {
  id: string;
  text: string;
}

export interface Queued {
  session: string;
  queue: QueuedAsk[];
}

export interface ReviewClosed {
  reviewId: string;
}

export interface ConsentQuestion {
  call: string;
  command: string;
  cwd: string;
  sandboxed: boolean;
  network: boolean;
}

export interface ConsentReply {
  decision: "run" | "always" | "refuse";
  reason?: string;
  stop?: boolean;
  network?: boolean;
}

export interface Uris {
  uris: string[];
}

export interface SaveReply {
  saved: string[];
}

export interface DiagnosticsReply {
  diagnostics: Record<string, object[]>;
}

export interface InputQuestion {
  title: string;
  text: string;
}

export interface InputReply {
  text?: string;
}

// --- Trace -----------------------------------------------------------------------------------------------------------

export interface Envelope {
  session: string;
  turn: string;
  seq: number;
  step: number;
  time: string;
  actor: "user" | "model" | "harness" | "tool" | "editor";
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export interface ChangedFile {
  uri: string;
  added: number;
  removed: number;
  note?: string;
}

/** What an event of each kind carries beside its envelope. */
export interface EventTable {
  "turn.started": { text: string; model: string; files: string[] };
  "turn.steered": { text: string; files: string[] };
  "model.requested": { requestId: string; model: string; promptTokensEstimate: number; attempt: number };
  "model.delta": { channel: "content" | "thinking"; text: string };
  "model.replied": {
    requestId: string;
    model: string;
    content: string;
    thinking?: string;
    toolCalls: ToolCall[];
    usage: Usage;
    latency: Latency;
    finishReason: string;
  };
  "harness.decided": { call?: string; decision: string; reason: string; form?: "repaired" | "malformed" };
  "tool.started": { call: string; name: string };
  "tool.returned": { call: string; name: string; ok: boolean; content: string; truncated: boolean; seconds: number };
  "edit.proposed": { call: string; calls: string[]; reviewId: string; files: ChangedFile[]; diff: string };
  "edit.resolved": {
    call: string;
    calls: string[];
    reviewId: string;
    outcome: "accepted" | "modified" | "rejected" | "failed";
    reason?: string;
    diff?: string;
  };
  "context.gauge": ContextGauge;
  "turn.ended": {
    stopReason: StopReason;
    answer: string;
    steps: number;
    usage: TurnUsage;
    seconds: number;
    error?: string;
  };
  notice: { level: "info" | "warning" | "error"; text: string };
}

export type EventKind = keyof EventTable;
export type EventOf<K extends EventKind> = Envelope & EventTable[K] & { kind: K };
export type TraceEvent = { [K in EventKind]: EventOf<K> }[EventKind];
