/** Elements in one expression. Text is always text: nothing here parses HTML. */

import { t } from "./words";

export interface Options {
  class?: string;
  text?: string;
  title?: string;
  attributes?: Record<string, string>;
  click?: () => void;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  options: Options = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (options.class !== undefined) {
    element.className = options.class;
  }
  if (options.text !== undefined) {
    element.textContent = options.text;
  }
  if (options.title !== undefined) {
    element.title = options.title;
  }
  for (const [name, value] of Object.entries(options.attributes ?? {})) {
    element.setAttribute(name, value);
  }
  if (options.click !== undefined) {
    element.addEventListener("click", options.click);
  }
  element.append(...children);
  return element;
}

export function button(label: string, click: () => void, kind = "secondary"): HTMLButtonElement {
  return el("button", { class: kind, text: label, attributes: { type: "button" }, click });
}

/** A part that folds; `open` at first or not. What is inside is made when it is first unfolded. */
export function fold(
  summary: Node | string,
  body: () => Node,
  state: { open: boolean },
  kind = "",
): HTMLDetailsElement {
  const details = el("details", { class: kind }, el("summary", {}, summary));
  if (state.open) {
    details.append(body());
    details.open = true;
  } else {
    details.addEventListener("toggle", () => details.append(body()), { once: true });
  }
  return details;
}

/** Text that may be wider or longer than its place: reached and scrolled by the keyboard too. */
export function scrollable(kind: string, label: string, ...children: (Node | string)[]): HTMLPreElement {
  return el("pre", { class: kind, attributes: { tabindex: "0", role: "region", "aria-label": label } }, ...children);
}

/** A duration in seconds, in words. */
export function seconds(value: number): string {
  if (value < 100) {
    return t("{0} s", value.toFixed(value < 10 ? 1 : 0));
  }
  return t("{0} min {1} s", Math.floor(value / 60), Math.round(value % 60));
}

let numbers: Intl.NumberFormat | undefined;

/** A number as the person's language writes it. */
export function number(value: number): string {
  numbers ??= new Intl.NumberFormat(document.documentElement.lang);
  return numbers.format(value);
}
