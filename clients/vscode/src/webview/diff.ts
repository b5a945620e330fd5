/** A unified diff, coloured line by line. */

import { visible } from "../text/visible";
import { el, scrollable } from "./dom";
import { t } from "./words";

const KINDS: Record<string, string> = { "+": "added", "-": "removed", "@": "hunk" };

/** A file's name stands over its lines where there are several. */
export function diffBlock(diff: string, { names }: { names: boolean }): HTMLElement {
  const block = scrollable("diff", t("Diff"));
  let old = "";
  // A removed line "-- x" looks like a file's name, so the lines of each hunk are counted down.
  let left = { old: 0, new: 0 };
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const inside = left.old > 0 || left.new > 0;
    const mark = line[0] ?? " ";
    if (!inside && line.startsWith("--- ")) {
      old = named(line);
      continue;
    }
    if (!inside && line.startsWith("+++ ")) {
      const now = named(line);
      if (names) {
        block.append(el("span", { class: "filename", text: `${visible(now === "" ? old : now)}\n` }));
      }
      continue;
    }
    const kind = inside || mark === "@" ? (KINDS[mark] ?? "context") : "filename";
    if (inside) {
      left = {
        old: left.old - (mark === "+" || mark === "\\" ? 0 : 1),
        new: left.new - (mark === "-" || mark === "\\" ? 0 : 1),
      };
    } else {
      left = sizes(line) ?? left;
    }
    block.append(el("span", { class: kind, text: `${visible(line)}\n` }));
  }
  return block;
}

/** The path of a file's line; empty for one that is not there. */
function named(line: string): string {
  const path = line.slice(4).split("\t")[0] ?? "";
  return path === "/dev/null" ? "" : path.replace(/^[ab]\//, "");
}

/** How many lines of the old and of the new text a hunk has, by its head. */
function sizes(line: string): { old: number; new: number } | null {
  const found = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
  return found === null ? null : { old: Number(found[1] ?? 1), new: Number(found[2] ?? 1) };
}
