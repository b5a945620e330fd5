/** Three-way merge of lines: pure, and never silent about a conflict. */

import { type Hunk, lineHunks, splitLines } from "./linediff";

/** `base` with the changes of both sides; null where both changed the same or adjoining lines differently. */
export function merge(base: string, ours: string, theirs: string): string | null {
  if (ours === base || ours === theirs) {
    return theirs;
  }
  if (theirs === base) {
    return ours;
  }
  const lines = splitLines(base);
  const sides = [splitLines(ours), splitLines(theirs)] as const;
  const queues = [lineHunks(lines, sides[0]), lineHunks(lines, sides[1])] as const;
  const out: string[] = [];
  let at = 0;
  for (;;) {
    const side = next(queues[0][0], queues[1][0]);
    const hunk = side === null ? undefined : queues[side].shift();
    if (side === null || hunk === undefined) {
      return [...out, ...lines.slice(at)].join("");
    }
    const other = queues[side === 0 ? 1 : 0][0];
    const lines_ = sides[side].slice(hunk.bFirst, hunk.bEnd);
    if (other !== undefined && other.aFirst <= hunk.aEnd) {
      const same = sides[side === 0 ? 1 : 0].slice(other.bFirst, other.bEnd);
      if (other.aFirst !== hunk.aFirst || other.aEnd !== hunk.aEnd || same.join("") !== lines_.join("")) {
        return null;
      }
      queues[side === 0 ? 1 : 0].shift();
    }
    out.push(...lines.slice(at, hunk.aFirst), ...lines_);
    at = hunk.aEnd;
  }
}

/** Which queue's hunk comes first. */
function next(ours: Hunk | undefined, theirs: Hunk | undefined): 0 | 1 | null {
  if (ours === undefined) {
    return theirs === undefined ? null : 1;
  }
  return theirs === undefined || ours.aFirst <= theirs.aFirst ? 0 : 1;
}
