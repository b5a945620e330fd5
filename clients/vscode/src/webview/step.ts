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
  /** The parts that nobody has looked at yet; null from then on. */
  private folded: (() => HTMLElement)[] | null = [];
  readonly element: HTMLElement;

  constructor(call: ToolCall) {
    const about = telling(call);
    const name = el("code", {}, el("b", { text: visible(call.name) }), about === "" ? "" : ` ${visible(about)}`);
    const summary = el("summary", { title: visible(about) }, name, this.state);
    this.details = el("details", { class: "step" }, summary, this.parts);
    this.details.addEventListener("toggle", () => this.unfold());
    this.element = labelled("model", "call", this.details);
    const given = Object.values(call.arguments);
    if (given.length > 1 || (given.length === 1 && shown(given[0]) !== about)) {
      const text = Object.entries(call.arguments).map(([key, value]) => `${key}: ${shown(value)}`);
      this.add(() => labelled("model", "part", scrollable("output", t("Arguments"), visible(text.join("\n")))));
    }
  }

  /** What is simply allowed is inside. That it asks the person needs no words: the question is there. */
  decided({ decision, reason }: EventOf<"harness.decided">): void {
    if (decision === "ask") {
      return;
    }
    this.add(() => labelled("harness", "part", `${DECISIONS[decision] ?? decision}: ${visible(reason)}`));
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
    if (event.content === "") {
      return;
    }
    this.add(() => {
      const output = scrollable("output", t("Output of {0}", event.name), visible(event.content));
      return labelled("tool", "part", output);
    });
    const short = event.content.split("\n").length <= FOLD_OVER_LINES;
    if (short && (!event.ok || WORTH_SEEING.has(event.name))) {
      this.unfold(); // now: what grows later would move the end out of sight
      this.details.open = true;
    }
  }

  private add(part: () => HTMLElement): void {
    if (this.folded === null) {
      this.parts.append(part());
    } else {
      this.folded.push(part);
    }
  }

  private unfold(): void {
    const parts = this.folded ?? [];
    this.folded = null;
    this.parts.append(...parts.map((part) => part()));
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
