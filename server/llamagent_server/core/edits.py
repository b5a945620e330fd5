"""Replacing a piece of a text: at the one place that is meant and in the file's manner, or not at all, with the reason.

The model is shown LF and no byte order mark, so a difference in these alone does not count. Lines that the old and the
new text share keep the file's characters; new lines get the line ends of their neighbours.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from llamagent_server.core.diffs import matching, split_lines
from llamagent_server.core.placeholders import placeholder
from llamagent_server.core.places import Place, exact_places, line_number, tolerant_places

BOM = "\ufeff"
_SHOWN_LINES = 12
_SHOWN_WIDTH = 160
_TOLD_APART = 3  # places that are shown with the lines above them
_SHOWN_PLACES = 8
# Comparing lines by their characters is slow: only so many of those that share a word are looked at.
_COMPARED = 2_000
_LOOKED_AT = 50_000


@dataclass(frozen=True, slots=True)
class Edited:
    """`after` is the whole text; where the match needed tolerance `exact` is False and `note` says which. It says so,
    too, where an exact match is a part of a longer word."""

    after: str
    exact: bool
    note: str = ""


class ProblemKind(StrEnum):
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    NO_CHANGE = "no_change"
    PLACEHOLDER = "placeholder"


@dataclass(frozen=True, slots=True)
class EditProblem:
    """Why nothing was changed; `message` says what to do instead."""

    kind: ProblemKind
    message: str


def replace(text: str, old: str, new: str) -> Edited | EditProblem:
    """`text` with the one place that reads `old` made to read `new`."""
    old, new = _as_shown(old), _as_shown(new)
    if not old:
        return EditProblem(ProblemKind.AMBIGUOUS, f"old_text is empty: that is found everywhere. {_to_add(text)}")
    if old == new:
        return EditProblem(ProblemKind.NO_CHANGE, "old_text and new_text are the same: nothing would change.")
    places = exact_places(text, old, new) or tolerant_places(text, old, new)
    if not places:
        return EditProblem(ProblemKind.NOT_FOUND, _not_found(text, old))
    if len(places) > 1:
        return EditProblem(ProblemKind.AMBIGUOUS, _ambiguous(text, places))
    if found := placeholder(new, text):
        return EditProblem(ProblemKind.PLACEHOLDER, f"new_text leaves code out ({found}). Write every line in full.")
    place = places[0]
    after = _with_final_line_end(text, text[: place.start] + _merged(text, place) + text[place.end :])
    if after == text:
        return EditProblem(ProblemKind.NO_CHANGE, "The file already reads like new_text: nothing would change.")
    return Edited(after, exact=not place.notes, note=_note(place.notes) or _word_note(text, place))


def rewrite(text: str, content: str) -> Edited | EditProblem:
    """`text` made to read `content` as a whole, in the file's manner: its byte order mark, the line ends of its lines,
    and whether its last line has one."""
    shown, new = _as_shown(text), _as_shown(content)
    if text and shown:
        new = new.removesuffix("\n") + ("\n" if shown.endswith("\n") else "")
    if found := placeholder(new, text):
        return EditProblem(ProblemKind.PLACEHOLDER, f"The content leaves code out ({found}). Write every line in full.")
    lines = tuple(new.split("\n"))
    start = len(BOM) if text.startswith(BOM) else 0
    after = text[:start] + _merged(text, Place(start, len(text), tuple(shown.split("\n")), lines, lines))
    if after == text:
        return EditProblem(ProblemKind.NO_CHANGE, "The file already reads like this: nothing would change.")
    return Edited(after, exact=True)


def _as_shown(text: str) -> str:
    return text.removeprefix(BOM).replace("\r\n", "\n")


def _note(notes: Sequence[str]) -> str:
    return f"the old text was found although it differed in {', '.join(notes)}" if notes else ""


def _word_note(text: str, place: Place) -> str:
    """`count = 0` is found in `discount = 0`, too."""
    cut = any(_in_word(text[max(0, at - 1) : at + 1]) for at in (place.start, place.end))
    return "the old text is only a part of a longer word" if cut else ""


def _in_word(around: str) -> bool:
    return len(around) == 2 and around.isascii() and around.replace("_", "a").isalnum()


# --- Writing the new lines in the file's manner --------------------------------------------------------------------


def _merged(text: str, place: Place) -> str:
    """The new lines of `place`, those that it shares with the old ones as the file has them."""
    lines = text[place.start : place.end].split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in lines[:-1]]
    contents = [line.removesuffix("\r") for line in lines[:-1]] + lines[-1:]
    ends.append(_end_after(text, place) or (ends[-1] if ends else _end_before(text, place)))
    out: list[str] = []
    old_at = new_at = 0
    for i, j in (*matching(list(place.old), list(place.new)), (len(contents), len(place.new))):
        # A line that replaces another takes its end; one that is added takes that of the line above.
        for step in range(j - new_at):
            out += [place.written[new_at + step], ends[max(0, min(old_at + step, max(i, old_at) - 1))]]
        if i < len(contents):
            out += [contents[i], ends[i]]
        old_at, new_at = i + 1, j + 1
    return "".join(out[:-1])


def _end_after(text: str, place: Place) -> str:
    """The end of the line in which `place` ends, "" where the text ends without one."""
    at = text.find("\n", place.end)
    if at < 0:
        return ""
    return "\r\n" if text[place.end : at].endswith("\r") else "\n"


def _end_before(text: str, place: Place) -> str:
    at = text.rfind("\n", 0, place.start)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _with_final_line_end(before: str, after: str) -> str:
    """`after` ends with a line end if `before` did."""
    if not before.endswith("\n") or not after or after.endswith("\n"):
        return after
    return after + ("\r\n" if before.endswith("\r\n") else "\n")


# --- What the model is told ----------------------------------------------------------------------------------------


def _to_add(text: str) -> str:
    last = next((line.strip("\r\n") for line in reversed(split_lines(text.removeprefix(BOM))) if line.strip()), "")
    if not last:
        return "Give the whole content to write_file."
    return (
        f"Copy the lines to change. To add to the end, copy the last line into both, and what is new after it:\n{last}"
    )


def _ambiguous(text: str, places: Sequence[Place]) -> str:
    numbers = [line_number(text, place.start) for place in places]
    shown = ", ".join(map(str, numbers[:_SHOWN_PLACES])) + (", ..." if len(numbers) > _SHOWN_PLACES else "")
    found = f"old_text is found at {len(numbers)} places (lines {shown})."
    lines = [line.rstrip("\r\n") for line in split_lines(text.removeprefix(BOM))]
    above = _telling_apart(lines, numbers)
    if above is None:
        return f"{found} Add lines around it so that only one is meant."
    blocks = [
        "\n".join(f"{line + 1}: {lines[line][:_SHOWN_WIDTH]}" for line in range(max(0, number - 1 - above), number))
        for number in numbers[:_TOLD_APART]
    ]
    return (
        f"{found} Begin both old_text and new_text further up, so that only one is meant (number: text):\n"
        + "\nor\n".join(blocks)
    )


def _telling_apart(lines: Sequence[str], numbers: Sequence[int]) -> int | None:
    """How many lines above these lines, of which the first is 1, are needed so that no two places look the same; None
    where a few are not enough, or the places begin in one line."""
    if len(set(numbers)) < len(numbers) or len(numbers) > _COMPARED:
        return None
    for above in range(1, _SHOWN_LINES):
        contexts = {tuple(lines[max(0, number - 1 - above) : number - 1]) for number in numbers}
        # At the file's beginning there are fewer: these may be the end of another context.
        cut = [context for context in contexts if len(context) < above]
        ends = any(other[len(other) - len(short) :] == short for short in cut for other in contexts - {short})
        if len(contexts) == len(numbers) and not ends:
            return above
    return None


def _not_found(text: str, old: str) -> str:
    lines = [line.rstrip("\r\n") for line in split_lines(text.removeprefix(BOM))]
    wanted = old.strip("\n").split("\n")
    start = _nearest(lines, wanted)
    if start is None:
        return "old_text is not in the file, nor anything like it. Read the file and copy old_text from it."
    first, last = max(0, start - 1), min(len(lines), start + min(len(wanted), _SHOWN_LINES - 2) + 1)
    shown = "\n".join(f"{number + 1}: {lines[number][:_SHOWN_WIDTH]}" for number in range(first, last))
    return f"old_text is not in the file. The nearest lines are (number: text):\n{shown}\nCopy old_text from these."


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The index of the line where `wanted` begins most likely: where most of its lines stand, else the likest line."""
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(index)
    votes: dict[int, float] = {}
    for offset, line in enumerate(wanted):
        here = places.get(line.strip(), []) if line.strip() else []
        for index in here[:_COMPARED]:
            # A line that stands in many places says little about which one is meant.
            votes[index - offset] = votes.get(index - offset, 0.0) + len(line) / len(here)
    if votes:
        return max(0, max(votes, key=lambda start: votes[start]))
    return _likest(lines, wanted)


def _likest(lines: list[str], wanted: list[str]) -> int | None:
    offset, model = max(enumerate(wanted), key=lambda item: len(item[1].strip()))
    matcher = SequenceMatcher(None, "", model.strip()[:_SHOWN_WIDTH], autojunk=False)
    best, best_ratio = None, 0.6
    wanted_words = _words(model)
    shared = [(len(wanted_words & _words(line)), -index) for index, line in enumerate(lines[:_LOOKED_AT])]
    for _, negative in heapq.nlargest(_COMPARED, shared):
        index = -negative
        matcher.set_seq1(lines[index].strip()[:_SHOWN_WIDTH])
        if matcher.quick_ratio() > best_ratio and (ratio := matcher.ratio()) > best_ratio:
            best, best_ratio = index, ratio
    return None if best is None else max(0, best - offset)


def _words(line: str) -> frozenset[str]:
    plain = "".join(character if character.isalnum() else " " for character in line[: 4 * _SHOWN_WIDTH])
    return frozenset(word for word in plain.split() if len(word) > 2)
