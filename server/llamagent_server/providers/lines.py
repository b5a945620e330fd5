"""Bytes in, lines and JSON objects out, whatever the chunks they come in. No I/O, and bounded."""

import json
from dataclasses import dataclass
from typing import TypeAlias

from llamagent_server.core.messages import Json

# The longest line of an honest server is a tool call with a whole file in it.
MAX_LINE_BYTES = 4 * 1024 * 1024
_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a stream."""

    value: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Garbage:
    """What is no JSON object: why, and how it begins."""

    problem: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line longer than the limit; the rest of it is skipped."""

    limit: int


Line: TypeAlias = bytes | Oversized


class LineSplitter:
    """Give it bytes, get whole lines without their end (LF or CRLF). `limit`: bytes in a line."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[Line]:
        lines: list[Line] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._extend(piece, lines)
            if not self._skipping:
                lines.append(bytes(self._rest).removesuffix(b"\r"))
            self._rest.clear()
            self._skipping = False
        self._extend(rest, lines)
        return lines

    def close(self) -> list[Line]:
        """What came after the last line end."""
        rest = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        return [rest] if rest else []

    def _extend(self, piece: bytes, lines: list[Line]) -> None:
        if self._skipping:
            return
        if len(self._rest) + len(piece) > self._limit:
            lines.append(Oversized(self._limit))
            self._rest.clear()
            self._skipping = True
        else:
            self._rest += piece


def parse_object(line: Line) -> Record | Garbage:
    """A line as a JSON object. Bytes that are not UTF-8 are replaced; control characters in strings are let pass."""
    if isinstance(line, Oversized):
        return Garbage(f"a line longer than {line.limit // (1024 * 1024)} MB")
    text = line.decode("utf-8-sig", "replace")
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        return Garbage(f"no JSON ({error})", text[:_EXCERPT])
    if not isinstance(value, dict):
        return Garbage("JSON, but no object", text[:_EXCERPT])
    return Record(value)
