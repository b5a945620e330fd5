"""LSP text edits on a text: positions, ranges and their order, as the specification has them. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: tuple[Encoding, ...] = ("utf-32", "utf-8", "utf-16")

_LINE_END = re.compile(r"\r\n|\n|\r")


class WrongEdit(Exception):
    """The edit does not fit the text, or is none that this client declared. Says so in words for the person."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` takes the place of `before[start:end]`; offsets are code points."""

    start: int
    end: int
    text: str


def read_edits(before: str, edits: Sequence[object], encoding: Encoding) -> tuple[Edit, ...]:
    """The TextEdits (decoded JSON) as offsets into `before`, in order of position. Raises WrongEdit."""
    lines = _line_spans(before)
    found = sorted((_edit(before, lines, edit, encoding) for edit in edits), key=lambda edit: edit.start)
    for first, second in pairwise(found):
        if second.start < first.end:
            raise WrongEdit("the edit's ranges overlap")
    return tuple(found)


def apply_edits(before: str, edits: Sequence[Edit]) -> str:
    """`before` with `edits`, as `read_edits` gave them, made. Insertions at one place keep their order."""
    parts, position = [], 0
    for edit in edits:
        parts += [before[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, before[position:]])


def _edit(text: str, lines: list[tuple[int, int]], edit: object, encoding: Encoding) -> Edit:
    match edit:
        case {"range": {"start": start, "end": end}, "newText": str(new)}:
            begin, stop = _offset(text, lines, start, encoding), _offset(text, lines, end, encoding)
            if stop < begin:
                raise WrongEdit("the edit's range ends before it begins")
            return Edit(begin, stop, new)
    raise WrongEdit("the edit is of a form that this client does not know")


def _offset(text: str, lines: list[tuple[int, int]], position: object, encoding: Encoding) -> int:
    """A position past its line's end means the end of the line; one past the last line the end of the text."""
    match position:
        case {"line": int(line), "character": int(character)} if line >= 0 and character >= 0:
            if line >= len(lines):
                return len(text)
            start, end = lines[line]
            return start + _code_points(text[start:end], character, encoding)
    raise WrongEdit("the edit has a position that is none")


def _line_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each line, without its line end."""
    spans, start = [], 0
    for found in _LINE_END.finditer(text):
        spans.append((start, found.start()))
        start = found.end()
    return [*spans, (start, len(text))]


def _code_points(line: str, units: int, encoding: Encoding) -> int:
    """How many characters of `line` the first `units` code units fill; a unit inside a character means its start."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    used = 0
    for index, char in enumerate(line):
        used += _units(char, encoding)
        if used > units:
            return index
    return len(line)


def _units(char: str, encoding: Encoding) -> int:
    point = ord(char)
    if encoding == "utf-16":
        return 2 if point > 0xFFFF else 1
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4
