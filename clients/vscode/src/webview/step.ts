/** One call of a tool: what the model wants, what the harness said, what came back; one line until it is unfolded. */

import { visible } from "../text/visible";
import type { EventOf, ToolCall } from "../wire";
import { el, scrollable, seconds } from "./dom";
import { DECISIONS, labelled } from "./rows";
import { t } from "./words";

/** Which argument tells best what a call is about, the first that is there. */
const TELLING = ["command", "pattern", "query", "path", "name"];
/** A command's output is what one wants to see; a file that was read is not. */
const WORTH_SEEING: ReadonlySet<string> = new Set(["run_command"]);
const FOLD_OVER_LINES = 6;

export class Step {
  private readonly state = el("span", { class: "state" });
  private readonly parts = el("div", { class: "parts" });
  private readonly details: HTMLDetailsElement;
  readonly element: HTMLElement;

  constructor(call: ToolCall) {
    const about = telling(call);
    const name = el("code", {}, el("b", { text: visible(call.name) }), about === "" ? "" : ` ${visible(about)}`);
    const summary = el("summary", { title: visible(about) }, name, this.state);
    this.details = el("details", { class: "step" }, summary, this.parts);
    this.element = labelled("model", "call", this.details);
    const given = Object.values(call.arguments);
    if (given.length > 1 || (given.length === 1 && shown(given[0]) !== about)) {
      const text = Object.entries(call.arguments).map(([key, value]) => `${key}: ${shown(value)}`);
      this.parts.append(labelled("model", "part", scrollable("output", t("Arguments"), visible(text.join("\n")))));
    }
  }

  /** What is simply allowed is inside. That it asks the person needs no words: the question is there. */
  decided({ decision, reason }: EventOf<"harness.decided">): void {
    if (decision === "ask") {
      return;
    }
    this.parts.append(labelled("harness", "part", `${DECISIONS[decision] ?? decision}: ${visible(reason)}`));
  }

  started(): void {
    this.state.textContent = "…";
  }

  returned(event: EventOf<"tool.returned">): void {
    const head = [
      ...(event.ok ? [] : [t("failed")]),
      seconds(event.seconds),
      ...(event.truncated ? [t("shortened")] : []),
    ];
    this.state.textContent = head.join(" · ");
    this.element.classList.toggle("failed", !event.ok);
    const lines = event.content.split("\n").length;
    if (event.content !== "") {
      const output = scrollable("output", t("Output of {0}", event.name), visible(event.content));
      this.parts.append(labelled("tool", "part", output));
      this.details.open = lines <= FOLD_OVER_LINES && (!event.ok || WORTH_SEEING.has(event.name));
    }
  }
}

function telling({ arguments: given }: ToolCall): string {
  const key = TELLING.find((name) => typeof given[name] === "string") ?? Object.keys(given)[0];
  const value = key === undefined ? "" : given[key];
  return (typeof value === "string" ? value : JSON.stringify(value)).split("\n")[0] ?? "";
}

function shown(value: unknown): string {
  if (typeof value !== "string") {
    return JSON.stringify(value);
  }
  return value.includes("\n") ? `\n${value}` : value;
}
