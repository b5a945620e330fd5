/** What a screen reader is told: whole sentences, once each. The streaming text itself would be read in pieces. */

import { el } from "./dom";

export const live = el("div", { class: "unseen", attributes: { role: "status", "aria-live": "polite" } });

export function announce(words: string): void {
  live.append(el("p", { text: words }));
  while (live.children.length > 5) {
    live.firstChild?.remove();
  }
}
