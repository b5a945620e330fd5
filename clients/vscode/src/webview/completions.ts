/** The list of completions over the prompt: the keyboard stays in the text, the choice is told by its id. */

import type { CompletionItem } from "../wire";
import { announce } from "./announce";
import { el } from "./dom";
import { t } from "./words";

export class Completions {
  readonly element = el("div", {
    class: "completions",
    attributes: { role: "listbox", id: "completions", "aria-label": t("Completions") },
  });
  private items: CompletionItem[] = [];
  private chosen = 0;

  constructor(
    private readonly text: HTMLTextAreaElement,
    private readonly take: (item: CompletionItem) => void,
    private readonly close: () => void,
  ) {
    this.element.hidden = true;
    text.setAttribute("aria-autocomplete", "list");
    text.setAttribute("aria-controls", "completions");
  }

  show(items: CompletionItem[]): void {
    if (items.length > 0 && this.items.length === 0) {
      announce(t("{0} completions", items.length));
    }
    this.items = items;
    this.chosen = 0;
    this.element.hidden = items.length === 0;
    this.element.replaceChildren(...items.map((item, index) => this.option(item, index)));
    this.mark();
  }

  /** Whether the list took the key. */
  key(key: string): boolean {
    if (this.items.length === 0) {
      return false;
    }
    switch (key) {
      case "ArrowDown":
      case "ArrowUp":
        this.chosen = (this.chosen + (key === "ArrowDown" ? 1 : this.items.length - 1)) % this.items.length;
        this.mark();
        return true;
      case "Enter":
      case "Tab":
        this.choose(this.chosen);
        return true;
      case "Escape":
        this.close();
        return true;
      default:
        return false;
    }
  }

  private option(item: CompletionItem, index: number): HTMLElement {
    const option = el(
      "div",
      { class: "option", attributes: { role: "option", id: `completion-${String(index)}` } },
      el("span", { text: item.label }),
      el("span", { class: "dim", text: item.detail ?? "" }),
    );
    option.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the text keeps the focus
      this.choose(index);
    });
    return option;
  }

  private choose(index: number): void {
    const item = this.items[index];
    if (item !== undefined) {
      this.take(item);
    }
  }

  private mark(): void {
    [...this.element.children].forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === this.chosen));
    });
    const current = this.element.children[this.chosen];
    current?.scrollIntoView({ block: "nearest" });
    if (current === undefined) {
      this.text.removeAttribute("aria-activedescendant");
    } else {
      this.text.setAttribute("aria-activedescendant", current.id);
    }
  }
}
