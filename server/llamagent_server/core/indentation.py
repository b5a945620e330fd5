"""A text moved to the indentation of a file: shifted as a whole, or with tabs for blanks and back."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

BLANKS = " \t"
_Move: TypeAlias = Callable[[str], str | None]
_WIDTHS = (4, 2, 8, 3, 1, 5, 6, 7)


def reindented(levels: Sequence[tuple[str, str]], lines: Sequence[str]) -> list[str] | None:
    """`lines` with the file's indentation. `levels` pairs the model's indentation of each line with the file's.

    None where no single rule explains every pair, or where two rules do and would give different lines.
    """
    for rules in (_shifts, _conversions, _shifted_conversions):
        answers = {
            tuple(moved)
            for move in rules(levels)
            if all(move(ours) == theirs for ours, theirs in levels) and (moved := _moved(lines, move)) is not None
        }
        if len(answers) == 1:
            return list(answers.pop())
        if answers:
            return None
    return None


def _moved(lines: Sequence[str], move: _Move) -> list[str] | None:
    out = []
    for line in lines:
        rest = line.lstrip(BLANKS)
        lead = move(line[: len(line) - len(rest)]) if rest else line
        if lead is None:
            return None
        out.append(lead + rest)
    return out


def _shifts(levels: Sequence[tuple[str, str]]) -> Iterator[_Move]:
    """The same blanks added to, or taken from, the front of every line."""
    ours, theirs = levels[0]
    if theirs.endswith(ours):
        yield _adding(theirs[: len(theirs) - len(ours)])
    elif ours.endswith(theirs):
        yield _dropping(ours[: len(ours) - len(theirs)])


def _adding(prefix: str) -> _Move:
    return lambda lead: prefix + lead


def _dropping(prefix: str) -> _Move:
    return lambda lead: lead[len(prefix) :] if lead.startswith(prefix) else None


def _conversions(_levels: Sequence[tuple[str, str]]) -> Iterator[_Move]:
    """A tab of the file for every so many blanks of the model, or the other way round."""
    for width in _WIDTHS:
        yield _to_tabs(width)
        yield _to_blanks(width)


def _shifted_conversions(levels: Sequence[tuple[str, str]]) -> Iterator[_Move]:
    for convert in _conversions(levels):
        ours = convert(levels[0][0])
        if ours is not None:
            yield from (_then(convert, shift) for shift in _shifts([(ours, levels[0][1])]))


def _then(first: _Move, second: _Move) -> _Move:
    def move(lead: str) -> str | None:
        between = first(lead)
        return None if between is None else second(between)

    return move


def _to_tabs(width: int) -> _Move:
    def move(lead: str) -> str | None:
        if "\t" in lead:
            return None
        return "\t" * (len(lead) // width) + " " * (len(lead) % width)

    return move


def _to_blanks(width: int) -> _Move:
    return lambda lead: lead.replace("\t", " " * width) if lead.strip("\t") == "" else None
