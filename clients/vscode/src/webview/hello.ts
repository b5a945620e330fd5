/** What an empty conversation shows: what this is for, and the few keys that one cannot see. */

import { el } from "./dom";
import { t } from "./words";

export function hello(): HTMLElement {
  return el(
    "div",
    { class: "hello" },
    el("p", { text: t("Ask about this folder, or say what to change.") }),
    el("p", { class: "dim", text: t("Nothing is written and nothing runs before you said yes.") }),
    el(
      "ul",
      { class: "keys dim" },
      key("@", t("names a file")),
      key("/", t("begins a command")),
      key("↑", t("brings back what you asked")),
    ),
  );
}

function key(name: string, does: string): HTMLElement {
  return el("li", {}, el("kbd", { text: name }), " ", does);
}
