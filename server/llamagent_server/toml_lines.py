"""Where in a TOML text a key or an error stands: the standard library's reader keeps no lines."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_KEY_LINE = re.compile(
    r"""^[ \t]*\[{0,2}[ \t]*(?: (?P<bare>[A-Za-z0-9_-]+) | "(?P<basic>[^"\\]*)" | '(?P<literal>[^']*)' )[ \t]*[=.\]]""",
    re.VERBOSE,
)
# What matters for where a value ends: quotes of several lines, whole texts, comments, brackets.
_TOKEN = re.compile(r'''"""|\'\'\'|"(?:[^"\\]|\\.)*"|'[^']*'|#.*|[\[\]{}]''')
_ERROR_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def error_line(error: Exception, text: str) -> int:
    """The line, from 1, that a TOMLDecodeError for `text` complains about."""
    found = _ERROR_LINE.search(str(error))
    return int(found.group(1)) if found else max(1, text.rstrip().count("\n") + 1)


def key_lines(text: str, keys: Iterable[str]) -> dict[str, int]:
    """The line, from 1, on which each top-level key (or table) of a valid TOML `text` first stands.

    A key whose name is written with escapes has none.
    """
    missing = set(keys)
    found: dict[str, int] = {}
    state = _State()
    for number, line in enumerate(text.split("\n"), start=1):
        # A line inside a text or a list over several lines may look like a key.
        key = _key(line) if state.between_values else ""
        if key in missing:
            missing.discard(key)
            found[key] = number
        state.take(line)
    return found


@dataclass
class _State:
    """How far a value over several lines goes: `quotes` is the text that is open, `depth` counts open brackets."""

    quotes: str = ""
    depth: int = 0

    @property
    def between_values(self) -> bool:
        return not self.quotes and self.depth <= 0

    def take(self, line: str) -> None:
        at = 0
        while at < len(line):
            if self.quotes:
                end = line.find(self.quotes, at)
                if end < 0:
                    return
                at, self.quotes = end + 3, ""
            token = _TOKEN.search(line, at)
            if token is None or token[0].startswith("#"):
                return
            at = token.end()
            if token[0] in ('"""', "'''"):
                self.quotes = token[0]
            elif token[0] in "[{":
                self.depth += 1
            elif token[0] in "]}":
                self.depth -= 1


def _key(line: str) -> str:
    match = _KEY_LINE.match(line)
    return next((name for name in match.groups() if name is not None), "") if match else ""
