"""Which files `.gitignore` leaves out, for one path at a time.

The rules are git's (gitignore(5)) as ripgrep reads them, so that what is found does not depend on the search program:
braces mean alternatives, an unclosed bracket means itself, there are no named classes, and a `?` is one byte. Why this
is written here: docs/decisions/0013-own-gitignore.md.
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

# Never listed or searched, whatever the ignore files say: data of programs, and what they download or generate.
SKIPPED = (
    ".git .hg .svn .bzr .jj .llamagent node_modules __pycache__ .venv venv .tox .nox .mypy_cache .pytest_cache "
    ".ruff_cache .hypothesis .DS_Store"
).split()
_SKIPPED = frozenset(SKIPPED)


class _Rule(NamedTuple):
    pattern: "re.Pattern[bytes]"
    only_folders: bool
    ignores: bool


def parse(text: str) -> tuple[_Rule, ...]:
    """The rules of one ignore file, in its order. A line that is no valid pattern matches nothing."""
    rules = (_rule(line) for line in text.removeprefix("\ufeff").splitlines())
    return tuple(rule for rule in rules if rule is not None)


def _rule(line: str) -> _Rule | None:
    line = _without_trailing_blanks(line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    glob = line if ignores else line[1:]
    only_folders = glob.endswith("/")
    glob = glob.rstrip("/") if only_folders else glob
    if not glob:
        return None
    anchored = "/" in glob
    try:
        expression = _expression(os.fsencode(glob.removeprefix("/")).decode("latin-1"))
        pattern = re.compile((expression if anchored else f"(?:.*/)?{expression}").encode("latin-1"), re.DOTALL)
    except (re.error, UnicodeEncodeError):
        return None
    return _Rule(pattern, only_folders, ignores)


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip(" ")
    escapes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if escapes % 2 and len(stripped) < len(line) else stripped


def _expression(glob: str) -> str:
    """`glob`, a byte in each character, as a regular expression for a whole path with `/`."""
    out, at, open_braces = [], 0, 0
    closes = glob.count("}") >= glob.count("{")
    while at < len(glob):
        rest = glob[at:]
        expression, length = _piece(rest, begins_name=at == 0 or glob[at - 1] == "/", begins=at == 0)
        if closes and rest[0] == "{":
            expression, open_braces = "(?:", open_braces + 1
        elif open_braces and rest[0] == ",":
            expression = "|"
        elif open_braces and rest[0] == "}":
            expression, open_braces = ")", open_braces - 1
        out.append(expression)
        at += length
    return "".join(out)


def _piece(rest: str, *, begins_name: bool, begins: bool) -> tuple[str, int]:
    """What the beginning of `rest` means, and how long that is."""
    if rest.startswith("**/") and begins_name:
        return "(?:.*/)?", 3
    if rest == "**" and begins_name and not begins:
        return ".+", 2
    match rest[0]:
        case "*":
            return "[^/]*", len(rest) - len(rest.lstrip("*"))
        case "?":
            return "[^/]", 1
        case "[":
            return _character_class(rest) or (re.escape("["), 1)
        case "\\" if len(rest) > 1:
            return re.escape(rest[1]), 2
        case character:
            return re.escape(character), 1


def _character_class(rest: str) -> tuple[str, int] | None:
    """`[a-z]` at the beginning of `rest` as a regular expression, and its length; None where it is not closed."""
    negated = rest[1:2] in ("!", "^") and rest[1:2] != ""
    at = 2 if negated else 1
    members, first = [], True
    while at < len(rest) and (rest[at] != "]" or first):
        first = False
        if rest[at] == "\\" and at + 1 < len(rest):
            at += 1
            members.append(re.escape(rest[at]))
        else:
            members.append("-" if rest[at] == "-" else re.escape(rest[at]))
        at += 1
    return (f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1) if at < len(rest) else None


def _prefix(folders: Sequence[str]) -> bytes:
    return os.fsencode("".join([f"{name}/" for name in folders]))


class Ignore:
    """The ignore files of a folder and all below it. `read` gives the text of a folder's own, None without one."""

    def __init__(self, read: Callable[[tuple[str, ...]], str | None]) -> None:
        self._read = read
        self._rules: dict[tuple[str, ...], tuple[_Rule, ...]] = {}
        self._chains: dict[tuple[str, ...], tuple[tuple[bytes, tuple[_Rule, ...]], ...]] = {}
        self._folders: dict[tuple[str, ...], bool] = {(): False}

    def ignored(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Whether the file or folder `parts` is left out, by itself or with a folder that it lies in."""
        parts = tuple(parts)
        if not parts:
            return False
        if self._folder_ignored(parts[:-1]):
            return True
        return self._folder_ignored(parts) if is_folder else self._matched(parts, is_folder=False)

    def _folder_ignored(self, parts: tuple[str, ...]) -> bool:
        known = self._folders.get(parts)
        if known is None:
            known = self._folder_ignored(parts[:-1]) or self._matched(parts, is_folder=True)
            self._folders[parts] = known
        return known

    def inside(self, folder: tuple[str, ...]) -> "Callable[[str, bool], bool]":
        """Whether what is directly in `folder` is left out, by its name and whether it is a folder; for a folder that
        is not left out itself."""
        chain = self._chain(folder)

        def left_out(name: str, is_folder: bool) -> bool:
            if name in _SKIPPED:
                return True
            encoded = os.fsencode(name)
            for prefix, rules in chain:
                for rule in rules:
                    if (is_folder or not rule.only_folders) and rule.pattern.fullmatch(prefix + encoded):
                        return rule.ignores
            return False

        return left_out if chain else lambda name, _: name in _SKIPPED

    def _matched(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        return self.inside(parts[:-1])(parts[-1], is_folder)

    def _chain(self, folder: tuple[str, ...]) -> tuple[tuple[bytes, tuple[_Rule, ...]], ...]:
        """The rules that count in `folder`, each file's with the path from it: the last rule that matches decides, the
        innermost file's first."""
        chain = self._chains.get(folder)
        if chain is None:
            depths = [depth for depth in range(len(folder), -1, -1) if self._rules_in(folder[:depth])]
            chain = tuple((_prefix(folder[depth:]), self._rules_in(folder[:depth])[::-1]) for depth in depths)
            self._chains[folder] = chain
        return chain

    def _rules_in(self, folder: tuple[str, ...]) -> tuple[_Rule, ...]:
        rules = self._rules.get(folder)
        if rules is None:
            text = self._read(folder)
            rules = self._rules[folder] = parse(text) if text else ()
        return rules
