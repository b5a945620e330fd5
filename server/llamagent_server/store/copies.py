"""The records of one conversation under the id of another."""

from collections.abc import Iterable

from llamagent_server.core.messages import Json, JsonObject


def copied(records: Iterable[JsonObject], session: str) -> tuple[JsonObject, ...]:
    return tuple(_copied(record, session) for record in records)


def moved(events: Iterable[JsonObject], session: str) -> tuple[dict[str, Json], ...]:
    """Trace events as those of `session`."""
    return tuple({**event, "session": session} for event in events)


def _copied(record: JsonObject, session: str) -> JsonObject:
    event = record.get("event")
    if record.get("type") == "event" and isinstance(event, dict):
        return {**record, "event": {**event, "session": session}}
    return {**record, "id": session} if record.get("type") == "session" else record
