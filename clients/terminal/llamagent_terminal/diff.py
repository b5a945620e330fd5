"""A unified diff of two texts, line by line, for a person to read before saying yes. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CONTEXT = 3
_MOST_PAIRS = 4_000_000  # difflib is quadratic at worst: beyond this a block is shown as replaced whole


class Kind(StrEnum):
    HUNK = "@"
    SAME = " "
    REMOVED = "-"
    ADDED = "+"
    NOTE = "\\"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a diff. `text` has no line end; where a hunk has two kinds of line
    ends, the CR of a CRLF stays in it."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    rows: tuple[Row, ...]
    added: int
    removed: int


_Span = tuple[int, int, int, int]  # old from, old to, new from, new to


def diff(before: str, after: str) -> Diff:
    old, new = _LINE.findall(before), _LINE.findall(after)
    spans = _changes(old, new)
    return Diff(
        rows=tuple(row for group in _groups(spans) for row in _rows(old, new, group)),
        added=sum(new_to - new_from for _, _, new_from, new_to in spans),
        removed=sum(old_to - old_from for old_from, old_to, _, _ in spans),
    )


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Span]:
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if not a and not b:
        return []
    if len(a) * len(b) > _MOST_PAIRS:
        return [(head, head + len(a), head, head + len(b))]
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(head + i1, head + i2, head + j1, head + j2) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def _groups(spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """Changes whose context would meet are shown in one hunk."""
    group: list[_Span] = []
    for span in spans:
        if group and span[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _rows(old: Sequence[str], new: Sequence[str], group: Sequence[_Span]) -> Iterator[Row]:
    old_from, new_from = max(group[0][0] - _CONTEXT, 0), group[0][2] - min(group[0][0], _CONTEXT)
    old_to = min(group[-1][1] + _CONTEXT, len(old))
    new_to = group[-1][3] + old_to - group[-1][1]
    yield Row(Kind.HUNK, f"@@ -{_range(old_from, old_to)} +{_range(new_from, new_to)} @@")
    ends = _ends_differ([*old[old_from:old_to], *new[new_from:new_to]])
    position = old_from
    for i1, i2, j1, j2 in group:
        yield from _side(Kind.SAME, old[position:i1], show_ends=ends)
        yield from _side(Kind.REMOVED, old[i1:i2], show_ends=ends)
        yield from _side(Kind.ADDED, new[j1:j2], show_ends=ends)
        position = i2
    yield from _side(Kind.SAME, old[position:old_to], show_ends=ends)


def _ends_differ(lines: Sequence[str]) -> bool:
    return len({line.endswith("\r\n") for line in lines if line.endswith("\n")}) > 1


def _side(kind: Kind, lines: Sequence[str], *, show_ends: bool) -> Iterator[Row]:
    for line in lines:
        yield Row(kind, line.removesuffix("\n") if show_ends or not line.endswith("\n") else _bare(line))
        if not line.endswith("\n"):
            yield Row(Kind.NOTE, " No newline at end of file")


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _range(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start
    return f"{first}" if count == 1 else f"{first},{count}"
