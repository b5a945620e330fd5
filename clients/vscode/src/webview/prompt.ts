/** The prompt: a text that grows, its history, its chips, its completions, and the buttons beside it. */

import type { PanelState } from "../panel/messages";
import type { CompletionItem } from "../wire";
import { button, el } from "./dom";
import { host } from "./host";

const MOST_HISTORY = 50;

export class Prompt {
  private readonly text = el("textarea", {
    attributes: { "aria-label": "Ask llamagent", placeholder: "Ask the model…  (Enter sends, Shift+Enter: new line)" },
  });
  private readonly chips = el("div", { class: "chips", attributes: { role: "list", "aria-label": "Attached" } });
  private readonly list = el("div", {
    class: "completions",
    attributes: { role: "listbox", "aria-label": "Completions" },
  });
  private readonly queue = el("div", { class: "queue", attributes: { role: "list", "aria-label": "Waiting asks" } });
  private readonly send = button(
    "Send",
    () => {
      this.submit({ steer: false });
    },
    "primary",
  );
  private readonly steer = button("Steer", () => {
    this.submit({ steer: true });
  });
  private readonly stop = button("Stop", () => {
    host.postMessage({ type: "stop" });
  });
  private readonly model = button(
    "model",
    () => {
      host.postMessage({ type: "command", name: "chooseModel" });
    },
    "link",
  );
  private readonly buttons = el("div", { class: "buttons" }, this.send, this.steer, this.stop, this.model);
  readonly element = el("div", { class: "prompt" }, this.queue, this.chips, this.list, this.text, this.buttons);

  private history: string[];
  private at: number;
  private request = 0;
  private items: CompletionItem[] = [];
  private chosen = 0;

  constructor() {
    const remembered = host.getState();
    this.text.value = remembered?.draft ?? "";
    this.history = remembered?.history ?? [];
    this.at = this.history.length;
    this.text.rows = 3;
    this.list.hidden = true;
    this.steer.title = "Say it to the running turn, before its next step";
    this.text.addEventListener("input", () => {
      this.edited();
    });
    this.text.addEventListener("keydown", (event) => {
      this.key(event);
    });
    this.text.addEventListener("blur", () => {
      this.complete([]);
    });
  }

  update(state: PanelState): void {
    this.stop.hidden = !state.running;
    this.steer.hidden = !state.running;
    this.send.textContent = state.running ? "Queue" : "Send";
    this.model.textContent = state.model ?? "Choose the model";
    this.model.setAttribute("aria-label", `Model: ${state.model ?? "none yet"}. Choose another`);
    this.chips.replaceChildren(...state.chips.map(({ id, label }) => removable(label, { type: "detach", id })));
    this.queue.replaceChildren(...state.queue.map(({ id, text }) => removable(text, { type: "unqueue", id })));
  }

  fill(text: string): void {
    if (text !== "") {
      this.text.value = text;
      this.edited();
    }
    this.text.focus();
  }

  completions(request: number, items: CompletionItem[]): void {
    if (request === this.request) {
      this.complete(items);
    }
  }

  private submit({ steer }: { steer: boolean }): void {
    const text = this.text.value.trim();
    if (text === "") {
      return;
    }
    host.postMessage({ type: "ask", text, steer });
    this.history = [...this.history.filter((old) => old !== text), text].slice(-MOST_HISTORY);
    this.at = this.history.length;
    this.text.value = "";
    this.edited();
  }

  private edited(): void {
    host.setState({ draft: this.text.value, history: this.history });
    this.request += 1;
    const before = this.text.value.slice(0, this.text.selectionStart);
    if (/(^\/|(^|\s)@)\S*$/.test(before)) {
      const { value, selectionStart } = this.text;
      host.postMessage({ type: "complete", request: this.request, text: value, offset: selectionStart });
    } else {
      this.complete([]);
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) {
      return;
    }
    if (this.items.length > 0 && this.keyInList(event.key)) {
      event.preventDefault();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit({ steer: false });
    } else if (event.key === "ArrowUp" && this.text.selectionEnd === 0) {
      this.recall(-1);
    } else if (event.key === "ArrowDown" && this.text.selectionStart === this.text.value.length) {
      this.recall(1);
    }
  }

  private recall(step: number): void {
    const at = this.at + step;
    if (at >= 0 && at <= this.history.length && this.history.length > 0) {
      this.at = at;
      this.text.value = this.history[at] ?? "";
      const end = step < 0 ? 0 : this.text.value.length;
      this.text.setSelectionRange(end, end);
    }
  }

  // --- Completion ----------------------------------------------------------------------------------------------------

  private complete(items: CompletionItem[]): void {
    this.items = items;
    this.chosen = 0;
    this.list.hidden = items.length === 0;
    this.list.replaceChildren(
      ...items.map((item, index) => {
        const label = [el("span", { text: item.label }), el("span", { class: "dim", text: ` ${item.detail ?? ""}` })];
        const option = el("div", { class: "option", attributes: { role: "option" } }, ...label);
        option.addEventListener("mousedown", (event) => {
          event.preventDefault(); // the text keeps the focus
          this.take(index);
        });
        return option;
      }),
    );
    this.mark();
  }

  private mark(): void {
    [...this.list.children].forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === this.chosen));
    });
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  private keyInList(key: string): boolean {
    switch (key) {
      case "ArrowDown":
      case "ArrowUp":
        this.chosen = (this.chosen + (key === "ArrowDown" ? 1 : this.items.length - 1)) % this.items.length;
        this.mark();
        return true;
      case "Enter":
      case "Tab":
        this.take(this.chosen);
        return true;
      case "Escape":
        this.complete([]);
        return true;
      default:
        return false;
    }
  }

  private take(index: number): void {
    const item = this.items[index];
    if (item !== undefined) {
      this.text.setRangeText(item.insertText, item.start, item.end, "end");
      this.edited();
    }
  }
}

function removable(
  label: string,
  message: { type: "detach"; id: number } | { type: "unqueue"; id: string },
): HTMLElement {
  const remove = button(
    "×",
    () => {
      host.postMessage(message);
    },
    "link",
  );
  remove.setAttribute("aria-label", `Remove ${label}`);
  return el("span", { class: "chip", attributes: { role: "listitem" } }, el("span", { text: label }), remove);
}
