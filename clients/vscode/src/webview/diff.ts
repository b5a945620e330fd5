/** A unified diff, coloured line by line. */

import { visible } from "../text/visible";
import { el } from "./dom";

const KINDS: Record<string, string> = { "+": "added", "-": "removed", "@": "hunk" };

export function diffBlock(diff: string): HTMLElement {
  const block = el("pre", { class: "diff", attributes: { tabindex: "0" } });
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const kind = /^(---|\+\+\+) /.test(line) ? "filename" : (KINDS[line[0] ?? ""] ?? "context");
    block.append(el("span", { class: kind, text: `${visible(line)}\n` }));
  }
  return block;
}
