"""What the list of conversations shows of a stored one, read in one pass over its bytes without parsing them all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from llamagent_server.core.messages import Json, JsonObject
from llamagent_server.store.journal import TORN_TYPE

TITLE_CHARS = 80
# How a line of each kind begins, as core.records and store.journal write it.
_LINE = b'{"type":"'
_USER = b'{"type":"message","role":"user",'
_NO_TASK = b'"task":false}'
_ASSISTANT = b'{"type":"message","role":"assistant",'
_CLEARED = b'{"type":"cleared"'
_TITLE = b'{"type":"title",'
_TURN = b'{"type":"turn",'
_REWOUND = b'{"type":"rewound",'
_TORN = b'{"type":"' + TORN_TYPE.encode() + b'"'
_TELLING = (_USER, _ASSISTANT, _CLEARED, _TITLE, _TURN, _REWOUND, _TORN)


@dataclass(frozen=True, slots=True)
class Summary:
    """`messages` counts the person's and the model's since the conversation was last cleared."""

    title: str = ""
    model: str = ""
    messages: int = 0
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a conversation's file says. `problem` is what was damaged in it."""

    title: str
    records: Sequence[JsonObject]
    problem: str | None = None


def short_title(text: str) -> str:
    """The first line of a person's words, shortened."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "…"


def summarise(data: bytes) -> Summary:
    """Of a journal's bytes."""
    *lines, rest = data.split(b"\n")
    if rest.endswith(b"}") and _parsed(rest):  # whole but for the line's end
        lines.append(rest)
    title, messages, bad = "", 0, set()
    at_turns: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines):
        if not (line.startswith(_LINE) and line.endswith(b"}")):
            bad.add(number)
        elif not line.startswith(_TELLING):
            continue  # most lines: what follows is only for the others
        elif line.startswith(_USER):
            if not line.endswith(_NO_TASK):
                messages += 1
                title = title or short_title(_text(_parsed(line), "content"))
        elif line.startswith(_ASSISTANT):
            messages += 1
        elif line.startswith(_CLEARED):
            title, messages = "", 0
        elif line.startswith(_TITLE):
            title = short_title(_text(_parsed(line), "title")) or title
        elif line.startswith(_TURN):
            at_turns[_text(_parsed(line), "id")] = title, messages
        elif line.startswith(_REWOUND):
            title, messages = at_turns.get(_text(_parsed(line), "turn"), (title, messages))
        elif line.startswith(_TORN):
            bad.discard(number - 1)
    header = _parsed(lines[0]) if lines else {}
    damaged = bool(bad) or header.get("type") != "session" or not _is_text(data)
    return Summary(title, _text(header, "model"), messages, damaged)


def _is_text(data: bytes) -> bool:
    """Nor is there a NUL, as a lost block of the disk leaves them."""
    if b"\0" in data:
        return False
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError as error:
        return error.end == len(data)  # the last character was cut off with its line


def _parsed(line: bytes) -> JsonObject:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(record: JsonObject, key: str) -> str:
    value: Json = record.get(key)
    return value if isinstance(value, str) else ""


def utc(seconds: float) -> str:
    """A time as the list shows it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
