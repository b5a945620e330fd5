"""The header of a skill: YAML between two lines `---`, read with bounds, and what is wrong with it by line and column.

The keys are those of the open Agent Skills layout. Only the outermost ones count: values below them are passed over as
they come, so that neither aliases nor depth cost anything.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

MOST_CHARS = 4096  # of a header; a few names and sentences
MOST_BRACKETS = 40  # what YAML's scanner makes of thousands of open ones takes seconds
MOST_EVENTS = 200  # keys, values, beginnings and ends of lists: some twenty microseconds each
DEEPEST = 8
SHOWN_CHARS = 200  # of a description: it stands in the system prompt of a model that sees 8192 tokens
_FENCE = "---"
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table. `longest` in characters; `allowed` and `help` are for the person."""

    name: str
    help: str
    allowed: str
    longest: int | None = None
    is_text: bool = True


KEYS: tuple[Key, ...] = (
    Key(
        "name",
        "What the skill is called. It is the name of its folder.",
        "small letters, digits and hyphens, at most 64",
        64,
    ),
    Key(
        "description",
        "What the skill does and when to use it: by this the model decides whether to load it.",
        f"a text of at most 1024 characters, of which the model sees the first {SHOWN_CHARS}",
        1024,
    ),
    Key("license", "The licence of the skill, or the name of the file that holds it.", "a text"),
    Key("compatibility", "What the skill needs: programs, packages, network.", "a text of at most 500 characters", 500),
    Key("metadata", "More about the skill, for other programs.", "a map of names and values", is_text=False),
    Key("allowed-tools", "The tools that the skill uses. llamagent asks for consent all the same.", "a text"),
)
BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
NAME_FORM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Weight(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at a place: `line` in the file, from 0, and columns in characters."""

    line: int
    start: int
    end: int
    weight: Weight
    message: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An outermost key with its value, None where that is no text. `line` counts from 0 in the header."""

    key: str
    value: str | None
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """`problem` says why nothing could be read, at `line` of the header."""

    entries: tuple[Entry, ...] = ()
    problem: str | None = None
    line: int = 0

    def text(self, key: str) -> str:
        """The first value of that name, "" where there is none that is a text."""
        return next((entry.value for entry in self.entries if entry.key == key and entry.value), "")


def lines_of(text: str) -> list[str]:
    """The lines as an editor counts them."""
    lines = _LINE_END.split(text)
    return lines[:-1] if not lines[-1] else lines


def split(content: str) -> tuple[str | None, str]:
    """The YAML between a first line `---` and the next one (None where these are not there), and the rest."""
    lines = lines_of(content)
    if not lines or lines[0].rstrip() != _FENCE:
        return None, content
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), None)
    if end is None:
        return None, content
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


@lru_cache(maxsize=256)
def read(yaml: str) -> Header:
    """Never raises: what cannot be read says why."""
    if len(yaml) > MOST_CHARS:
        return Header(problem=f"the header is longer than {MOST_CHARS} characters")
    if sum(map(yaml.count, "[{")) > MOST_BRACKETS:
        return Header(problem="the header has too many brackets")
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # late: few start with a skill

    try:
        return Header(tuple(_entries(yaml)))
    except _NotAHeader as error:
        return Header(problem=str(error))
    except MarkedYAMLError as error:
        mark = error.problem_mark
        return Header(problem=f"this is no valid YAML: {error.problem}", line=mark.line if mark else 0)
    except YAMLError:
        return Header(problem="this is no valid YAML: it has characters that are not allowed")


class _NotAHeader(Exception):
    """It is YAML, but of another kind. Its text says so."""


def _entries(yaml: str) -> Iterator[Entry]:
    """The outermost keys. Events rather than values: nothing is built that is not wanted."""
    from ruamel.yaml import YAML, events

    key: events.ScalarEvent | None = None
    depth = 0
    for number, event in enumerate(YAML(typ="safe", pure=True).parse(yaml)):
        if number > MOST_EVENTS:
            raise _NotAHeader("the header has too many values")
        match event:
            case events.CollectionStartEvent():
                depth += 1
                if depth == 1 and not isinstance(event, events.MappingStartEvent):
                    raise _NotAHeader("the header must have lines of the form `key: value`")
                if depth > DEEPEST:
                    raise _NotAHeader("the header is nested too deeply")
                if depth == 2 and key is None:
                    raise _NotAHeader("a key must be one word")
                continue
            case events.CollectionEndEvent():
                depth -= 1
                if depth != 1:
                    continue
            case events.NodeEvent():
                if depth == 0:
                    raise _NotAHeader("the header must have lines of the form `key: value`")
                if depth > 1:
                    continue
            case _:
                continue
        if key is None and isinstance(event, events.ScalarEvent):
            key = event
        elif key is not None:
            yield _entry(key, event)
            key = None


