"""Where a piece of text stands in a file: exactly, else with named tolerance, and never where a real token differs."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from llamagent_server.core.diffs import split_lines
from llamagent_server.core.indentation import reindented

BOM = "\ufeff"
BLANKS = " \t"
_MOST_PLACES = 100

# What a model writes for the typographic characters that it cannot see or type: one for one, so offsets stay.
_PLAIN = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f", " ")
)


@dataclass(frozen=True, slots=True)
class Place:
    """`text[start:end]` is what the lines `old` mean; `new` are the lines to stand there, as the model wrote them.

    `written` are the new lines with the file's indentation. No line has its end. `notes` names the tolerances that were
    needed; none = exact.
    """

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    written: tuple[str, ...]
    notes: tuple[str, ...] = ()


def line_number(text: str, offset: int) -> int:
    """The 1-based number of the line that holds `offset`."""
    return text.count("\n", 0, offset) + 1


def exact_places(text: str, old: str, new: str) -> list[Place]:
    """Every place of `old` (with LF, without a byte order mark), overlapping ones too, at most a hundred."""
    lines = tuple(new.split("\n"))
    view = text.replace("\r\n", "\n")
    return [Place(start, end, tuple(old.split("\n")), lines, lines) for start, end in _found(text, view, old)]


def tolerant_places(text: str, old: str, new: str) -> list[Place]:
    """The places that `old` means with tolerance, for the first way of preparing it that gives any."""
    as_given = _Wanted(tuple(old.split("\n")), tuple(new.split("\n")))
    places = list(_by_lines(text, as_given))
    places += [place for place in _by_quotes(text, as_given) if not any(_overlap(place, other) for other in places)]
    places = places or list(_by_form(text, as_given))
    for steps in PREPARATIONS:
        if places:
            break
        wanted: _Wanted | None = as_given
        for step in steps:
            wanted = step(wanted) if wanted is not None else None
        places = list(_by_lines(text, wanted)) if wanted is not None else []
    return places


def _overlap(one: Place, other: Place) -> bool:
    return one.start < other.end and other.start < one.end


# --- Inside lines: exactly, and with typographic characters --------------------------------------------------------


def _found(text: str, view: str, old: str) -> list[tuple[int, int]]:
    """Places of `old` in `view`, which is `text` with LF, as offsets into `text`."""
    starts: list[int] = []
    at = view.find(old, 1 if text.startswith(BOM) else 0)
    while at >= 0 and len(starts) < _MOST_PLACES:
        starts.append(at)
        at = view.find(old, at + 1)
    if not starts:
        return []
    raw = _raw_offsets(text, view)
    return [(raw(start), raw(start + len(old))) for start in starts]


def _raw_offsets(text: str, view: str) -> Callable[[int], int]:
    """From an offset in the LF view to the one in `text`; at a line end, to the place before its CR."""
    if len(text) == len(view):
        return lambda offset: offset
    in_view, in_text = [0], [0]
    for line in split_lines(text):
        in_text.append(in_text[-1] + len(line))
        in_view.append(in_view[-1] + len(line) - line.endswith("\r\n"))

    def raw(offset: int) -> int:
        line = bisect_right(in_view, offset) - 1
        return in_text[line] + offset - in_view[line]

    return raw


def _by_quotes(text: str, wanted: "_Wanted") -> Iterator[Place]:
    """Places inside lines that read like the wanted text but for typographic quotes and blanks of the file."""
    view, old = text.replace("\r\n", "\n"), "\n".join(wanted.old)
    if not old.strip():
        return
    for start, end in _found(text, view.translate(_PLAIN), old.translate(_PLAIN)):
        if _reads(text[start:end].replace("\r\n", "\n"), old):
            yield Place(start, end, wanted.old, wanted.new, wanted.new, (QUOTES,))


_GOES_ON = re.compile("[\u1160-\u11ff]")


def _by_form(text: str, wanted: "_Wanted") -> Iterator[Place]:
    """Places inside lines that differ by how accents are encoded only; the new text is written as the file has them."""
    old = "\n".join(wanted.old)
    if old.isascii() or text.isascii():
        return
    lf = text.replace("\r\n", "\n")
    apart = {ord(one): unicodedata.normalize("NFD", one) for one in {*lf, *old} if not one.isascii()}
    view = lf.translate(apart)
    found = _found(view, view, old.translate(apart))
    if not found:
        return
    at = {start: index for index, start in enumerate(accumulate((len(apart.get(ord(c), c)) for c in lf), initial=0))}
    raw = _raw_offsets(text, lf)
    for start, end in found:
        # A letter with a mark is none without it, nor is the beginning of a Korean syllable.
        if (
            start not in at
            or end not in at
            or _GOES_ON.match(view, end)
            or unicodedata.combining(view[end : end + 1] or " ")
        ):
            continue
        first, last = raw(at[start]), raw(at[end])
        form: Literal["NFC", "NFD"] = "NFD" if unicodedata.is_normalized("NFD", text[first:last]) else "NFC"
        written = tuple(unicodedata.normalize(form, line) for line in wanted.new)
        yield Place(first, last, wanted.old, wanted.new, written, (FORM,))


def _reads(in_file: str, wanted: str) -> bool:
    """Whether the file's text reads like the wanted one, whose plain characters may stand for typographic ones."""
    return len(in_file) == len(wanted) and all(
        a == b or a.translate(_PLAIN) == b for a, b in zip(in_file, wanted, strict=True)
    )


