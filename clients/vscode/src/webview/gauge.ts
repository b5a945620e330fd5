/** How full the context is: a bar, and its numbers beside it. */

import type { ContextReport } from "../wire";
import { el } from "./dom";

const WARN_AT = 0.8;

export class Gauge {
  private readonly fill = el("div", { class: "fill" });
  private readonly numbers = el("span", { class: "numbers" });
  readonly element = el(
    "div",
    { class: "gauge", attributes: { role: "meter", "aria-label": "Context", "aria-valuemin": "0" } },
    el("div", { class: "bar" }, this.fill),
    this.numbers,
  );

  show(report: ContextReport | null): void {
    this.element.hidden = report === null;
    if (report === null) {
      return;
    }
    const { tokens, numCtx, estimated, parts } = report;
    const share = numCtx > 0 ? Math.min(1, tokens / numCtx) : 0;
    this.fill.style.width = `${String(Math.round(share * 100))}%`;
    this.fill.classList.toggle("full", share >= WARN_AT);
    this.numbers.textContent = `${estimated ? "≈ " : ""}${String(tokens)} of ${String(numCtx)} tokens`;
    this.element.title = parts.map((part) => `${part.name}: ${String(part.tokens)}`).join("\n");
    this.element.setAttribute("aria-valuemax", String(numCtx));
    this.element.setAttribute("aria-valuenow", String(tokens));
    this.element.setAttribute("aria-valuetext", this.numbers.textContent);
  }
}