def _entry(key: object, value: object) -> Entry:
    from ruamel.yaml import events

    assert isinstance(key, events.ScalarEvent)
    text = str(value.value) if isinstance(value, events.ScalarEvent) else None
    start, end = key.start_mark, key.end_mark
    return Entry(str(key.value), text, start.line, start.column, end.column if end.line == start.line else start.column)


# --- What is wrong with one ------------------------------------------------------------------------------------------


def faults(content: str, folder: str | None) -> list[Fault]:
    """What is wrong with the header of a skill's file. `folder` is the one that its SKILL.md lies in; None for a skill
    that is a single file, which needs no name."""
    yaml, _ = split(content)
    first = (lines_of(content) or [""])[0]
    if yaml is None:
        words = (
            'The header has no second line "---": it is not read.'
            if first.rstrip() == _FENCE
            else 'A skill begins with a line "---", its name and description, and another line "---".'
        )
        return [Fault(0, 0, len(first), Weight.WARNING, words)]
    header = read(yaml)
    if header.problem is not None:
        lines = yaml.split("\n")
        line = min(header.line, len(lines) - 1)
        there = lines[line]
        message = f"{header.problem[0].upper()}{header.problem[1:]}. The header is not read."
        return [Fault(line + 1, len(there) - len(there.lstrip()), len(there), Weight.ERROR, message)]
    found = [fault for entry in header.entries for fault in _of_entry(entry, folder)]
    found += _twice(header.entries)
    there_are = {entry.key for entry in header.entries}
    wanted = ("name", "description") if folder is not None else ("description",)
    missing = [name for name in wanted if name not in there_are]
    found += [Fault(0, 0, len(first), Weight.WARNING, f'"{name}" is missing: {BY_NAME[name].help}') for name in missing]
    return sorted(found, key=lambda fault: fault.line)


def _of_entry(entry: Entry, folder: str | None) -> Iterator[Fault]:
    key = BY_NAME.get(entry.key)
    words = _unknown(entry.key) if key is None else _wrong(entry, key, folder)
    if words:
        yield _at(entry, Weight.WARNING, words)
    elif entry.key == "description" and len(" ".join((entry.value or "").split())) > SHOWN_CHARS:
        words = f"The model sees the first {SHOWN_CHARS} characters of a description: say the most important first."
        yield _at(entry, Weight.REMARK, words)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), BY_NAME, n=1)
    if near:
        return f'"{name}" is no key of a skill. Did you mean "{near[0]}"?'
    return f'"{name}" is no key of a skill. The keys are {", ".join(BY_NAME)}; others belong below metadata.'


def _wrong(entry: Entry, key: Key, folder: str | None) -> str | None:
    if (key.is_text and entry.value is None) or (not key.is_text and entry.value is not None):
        return f'"{key.name}" must be {key.allowed}.'
    value = (entry.value or "").strip()
    if key.is_text and not value:
        return f'"{key.name}" is empty.'
    if key.longest is not None and len(value) > key.longest:
        return f'"{key.name}" has {len(value)} characters: at most {key.longest} are allowed.'
    if key.name != "name":
        return None
    if folder is not None and value != folder:
        return f'The name is not that of the folder, "{folder}", by which the skill is found.'
    return None if NAME_FORM.fullmatch(value) else f'"name" must be {key.allowed}.'


def _twice(entries: tuple[Entry, ...]) -> Iterator[Fault]:
    seen: set[str] = set()
    for entry in entries:
        if entry.key in seen:
            yield _at(entry, Weight.WARNING, f'"{entry.key}" stands here a second time: the first one counts.')
        seen.add(entry.key)


def _at(entry: Entry, weight: Weight, message: str) -> Fault:
    return Fault(entry.line + 1, entry.start, entry.end, weight, message)
