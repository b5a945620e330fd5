"""What a turn's trace says about the model. Pure."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llamagent_server.core.events import CallForm

Events = Sequence[Mapping[str, Any]]
_EDITS = ("edit_file", "write_file")


@dataclass(frozen=True, slots=True)
class Measures:
    """Counts over one turn. Times in seconds; `first_token` is the median over its requests, None where none replied.

    `malformed`: replies and calls that nothing could be made of; `recovered`: those that the harness put right;
    `missed_edits`: edits that were tried and did not find their place; `loops`: 1 where the harness stopped a
    repetition, which ends the turn; `answered`: the server replied to the last request.
    """

    steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    first_token: float | None = None
    malformed: int = 0
    recovered: int = 0
    missed_edits: int = 0
    loops: int = 0
    changes: int = 0
    stop_reason: str = ""
    error: str | None = None
    answered: bool = False


def measure(events: Events) -> Measures:
    """The measures of the last turn in `events` (docs/PROTOCOL.md, Trace)."""
    ended: Mapping[str, Any] = next((event for event in reversed(events) if event["kind"] == "turn.ended"), {})
    usage = ended.get("usage", {})
    waits = [event["latency"].get("firstTokenSeconds") for event in _of(events, "model.replied")]
    known = [seconds for seconds in waits if seconds is not None]
    tried = {event["call"] for event in _of(events, "tool.started")}
    asked = [event["kind"] for event in events if event["kind"] in ("model.requested", "model.replied")]
    return Measures(
        steps=ended.get("steps", 0),
        prompt_tokens=usage.get("promptTokens", 0),
        completion_tokens=usage.get("completionTokens", 0),
        seconds=ended.get("seconds", 0.0),
        first_token=statistics.median(known) if known else None,
        malformed=_count(_of(events, "harness.decided"), _is_malformed),
        recovered=_count(_of(events, "harness.decided"), lambda event: event.get("form") == CallForm.REPAIRED),
        missed_edits=_count(
            _of(events, "tool.returned"),
            lambda event: event["name"] in _EDITS and not event["ok"] and event["call"] in tried,
        ),
        loops=int(any(event["decision"] == "stop" for event in _of(events, "harness.decided"))),
        changes=_count(_of(events, "edit.resolved"), lambda event: event["outcome"] in ("accepted", "modified")),
        stop_reason=ended.get("stopReason", ""),
        error=ended.get("error"),
        answered=asked[-1:] == ["model.replied"],
    )


def _is_malformed(event: Mapping[str, Any]) -> bool:
    """A reply that earned a nudge, or a call. A nudge about one call is about a repetition."""
    nudged = event["decision"] == "nudge" and event.get("call") is None
    return nudged or event.get("form") == CallForm.MALFORMED


def _of(events: Events, kind: str) -> list[Mapping[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def _count(events: Iterable[Mapping[str, Any]], matches: Callable[[Mapping[str, Any]], bool]) -> int:
    return sum(1 for event in events if matches(event))
