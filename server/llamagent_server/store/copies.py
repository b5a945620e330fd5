"""The records of one conversation under the id of another."""

from collections.abc import Iterable
from dataclasses import replace

from llamagent_server.core.messages import JsonObject
from llamagent_server.store.traces import Trace


def copied(records: Iterable[JsonObject], session: str) -> tuple[JsonObject, ...]:
    return tuple(_copied(record, session) for record in records)


def moved(trace: Trace, session: str) -> Trace:
    """A trace as that of `session`."""
    return replace(trace, events=tuple({**event, "session": session} for event in trace.events))


def _copied(record: JsonObject, session: str) -> JsonObject:
    event = record.get("event")
    if record.get("type") == "event" and isinstance(event, dict):
        return {**record, "event": {**event, "session": session}}
    return {**record, "id": session} if record.get("type") == "session" else record
