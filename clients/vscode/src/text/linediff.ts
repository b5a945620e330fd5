/** Where two texts differ, line by line. Pure. */

/** Half-open ranges of lines: `a[aFirst, aEnd)` became `b[bFirst, bEnd)`. */
export interface Hunk {
  aFirst: number;
  aEnd: number;
  bFirst: number;
  bEnd: number;
}

// Above this many cells the middle counts as one hunk: coarser, never wrong.
const MOST_CELLS = 4_000_000;

/** The lines of a text, each with its line end, so that joining them gives the text again. */
export function splitLines(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
}

/** The hunks between two lists of lines, in order; none touches the next. */
export function lineHunks(a: readonly string[], b: readonly string[]): Hunk[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    start++;
  }
  let aEnd = a.length;
  let bEnd = b.length;
  while (aEnd > start && bEnd > start && a[aEnd - 1] === b[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  if (aEnd === start && bEnd === start) {
    return [];
  }
  if ((aEnd - start) * (bEnd - start) > MOST_CELLS) {
    return [{ aFirst: start, aEnd, bFirst: start, bEnd }];
  }
  return middleHunks(a.slice(start, aEnd), b.slice(start, bEnd)).map((hunk) => ({
    aFirst: hunk.aFirst + start,
    aEnd: hunk.aEnd + start,
    bFirst: hunk.bFirst + start,
    bEnd: hunk.bEnd + start,
  }));
}

/** By the longest common subsequence, in a table of lengths. */
function middleHunks(a: readonly string[], b: readonly string[]): Hunk[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const hunks: Hunk[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
      continue;
    }
    const hunk = { aFirst: i, aEnd: i, bFirst: j, bEnd: j };
    while ((i < a.length || j < b.length) && !(i < a.length && j < b.length && a[i] === b[j])) {
      if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
        i++;
      } else {
        j++;
      }
    }
    hunks.push({ ...hunk, aEnd: i, bEnd: j });
  }
  return hunks;
}
