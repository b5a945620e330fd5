"""The stored trace of a conversation: its events, and which of its turns are no part of it any more."""

from collections.abc import Iterable
from dataclasses import dataclass

from llamagent_server.core.messages import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Trace:
    """`aside` are the ids of the turns that were asked again, and of those that came after them till then."""

    events: tuple[dict[str, Json], ...] = ()
    aside: tuple[str, ...] = ()

    def after(self, since: int) -> tuple[dict[str, Json], ...]:
        """The events with a higher sequence number."""
        return tuple(event for event in self.events if _seq(event) > since)


def trace_of(records: Iterable[JsonObject]) -> Trace:
    events: list[dict[str, Json]] = []
    turns: list[str] = []
    aside: list[str] = []
    for record in records:
        event = record.get("event")
        if isinstance(event, dict):
            events.append(event)
            if event.get("kind") == "turn.started":
                turns.append(str(event.get("turn")))
        elif record.get("type") == "rewound" and (turn := record.get("turn")) in turns:
            first = turns.index(str(turn))
            aside += turns[first:]
            del turns[first:]
    return Trace(tuple(events), tuple(aside))


def _seq(event: JsonObject) -> int:
    seq = event.get("seq")
    return seq if isinstance(seq, int) else -1
