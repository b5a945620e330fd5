/** Text edits made for an older version of a text, moved to where their lines are by now. Pure. */

import type { Position, TextEdit } from "./textedit";

/** One change of a text: the lines `first` to `last` (both included) became `lines` lines. */
export interface LineChange {
  first: number;
  last: number;
  lines: number;
}

/**
 * The edits for the text after `changes`, which were made one after the other; null where one of them touched the lines
 * of an edit, so that nobody can say what was meant.
 */
export function shifted(edits: readonly TextEdit[], changes: readonly LineChange[]): TextEdit[] | null {
  const moved: TextEdit[] = [];
  for (const edit of edits) {
    const one = throughAll(edit, changes);
    if (one === null) {
      return null;
    }
    moved.push(one);
  }
  return moved;
}

function throughAll(edit: TextEdit, changes: readonly LineChange[]): TextEdit | null {
  const { start, end } = edit.range;
  let by = 0;
  for (const { first, last, lines } of changes) {
    if (last < start.line + by) {
      by += lines - (last - first + 1);
    } else if (first <= end.line + by) {
      return null;
    }
  }
  const at = ({ line, character }: Position): Position => ({ line: line + by, character });
  return { ...edit, range: { start: at(start), end: at(end) } };
}