# --- By whole lines ------------------------------------------------------------------------------------------------

QUOTES = "typographic quotes or blanks"
FORM = "the encoding of accents"
TRAILING = "white space at line ends"
INDENTATION = "indentation"
NUMBERS = "line numbers"
EDGES = "blank lines around it"
FINAL = "the final newline"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Old and new lines without their ends; a text that ends with a line end has a last line "".

    `only_line`: the number of the one line of the file (1-based) at which a single line with a number may match.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    notes: tuple[str, ...] = ()
    only_line: int | None = None


def _by_lines(text: str, wanted: _Wanted) -> Iterator[Place]:
    """Every run of whole lines that means the wanted ones."""
    skip = len(BOM) if text.startswith(BOM) else 0
    lines = split_lines(text[skip:])
    contents = [content(line) for line in lines]
    ends_line = len(wanted.old) > 1 and not wanted.old[-1]
    core = wanted.old[:-1] if ends_line else wanted.old
    if not any(line.strip(BLANKS) for line in core):
        return
    offsets = list(accumulate((len(line) for line in lines), initial=skip))
    for first in _runs([_key(line) for line in contents], [_key(line) for line in core]):
        last = first + len(core)
        if wanted.only_line not in (None, first + 1) or (fit := _fit(core, contents[first:last], wanted.new)) is None:
            continue
        notes = (*wanted.notes, *fit.notes)
        if not ends_line:
            end = offsets[last - 1] + len(contents[last - 1])
            yield Place(offsets[first], end, wanted.old, wanted.new, fit.written, notes)
        elif lines[last - 1].endswith("\n"):
            # Whole lines stay whole: a new text without the line end that the old one has gets it back.
            more = () if not wanted.new[-1] else ("",)
            new, written = wanted.new + more, fit.written + more
            yield Place(offsets[first], offsets[last], wanted.old, new, written, notes)
        else:
            keep = -1 if len(wanted.new) > 1 and not wanted.new[-1] else None
            yield Place(offsets[first], offsets[last], core, wanted.new[:keep], fit.written[:keep], (*notes, FINAL))


