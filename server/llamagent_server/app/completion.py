"""What completes the words of a prompt: `@` paths, `/` commands, and the names that some commands take."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from llamagent_server.agent.results import Completion, Completions

MOST = 50
_COMMAND = re.compile(r"/(\w*)\Z")
_ARGUMENT = re.compile(r"/(\w+)[ \t]+(\S*)\Z")
_MENTION = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]*)|([^\s"@]*))\Z')


@dataclass(frozen=True, slots=True)
class Words:
    """What may be named: commands with their help, the names that a command takes, and the project's files.

    `recent` are the files that are open in the editor; they come first.
    """

    commands: Sequence[tuple[str, str]]
    names: Callable[[str], Iterable[str]]
    files: Sequence[str]
    recent: Sequence[str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What stands before the cursor: `kind` is "command", "file", or the command whose name is being typed."""

    kind: str
    typed: str
    start: int


def wanted(text: str, offset: int) -> Wanted | None:
    """What is being typed at `offset` (code points), None where nothing can be completed."""
    before = text[:offset]
    if found := _COMMAND.fullmatch(before):
        return Wanted("command", found[1], 0)
    if found := _ARGUMENT.fullmatch(before):
        return Wanted(found[1], found[2], found.start(2))
    if found := _MENTION.search(before):
        quoted = found[1] is not None
        return Wanted("file", found[1] if quoted else found[2], found.start())
    return None


def completions(want: Wanted, offset: int, words: Words) -> Completions:
    """The choices, best first; `start` and `end` are the span that each takes the place of, in code points."""
    match want.kind:
        case "command":
            rows = [(f"/{name}", help_, "command") for name, help_ in words.commands if name.startswith(want.typed)]
        case "file":
            ranked = sorted((rank, path) for path in words.files if (rank := _rank(path, want.typed, words.recent)))
            rows = [(_mention(path), "", "file") for _, path in ranked]
        case command:
            rows = [(name, "", command) for name in words.names(command) if name.startswith(want.typed)]
    return Completions(
        tuple(Completion(label, label, want.start, offset, detail, kind) for label, detail, kind in rows[:MOST])
    )


def _mention(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def _rank(path: str, typed: str, recent: Sequence[str]) -> tuple[int, int, int] | None:
    """How well a path fits what is typed, the smaller the better; None where it does not."""
    lower, sought = path.casefold(), typed.casefold()
    name = lower.rpartition("/")[2]
    if lower.startswith(sought) or name.startswith(sought):
        fit = 0
    elif sought in lower:
        fit = 1
    elif _is_within(sought, lower):
        fit = 2
    else:
        return None
    return fit, 0 if path in recent else 1, len(path)


def _is_within(sought: str, text: str) -> bool:
    """Whether the characters of `sought` stand in `text` in their order."""
    rest = iter(text)
    return all(character in rest for character in sought)
