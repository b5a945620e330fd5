/** What the events of a conversation say of its turns. */

import type { EventOf, TraceEvent } from "./wire";

/** What a typed command answered is a turn of the trace, but none that the daemon keeps and could do again. */
export function askedTheModel({ steps, stopReason }: EventOf<"turn.ended">): boolean {
  return steps > 0 || stopReason !== "answered";
}

/** The start of the last turn that can be done again. */
export function lastAsked(events: readonly TraceEvent[]): EventOf<"turn.started"> | undefined {
  const ended = events.filter((event) => event.kind === "turn.ended");
  const typed = new Set(ended.filter((event) => !askedTheModel(event)).map(({ turn }) => turn));
  return events.filter((event) => event.kind === "turn.started").findLast(({ turn }) => !typed.has(turn));
}
