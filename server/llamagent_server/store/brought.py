"""What a folder brings that counts only as its person saw it: a label for them, and a digest to remember.

A digest is of what a thing allows, so that a comment, another order or another line end is no change.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

_DIGITS = 32  # of SHA-256 in hexadecimal: what is compared was chosen by a stranger, but seen by the person
LABELS = 12
LABEL_CHARS = 80


@dataclass(frozen=True, slots=True)
class Brought:
    """`label` says what it is; `digest` is the same only for the same content."""

    label: str
    digest: str


Seen: TypeAlias = Callable[[Brought], bool]


def every(_: Brought) -> bool:
    """Seen: all of it, in a folder that the editor vouches for."""
    return True


def of_setting(key: str, value: object) -> Brought:
    """One value of a setting; of a list, one item."""
    return Brought(f'{key} "{value}"', _digest("setting", key, str(value)))


def of_notes(text: str) -> Brought:
    """The AGENTS.md, as the model is given it."""
    return Brought("AGENTS.md", _digest("notes", *text.splitlines()))


def of_skill(name: str, description: str, text: str) -> Brought:
    return Brought(f"skill {name}", _digest("skill", name, description, *text.splitlines()))


def of_skill_file(name: str, path: str, text: str) -> Brought:
    """A file beside a skill."""
    return Brought(f"skill {name}/{path}", _digest("file", name, path, *text.splitlines()))


def labels(items: Iterable[Brought]) -> tuple[str, ...]:
    """What a question names: one line each, the last of many is only a number."""
    named = [item.label if len(item.label) <= LABEL_CHARS else f"{item.label[:LABEL_CHARS]}…" for item in items]
    more = len(named) - LABELS
    return tuple(named) if more <= 0 else (*named[:LABELS], f"+{more}")


def digests(items: Iterable[Brought]) -> tuple[str, ...]:
    return tuple(item.digest for item in items)


def _digest(*parts: str) -> str:
    data = json.dumps(parts).encode()
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
