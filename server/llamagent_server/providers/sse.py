"""Server-sent events whose data is JSON: fed bytes, gives objects (OpenAI-compatible streams).

Tolerant where servers differ: `data:` with or without a space, CRLF, comments, an object over several data lines, no
blank line between two objects, a bare JSON object where an event should be (an error, mostly).
"""

from dataclasses import dataclass
from typing import TypeAlias

from llamagent_server.providers.lines import (
    MAX_LINE_BYTES,
    Garbage,
    Line,
    LineSplitter,
    Oversized,
    Record,
    parse_object,
)

_FIELDS_WITHOUT_MEANING = (b"event:", b"id:", b"retry:", b":")
# Nobody sends an object over more lines than these; each line costs another attempt to parse it.
_MAX_DATA_LINES = 64


@dataclass(frozen=True, slots=True)
class Done:
    """`data: [DONE]`: the stream's own end."""


SseEvent: TypeAlias = Record | Garbage | Done


class SseParser:
    """Outcomes: `Record` for an object, `Done`, `Garbage` for data or a line that is neither."""

    def __init__(self, max_line: int = MAX_LINE_BYTES) -> None:
        self._lines = LineSplitter(max_line)
        self._limit = max_line
        self._data: list[bytes] = []  # data lines that do not make an object yet

    def feed(self, data: bytes) -> list[SseEvent]:
        return [event for line in self._lines.feed(data) for event in self._take(line)]

    def close(self) -> list[SseEvent]:
        """A last event without its end."""
        events = [event for line in self._lines.close() for event in self._take(line)]
        return events + self._flush()

    def _take(self, line: Line) -> list[SseEvent]:
        if isinstance(line, Oversized):
            self._data.clear()
            return [parse_object(line)]
        if not line.strip():
            return self._flush()
        if line.startswith(b"data:"):
            return self._data_line(line.removeprefix(b"data:").removeprefix(b" "))
        if line.startswith(_FIELDS_WITHOUT_MEANING):
            return []
        return [*self._flush(), parse_object(line)]

    def _data_line(self, data: bytes) -> list[SseEvent]:
        if data.strip() == b"[DONE]":
            return [*self._flush(), Done()]
        self._data.append(data)
        whole = b"\n".join(self._data)
        if len(whole) > self._limit or len(self._data) > _MAX_DATA_LINES:
            self._data.clear()
            return [parse_object(Oversized(self._limit))]
        event = parse_object(whole)
        if isinstance(event, Garbage):
            return []  # more may follow; the blank line decides
        self._data.clear()
        return [event]

    def _flush(self) -> list[SseEvent]:
        if not self._data:
            return []
        whole = b"\n".join(self._data)
        self._data.clear()
        return [parse_object(whole)] if whole.strip() else []
