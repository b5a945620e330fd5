"""Tool calls and their results in a few words. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llamagent_terminal.screen import Span, Style, cells, clipped
from llamagent_terminal.visible import code, line

MOST_COLUMNS = 100
_OUTPUT_LINES = 12
_READ_LINES = re.compile(r" \((lines [\d-]+ of \w+|\d+ lines)\)$")  # as read_file heads what it gives


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Mapping[str, Any]


def call_line(call: Call, columns: int = MOST_COLUMNS) -> tuple[Span | str, ...]:
    """What the model wants: a command in full, anything else shortened to `columns`."""
    if call.name == "run_command":
        return (f"$ {line(str(call.arguments.get('command', '')))}",)
    words = " ".join(_argument(key, value) for key, value in call.arguments.items())
    name = line(call.name)
    return (name, " ", clipped(words, columns - cells(name) - 1))


def _argument(key: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if "\n" in text:
        count = text.count("\n") + (not text.endswith("\n"))
        return f"{line(key)}=({count} {'line' if count == 1 else 'lines'})"
    return line(text) if key in ("path", "pattern", "name") else f"{line(key)}={line(text)}"


def result_lines(call: Call, event: Mapping[str, Any]) -> Iterator[Span]:
    """What became of a call (a `tool.returned` event): the output of a command, a count for what was only read."""
    content, seconds = str(event["content"]), f"{event['seconds']:.1f} s"
    lines = content.rstrip("\n").split("\n")
    if not event["ok"]:
        yield from _shortened(lines, Style.ERROR)
    elif call.name == "run_command":
        yield from _shortened(lines, Style.DIM)
    elif len(lines) == 1 and len(lines[0]) <= MOST_COLUMNS:
        yield Span(code(lines[0]), Style.DIM)
    else:
        more = ", cut short" if event.get("truncated") else ""
        yield Span(f"{_count(call, lines)}{more}, {seconds}", Style.DIM)


def _count(call: Call, lines: list[str]) -> str:
    """How much was got. The first line of a file that was read says which lines these are."""
    said = _READ_LINES.search(lines[0]) if call.name == "read_file" else None
    count = said[1] if said else f"{len(lines)} lines"
    return "1 line" if count == "1 lines" else count


def _shortened(lines: list[str], style: Style) -> Iterator[Span]:
    """The beginning and, mostly, the end: what went wrong stands there."""
    if len(lines) > _OUTPUT_LINES:
        first = _OUTPUT_LINES // 3
        last = _OUTPUT_LINES - first - 1
        lines = [*lines[:first], f"... {len(lines) - first - last} more lines ...", *lines[-last:]]
    for text in lines:
        yield Span(code(text), style)
