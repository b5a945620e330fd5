"""Where in a TOML text a key or an error stands: the standard library's reader keeps no lines."""

import re
import tomllib
from collections.abc import Iterable

_KEY_LINE = re.compile(
    r"""^[ \t]*\[{0,2}[ \t]*(?: (?P<bare>[A-Za-z0-9_-]+) | "(?P<basic>[^"\\]*)" | '(?P<literal>[^']*)' )[ \t]*[=.\]]""",
    re.VERBOSE,
)
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
    lines = text.split("\n")
    found: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        key = _key(line)
        # A line inside a text or a list over several lines may look like a key; what stands before such a line is no
        # TOML of its own.
        if key in missing and _is_whole("\n".join(lines[: number - 1])):
            missing.discard(key)
            found[key] = number
    return found


def _key(line: str) -> str:
    match = _KEY_LINE.match(line)
    return next((name for name in match.groups() if name is not None), "") if match else ""


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
