/** The prompt: a text that grows, its history, its chips, its completions, and the buttons beside it. */

import type { FromPage, PageCommand, PanelState } from "../panel/messages";
import { visible } from "../text/visible";
import type { CompletionItem } from "../wire";
import { Completions } from "./completions";
import { button, el } from "./dom";
import { host } from "./host";
import { t } from "./words";

const MOST_HISTORY = 50;

/** A turn that is asked again with other words. */
interface Again {
  turn: string;
  edited: boolean;
}

export class Prompt {
  private readonly text = el("textarea", {
    attributes: {
      "aria-label": t("Ask llamagent"),
      placeholder: t("Ask the model. @ names a file, / a command."),
      rows: "3",
    },
    title: t("Enter sends, Shift+Enter begins a line, ↑ and ↓ go through what you asked before"),
  });
  private readonly chips = el("div", { class: "chips", attributes: { role: "list", "aria-label": t("Attached") } });
  private readonly queue = el("div", { class: "queue", attributes: { role: "list", "aria-label": t("Waiting asks") } });
  private readonly send = button(t("Send"), () => this.submit({ steer: false }), "primary");
  private readonly steer = button(t("Steer"), () => this.submit({ steer: true }));
  private readonly stop = button(t("Stop"), () => host.postMessage({ type: "stop" }));
  private readonly attach = button(t("Attach"), () => command("attach"), "link");
  private readonly list = new Completions(
    this.text,
    (item) => this.take(item),
    () => this.unlist(),
  );
  readonly element = el(
    "form",
    { class: "prompt", attributes: { "aria-label": t("Ask llamagent") } },
    this.queue,
    this.chips,
    this.list.element,
    this.text,
    el("div", { class: "buttons" }, this.attach, el("span", { class: "gap" }), this.stop, this.steer, this.send),
  );

  private history: string[];
  private at: number;
  /** Answers to any other request for completions come too late. */
  private request = 0;
  /** Where the caret stood: at the request, and at the one whose answer is listed. */
  private caret = { asked: 0, listed: 0 };
  private again: Again | null = null;
  private state: PanelState | null = null;
  private writing = false;

  /** `begins`: a turn that was asked for now. */
  constructor(private readonly begins: () => void) {
    const remembered = host.getState();
    this.text.value = remembered?.draft ?? "";
    this.history = remembered?.history ?? [];
    this.at = this.history.length;
    this.steer.title = t("Say it to the running turn, before its next step");
    this.attach.title = t("Attach the selection, or the file, of the editor");
    this.text.addEventListener("input", () => this.edited());
    this.text.addEventListener("focus", () => this.tellWriting({ focused: true }));
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("blur", () => {
      this.tellWriting({ focused: false });
      this.unlist();
    });
  }

  update(state: PanelState): void {
    this.state = state;
    this.stop.hidden = !state.running;
    this.offer();
    this.send.textContent = state.running ? t("Queue") : t("Send");
    this.send.title = state.running ? t("Ask it when the running turn has ended") : "";
    this.drawChips();
    const waiting = state.queue.map(({ id, text }) => removable(text, () => host.postMessage({ type: "unqueue", id })));
    this.queue.replaceChildren(
      ...(waiting.length > 0 ? [el("span", { class: "dim", text: t("Next:") })] : []),
      ...waiting,
    );
  }

  /** While a turn runs, what can be done with a text is offered once there is one. */
  private offer(): void {
    const running = this.state?.running ?? false;
    const empty = this.text.value.trim() === "";
    this.steer.hidden = !running || empty;
    this.send.hidden = running && empty;
  }

  /** An empty text only takes the focus; a draft is never written over. */
  fill(text: string): void {
    if (text !== "" && this.text.value.trim() === "") {
      this.set(text);
    }
    this.text.focus();
  }

  /** A turn with other words: its own are there to change. */
  change(turn: string, text: string, edited: boolean): void {
    this.again = { turn, edited };
    this.set(text);
    this.drawChips();
    this.text.focus();
  }

  completions(request: number, items: CompletionItem[]): void {
    if (request === this.request) {
      this.caret.listed = this.caret.asked;
      this.list.show(items);
    }
  }

  /** The list goes, and what is on its way for it does not bring it back. */
  private unlist(): void {
    this.request += 1;
    this.list.show([]);
  }

  private set(text: string): void {
    this.text.value = text;
    this.text.setSelectionRange(text.length, text.length);
    this.edited();
  }

  private drawChips(): void {
    const again = removable(t("asked again from there"), () => {
      this.again = null;
      this.drawChips();
    });
    const chips = (this.state?.chips ?? []).map(({ id, label }) =>
      removable(label, () => host.postMessage({ type: "detach", id })),
    );
    this.chips.replaceChildren(...(this.again === null ? [] : [again]), ...chips);
  }

  private submit({ steer }: { steer: boolean }): void {
    const text = this.text.value.trim();
    if (text === "") {
      return;
    }
    const message: FromPage =
      this.again === null ? { type: "ask", text, steer } : { type: "retry", ...this.again, text };
    host.postMessage(message);
    if (this.state?.running !== true) {
      this.begins();
    }
    this.again = null;
    this.history = [...this.history.filter((old) => old !== text), text].slice(-MOST_HISTORY);
    this.at = this.history.length;
    this.set("");
    this.drawChips();
  }

  private tellWriting({ focused }: { focused: boolean }): void {
    const is = focused && this.text.value.trim() !== "";
    if (is || this.writing) {
      this.writing = is;
      host.postMessage({ type: "writing", is });
    }
  }

  private edited(): void {
    this.tellWriting({ focused: document.activeElement === this.text && document.hasFocus() });
    host.setState({ draft: this.text.value, history: this.history });
    this.request += 1;
    this.offer();
    const { value, selectionStart } = this.text;
    if (/(^\/|(^|\s)@)\S*$/.test(value.slice(0, selectionStart))) {
      this.caret.asked = selectionStart;
      host.postMessage({ type: "complete", request: this.request, text: value, offset: selectionStart });
    } else {
      this.unlist();
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) {
      return;
    }
    if (this.list.key(event.key)) {
      event.preventDefault();
    } else if (event.key === "Escape") {
      this.unlist(); // it may be on its way
    } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
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
      this.offer();
    }
  }

  /** A blank ends the word, so that Enter sends next; in a folder one goes on. */
  private take({ insertText, start, end: before }: CompletionItem): void {
    const end = before + this.text.selectionStart - this.caret.listed; // one may have typed on since
    const goesOn = insertText.endsWith("/") || /^\s/.test(this.text.value.slice(end));
    this.text.setRangeText(goesOn ? insertText : `${insertText} `, start, end, "end");
    this.unlist();
    this.edited();
  }
}

function command(name: PageCommand): void {
  host.postMessage({ type: "command", name });
}

function removable(label: string, remove: () => void): HTMLElement {
  const cross = button("×", remove, "link");
  cross.setAttribute("aria-label", t("Remove {0}", label));
  const text = el("span", { class: "label", text: visible(label), title: visible(label) });
  return el("span", { class: "chip", attributes: { role: "listitem" } }, text, cross);
}
