/** LSP text edits on a text, positions in UTF-16 units. Pure. */

export interface Position {
  line: number;
  character: number;
}

export interface TextEdit {
  range: { start: Position; end: Position };
  newText: string;
}

/** The text after all edits, which all speak of the text before (LSP). Throws where they overlap. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const starts = lineStarts(text);
  const spans = edits
    .map((edit, order) => ({
      start: offsetAt(text, starts, edit.range.start),
      end: offsetAt(text, starts, edit.range.end),
      newText: edit.newText,
      order,
    }))
    .sort((a, b) => a.start - b.start || a.order - b.order);
  let out = "";
  let at = 0;
  for (const span of spans) {
    if (span.start < at || span.end < span.start) {
      throw new Error("the proposal's edits overlap");
    }
    out += text.slice(at, span.start) + span.newText;
    at = span.end;
  }
  return out + text.slice(at);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const match of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(match.index + match[0].length);
  }
  return starts;
}

/** A position behind a line's or the text's end counts as that end (LSP). */
function offsetAt(text: string, starts: readonly number[], position: Position): number {
  const start = starts[position.line];
  if (start === undefined) {
    return text.length;
  }
  const next = starts[position.line + 1] ?? text.length;
  const line = text.slice(start, next).replace(/[\r\n]+$/, "");
  return start + Math.min(position.character, line.length);
}
