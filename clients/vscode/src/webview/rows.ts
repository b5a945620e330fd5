/** One event as the row that shows it; what streams or needs an answer is elsewhere. */

import { visible } from "../text/visible";
import type { EventOf, ToolCall, TraceEvent } from "../wire";
import { diffBlock } from "./diff";
import { el, fold } from "./dom";

const LONGEST_ARGUMENT = 60;
const FOLD_OVER_LINES = 6;

type Actor = TraceEvent["actor"];

export function row(actor: Actor, kind: string, ...children: (Node | string)[]): HTMLElement {
  const who = el("span", { class: "who", text: actor });
  return el("div", { class: `row ${actor} ${kind}` }, who, el("div", { class: "what" }, ...children));
}

export function seconds(value: number): string {
  if (value < 100) {
    return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  }
  return `${String(Math.floor(value / 60))} min ${String(Math.round(value % 60))} s`;
}

/** Null for events that show elsewhere. */
export function rowOf(event: TraceEvent): HTMLElement | null {
  switch (event.kind) {
    case "turn.started":
      return started(event);
    case "harness.decided":
      return row("harness", event.decision, `${event.decision}: ${visible(event.reason)}`);
    case "tool.returned":
      return returned(event);
    case "edit.resolved":
      return resolved(event);
    case "turn.ended":
      return ended(event);
    case "notice":
      return row("harness", event.level, visible(event.text));
    default:
      return null;
  }
}

function started({ text, files }: EventOf<"turn.started">): HTMLElement {
  const names = files.length > 0 ? [el("div", { class: "dim", text: `with ${visible(files.join(", "))}` })] : [];
  return row("user", "asked", el("div", { class: "text", text }), ...names);
}

export function callRow(call: ToolCall): HTMLElement {
  const parts = Object.entries(call.arguments).map(([name, value]) => `${name}=${short(value)}`);
  return row("model", "call", el("code", { text: visible(`${call.name}(${parts.join(", ")})`) }));
}

function short(value: unknown): string {
  if (typeof value !== "string") {
    return JSON.stringify(value);
  }
  const lines = value.split("\n").length;
  if (lines > 1) {
    return `(${String(lines)} lines)`;
  }
  return JSON.stringify(value.length > LONGEST_ARGUMENT ? `${value.slice(0, LONGEST_ARGUMENT)}…` : value);
}

function returned(event: EventOf<"tool.returned">): HTMLElement {
  const head = [event.name, event.ok ? "ok" : "failed", seconds(event.seconds), ...(event.truncated ? ["cut"] : [])];
  const summary = head.join(" · ");
  const kind = event.ok ? "ok" : "failed";
  if (event.content === "") {
    return row("tool", kind, summary);
  }
  const output = el("pre", { class: "output", text: visible(event.content), attributes: { tabindex: "0" } });
  const open = event.content.split("\n").length <= FOLD_OVER_LINES;
  return row("tool", kind, fold(summary, output, { open }));
}

const OUTCOMES: Record<EventOf<"edit.resolved">["outcome"], string> = {
  accepted: "accepted",
  modified: "accepted with changes",
  rejected: "rejected",
  failed: "not applied",
};

function resolved({ outcome, reason, diff }: EventOf<"edit.resolved">): HTMLElement {
  const head = reason === undefined ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}: ${visible(reason)}`;
  const what = diff === undefined || diff === "" ? head : fold(head, diffBlock(diff), { open: false });
  return row("editor", outcome, what);
}

const ENDS: Record<EventOf<"turn.ended">["stopReason"], string> = {
  answered: "answered",
  step_limit: "stopped: too many steps. Ask again to go on.",
  budget: "stopped: the tokens of a turn are used up. Ask again to go on.",
  cancelled: "cancelled",
  refused: "stopped by you",
  error: "failed",
};

function ended(event: EventOf<"turn.ended">): HTMLElement {
  const { stopReason, steps, usage, error } = event;
  const prompt = usage.promptTokens ?? 0;
  const tokens = prompt > 0 ? [`${String(prompt)} + ${String(usage.completionTokens ?? 0)} tokens`] : [];
  const line = [ENDS[stopReason], `${String(steps)} step${steps === 1 ? "" : "s"}`, seconds(event.seconds), ...tokens];
  const problem = error === undefined ? [] : [el("div", { class: "problem", text: visible(error) })];
  return row("harness", `ended ${stopReason}`, ...problem, el("div", { class: "dim", text: line.join(" · ") }));
}
