/** Elements in one expression. Text is always text: nothing here parses HTML. */

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

/** A part that folds; `open` at first or not. */
export function fold(summary: Node | string, body: Node, state: { open: boolean }, kind = ""): HTMLDetailsElement {
  const details = el("details", { class: kind }, el("summary", {}, summary), body);
  details.open = state.open;
  return details;
}