def content(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def _key(line: str) -> str:
    return line.translate(_PLAIN).strip(BLANKS)


def _runs(keys: list[str], wanted: list[str]) -> Iterator[int]:
    """Where the `wanted` keys stand one after another."""
    rarest = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    found = 0
    for index, key in enumerate(keys):
        first = index - rarest
        if key == wanted[rarest] and first >= 0 and keys[first : first + len(wanted)] == wanted:
            yield first
            found += 1
            if found == _MOST_PLACES:
                return


@dataclass(frozen=True, slots=True)
class _Fit:
    written: tuple[str, ...]
    notes: tuple[str, ...]


def _fit(core: Sequence[str], in_file: Sequence[str], new: Sequence[str]) -> _Fit | None:
    """The new lines with the file's indentation, and what was tolerated; None where a real difference remains."""
    pairs = list(zip(core, in_file, strict=True))
    filled = [(ours, theirs) for ours, theirs in pairs if ours.strip(BLANKS)]
    if not all(_reads(theirs.strip(BLANKS), ours.strip(BLANKS)) for ours, theirs in filled):
        return None
    levels = [(_lead(ours), _lead(theirs)) for ours, theirs in filled]
    moves = any(ours != theirs for ours, theirs in levels)
    written = reindented(levels, new) if moves else new
    if written is None:
        return None
    tolerated = {
        TRAILING: any(_trail(ours) != _trail(theirs) for ours, theirs in pairs),
        INDENTATION: moves,
        QUOTES: any(ours.strip(BLANKS) != theirs.strip(BLANKS) for ours, theirs in filled),
    }
    return _Fit(tuple(written), tuple(note for note, needed in tolerated.items() if needed))


def _lead(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _trail(line: str) -> str:
    return line[len(line.rstrip(BLANKS)) :]


# --- Ways of preparing what the model wrote ------------------------------------------------------------------------

_NUMBERED = re.compile(r"[ \t]*(?P<number>\d{1,7})(?P<mark>:|\t|[ \t]*[|\u2502\u2192])(?P<rest>.*)", re.DOTALL)


def _without_numbers(wanted: _Wanted) -> _Wanted | None:
    """Without line numbers copied from what the model was shown: counting up by one, all with the same mark."""
    ends_line = len(wanted.old) > 1 and not wanted.old[-1]
    found = [_NUMBERED.fullmatch(line) for line in (wanted.old[:-1] if ends_line else wanted.old)]
    old = [match for match in found if match is not None]
    numbers = [int(match["number"]) for match in old]
    marks = {match["mark"].strip(" ") for match in old}
    if len(old) < len(found) or len(marks) != 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    gap = " " if marks != {"\t"} and all(match["rest"][:1] in ("", " ") for match in old) else ""
    new = _new_without_numbers(wanted.new, marks.pop(), range(numbers[0], numbers[-1] + len(wanted.new) + 1), gap)
    if new is None:
        return None
    rests = tuple(match["rest"].removeprefix(gap) for match in old)
    only_line = numbers[0] if len(numbers) == 1 else None
    return _Wanted(rests + wanted.old[len(rests) :], new, (*wanted.notes, NUMBERS), only_line)


def _new_without_numbers(lines: Sequence[str], mark: str, likely: range, gap: str) -> tuple[str, ...] | None:
    """The new lines without their `likely` numbers; None where those are hard to tell from content."""
    found = [_NUMBERED.fullmatch(line) for line in lines]
    real = [m if m and m["mark"].strip(" ") == mark and int(m["number"]) in likely else None for m in found]
    numbers = [int(match["number"]) for match in real if match is not None]
    if not numbers:
        return tuple(lines)
    first = next(index for index, line in enumerate(lines) if line.strip())
    if real[first] is None or numbers != sorted(numbers):
        return None
    return tuple(m["rest"].removeprefix(gap) if m else line for m, line in zip(real, lines, strict=True))


def _without_edges(wanted: _Wanted) -> _Wanted | None:
    """Without the blank lines at the edges of the old text, and as many at those of the new one."""
    blank = [not line.strip(BLANKS) for line in wanted.old]
    if all(blank) or not (blank[0] or blank[-1]):
        return None
    head, tail = blank.index(False), blank[::-1].index(False)
    new = list(wanted.new)
    for count, index in ((tail, -1), (head, 0)):
        for _ in range(count):
            if len(new) > 1 and not new[index].strip(BLANKS):
                new.pop(index)
    return replace(wanted, old=wanted.old[head : len(wanted.old) - tail], new=tuple(new), notes=(*wanted.notes, EDGES))


# Tried in this order; the first that gives a place decides. A new tolerance is a row here, or a check in `_fit`.
PREPARATIONS: tuple[tuple[Callable[[_Wanted], _Wanted | None], ...], ...] = (
    (_without_numbers,),
    (_without_edges,),
    (_without_edges, _without_numbers),
    (_without_numbers, _without_edges),
)
