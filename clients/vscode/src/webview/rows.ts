/** One event as the row that shows it; calls, what streams and what needs an answer are elsewhere. */

import { visible } from "../text/visible";
import type { EventOf, TraceEvent } from "../wire";
import { el, fold, number, scrollable, seconds } from "./dom";
import { t } from "./words";

const FOLD_OVER_LINES = 6;

type Actor = TraceEvent["actor"];

const ACTORS: Record<Actor, string> = {
  user: t("you"),
  model: t("model"),
  harness: t("harness"),
  tool: t("tool"),
  editor: t("editor"),
};

/** A part with who it is from before it; a row is one that stands in the flow by itself. */
export function labelled(actor: Actor, kind: string, ...children: (Node | string)[]): HTMLElement {
  const who = el("span", { class: "who", text: ACTORS[actor] });
  return el("div", { class: `from ${actor} ${kind}` }, who, el("div", { class: "what" }, ...children));
}

export function row(actor: Actor, kind: string, ...children: (Node | string)[]): HTMLElement {
  const made = labelled(actor, kind, ...children);
  made.classList.add("row");
  return made;
}

/** Null for events that show elsewhere, and for kinds that a newer daemon may have. */
export function rowOf(event: TraceEvent): HTMLElement | null {
  switch (event.kind) {
    case "turn.started":
    case "turn.steered":
      return said(event);
    case "harness.decided":
      return decided(event);
    case "tool.returned":
      return returned(event);
    case "turn.ended":
      return ended(event);
    case "notice":
      return row("harness", event.level, el("div", { class: "text", text: visible(event.text) }));
    default:
      return null;
  }
}

function said({ text, files }: EventOf<"turn.started" | "turn.steered">): HTMLElement {
  const names = files.length > 0 ? [el("div", { class: "dim", text: t("with {0}", visible(files.join(", "))) })] : [];
  return row("user", "asked", el("div", { class: "text", text }), ...names);
}

export const DECISIONS: Record<string, string> = {
  allow: t("allowed"),
  ask: t("asks you"),
  refuse: t("refused"),
  repair: t("repaired"),
  nudge: t("reminded the model"),
  stop: t("stopped"),
  compact: t("summed up"),
};

/** What is simply allowed is said in a low voice. */
function decided({ decision, reason }: EventOf<"harness.decided">): HTMLElement {
  const quiet = decision === "allow" || decision === "ask" ? "quiet" : "";
  return row("harness", `${decision} ${quiet}`, `${DECISIONS[decision] ?? decision}: ${visible(reason)}`);
}

function returned(event: EventOf<"tool.returned">): HTMLElement {
  const head = [
    event.name,
    event.ok ? t("done") : t("failed"),
    seconds(event.seconds),
    ...(event.truncated ? [t("shortened")] : []),
  ];
  const summary = visible(head.join(" · "));
  const kind = event.ok ? "ok" : "failed";
  if (event.content === "") {
    return row("tool", kind, summary);
  }
  const output = (): HTMLElement => scrollable("output", t("Output of {0}", event.name), visible(event.content));
  const open = event.content.split("\n").length <= FOLD_OVER_LINES;
  return row("tool", kind, fold(summary, output, { open }));
}

export const OUTCOMES: Record<EventOf<"edit.resolved">["outcome"], string> = {
  accepted: t("accepted"),
  modified: t("accepted with changes"),
  rejected: t("rejected"),
  failed: t("not applied"),
};

export const ENDS: Record<EventOf<"turn.ended">["stopReason"], string> = {
  answered: t("answered"),
  step_limit: t("stopped: too many steps. Ask again to go on."),
  budget: t("stopped: the tokens of a turn are used up. Ask again to go on."),
  cancelled: t("cancelled"),
  refused: t("stopped by you"),
  error: t("failed"),
};

function ended(event: EventOf<"turn.ended">): HTMLElement {
  const { stopReason, steps, usage, error } = event;
  const prompt = usage.promptTokens ?? 0;
  const tokens = prompt > 0 ? [t("{0} + {1} tokens", number(prompt), number(usage.completionTokens ?? 0))] : [];
  const count = steps === 1 ? t("1 step") : t("{0} steps", steps);
  const line = [ENDS[stopReason], count, seconds(event.seconds), ...tokens].join(" · ");
  const problem = error === undefined ? [] : [el("div", { class: "problem", text: visible(error) })];
  return row("harness", `ended ${stopReason}`, ...problem, el("div", { class: "dim", text: line }));
}
