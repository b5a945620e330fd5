"""Text from models, files and servers as a person is shown it: what could hide or forge a part of it is written out."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from lsprotocol import types

from llamagent_server.core.unseen import UNSEEN, escaped, shown

# Controls (terminal escapes among them), formats (bidi and zero-width characters), lone surrogates, private use, and
# the separators that some editors break lines at.
_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_KEPT = "\n\t\u200c\u200d"  # lines, tabs, and the joiners inside words and emoji
_NOTHING = re.compile(f"{UNSEEN.pattern}|[\u200c\u200d]")
_GAP = re.compile(r" {40,}")
LINE_CHARS = 160  # of a command in a dialog
EMPTY_LINES = 3  # in a row
HEAD_LINES, TAIL_LINES = 40, 20  # of a long command in a dialog


def line(text: str) -> str:
    """For names, and for what stands in a sentence: one line, whatever is in it."""
    return shown(text)


def prose(text: str) -> str:
    """For the words of a model or a server: their lines stay."""
    if text.isprintable():
        return text
    return "".join(c if c in _KEPT or unicodedata.category(c) not in _HIDING else escaped(c) for c in _lines(text))


def code(text: str) -> str:
    """For a diff that is judged: also what looks like nothing is written out."""
    return UNSEEN.sub(
        lambda found: escaped(found[0]), prose(text).replace("\u200c", r"\u200c").replace("\u200d", r"\u200d")
    )


def command(text: str) -> str:
    """For what one says yes to, in a sentence of ours. What is longer than a line stands below it with a sign before
    each line (`$` the first, `>` another, `|` the rest of one that is long), so that no part of it can pass for words
    of ours, or be moved off the screen by blanks.
    """
    lines = [_GAP.sub(lambda gap: f" <{len(gap[0])} blanks> ", shown(one)) for one in _near(text.split("\n"))]
    if len(lines) == 1 and len(lines[0]) <= LINE_CHARS:
        return lines[0]
    signed = []
    for number, one in enumerate(lines):
        parts = [one[at : at + LINE_CHARS] for at in range(0, len(one), LINE_CHARS)] or [""]
        signed += [f"{'>' if number else '$'} {parts[0]}", *(f"| {part}" for part in parts[1:])]
    return "\n" + "\n".join(signed)


def lines_too_many(told: str) -> int:
    """How many lines of what `command` gave are left out where it is shortened; 0 where it is short enough."""
    over = len(told.split("\n")) - 1 - HEAD_LINES - TAIL_LINES
    return over if over > 1 else 0


def shortened(told: str, note: str) -> str:
    """What `command` gave, with `note` for its middle. It stands on a line without a sign: no command can write one."""
    lines = told.split("\n")
    return "\n".join([*lines[: HEAD_LINES + 1], f"… {note}", *lines[-TAIL_LINES:]])


def _near(lines: Iterable[str]) -> Iterator[str]:
    """`lines`, with one that counts them for many empty ones: what comes after these stays in sight."""
    for is_empty, group in groupby(lines, lambda one: not one.strip()):
        some = list(group)
        yield from [f"<{len(some)} empty lines>"] if is_empty and len(some) > EMPTY_LINES else some


def in_dialogs(params: Any) -> Any:
    """What an editor shows by itself (messages, questions, its log, progress): the one door that all of it passes."""
    match params:
        case types.ShowMessageParams() | types.LogMessageParams() | types.ShowMessageRequestParams():
            params.message = prose(params.message)
        case {"value": types.WorkDoneProgressBegin() | types.WorkDoneProgressReport() as value} if value.message:
            value.message = line(value.message)
    return params


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
