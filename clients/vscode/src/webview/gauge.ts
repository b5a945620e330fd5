/** How full the context is: a bar, and its numbers beside it. */

import type { ContextReport } from "../wire";
import { el, number } from "./dom";
import { t } from "./words";

const WARN_AT = 0.8;

export class Gauge {
  private readonly fill = el("div", { class: "fill" });
  private readonly numbers = el("span", { class: "numbers" });
  readonly element = el(
    "div",
    { class: "gauge", attributes: { role: "meter", "aria-label": t("Context"), "aria-valuemin": "0" } },
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
    const words = t("{0} of {1} tokens", number(tokens), number(numCtx));
    const about = estimated ? "≈ " : "";
    this.numbers.textContent = `${about}${number(tokens)} / ${number(numCtx)}`;
    this.element.title = [about + words, ...parts.map((part) => `${part.name}: ${number(part.tokens)}`)].join("\n");
    this.element.setAttribute("aria-valuemax", String(numCtx));
    this.element.setAttribute("aria-valuenow", String(tokens));
    this.element.setAttribute("aria-valuetext", about + words);
  }
}
