"""JSON as models write it: read as it is, else with good will where one reading is obvious, else not at all.

The good will: single, typographic, triple and other quotes, the strings of Gemma, Python's literals, words without
quotes, trailing commas, comments, escapes that JSON does not have, and closing braces that are missing at the end.
"""

import json
import re
import sys
from collections.abc import Iterable

from llamagent_server.core.messages import Json
from llamagent_server.providers.textcalls.tokens import BOUNDARY

MAX_LOOSE = 200_000  # characters that are read with good will, which is slow
MAX_DEPTH = 40
_SPACE = re.compile(r"\s*")


class Unreadable(ValueError):
    """Nothing was found that could be meant alone. Its words tell the model what is wrong."""


class Tangled(Unreadable):
    """All the work is spent that may be spent on one reply."""


class Work:
    """What may still be spent on one reply, so that no text takes long. Raises Tangled when all is spent."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise Tangled("it is too tangled")


def after_space(text: str, at: int) -> int:
    """The first place from `at` on that is no white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Twice(ValueError):
    """A key that stands twice in an object, with different values."""


def put(found: dict[str, Json], key: str, value: Json) -> None:
    """Raises Unreadable where `key` is there already with another value: nobody can say which is meant."""
    if key in found and found[key] != value:
        raise Unreadable(f"{key!r} is given twice")
    found[key] = value


def _pairs(pairs: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _Twice(key)
        found[key] = value
    return found


_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=_pairs)


def read_strict(text: str, at: int) -> tuple[Json, int] | None:
    """The JSON value at `at` (line breaks may stand raw in strings) and its end; None where there is none."""
    try:
        value, end = _STRICT.raw_decode(text, at)
    except _Twice as error:
        raise Unreadable(f"{error.args[0]!r} is given twice") from error
    except (ValueError, RecursionError):
        return None
    return value, end


def read_loose(text: str, at: int, work: Work, *, code: bool = False) -> tuple[Json, int]:
    """The value at `at` read with good will, and its end. Raises Unreadable.

    `code`: it stands in a program, where a word without quotes is a variable and strings have Python's escapes."""
    if len(text) > MAX_LOOSE:
        raise Unreadable("its JSON is not valid")
    return _Loose(text, work, code=code).value(at, 0)


_QUOTES = {"“": "”", "‘": "’"}
_OPENING_QUOTE = re.compile(r"""([rR]?)(\"{3}|'{3}|["'`“‘]|<\|"\|>|<escape>)""")
_RAW_QUOTES = frozenset({'<|"|>', "<escape>"})
_SKIP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*+", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"(?=\.{0,2}/?\w)[A-Za-z_./][\w./\-]*")
_KEY = re.compile(r"[A-Za-z_]\w*")
_QUOTED_KEY = re.compile(r"""["']\w+["']\s*:""")
_WORDS: dict[str, Json] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_UNICODE = r"u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*"
_ESCAPE = re.compile(rf"\\({_UNICODE}|.)", re.DOTALL)
_CODE_ESCAPE = re.compile(rf"\\({_UNICODE}|x[0-9a-fA-F]{{2}}|U[0-9a-fA-F]{{8}}|.)", re.DOTALL)
# A backspace or a form feed is never meant where other escapes are wrong: it is a regular expression.
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "/": "/"}


def unescape(body: str, *, code: bool = False) -> str:
    """The text of a string between its quotes; a backslash that begins no escape is itself. `code`: as in Python."""
    return (_CODE_ESCAPE if code else _ESCAPE).sub(_unescaped, body)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) == 1:
        return _ESCAPES.get(code, found[0])
    if code[0] == "u":
        return str(json.loads(f'"{found[0]}"'))
    number = int(code[1:], 16)
    return chr(number) if number <= sys.maxunicode else found[0]


class _Loose:
    """Strings end at the first quote that is not escaped."""

    def __init__(self, text: str, work: Work, *, code: bool) -> None:
        self._text = text
        self._work = work
        self._code = code

    def value(self, at: int, depth: int) -> tuple[Json, int]:
        self._work.spend()
        if depth > MAX_DEPTH:
            raise Unreadable("it is nested too deeply")
        if opening := _OPENING_QUOTE.match(self._text, at):
            return self.string(opening)
        if self._text.startswith("{", at):
            return self._object(at, depth)
        if self._text.startswith("[", at):
            return self._array(at, depth)
        return self._plain(at)

    def string(self, opening: re.Match[str]) -> tuple[str, int]:
        quote = opening[2]
        closing = _QUOTES.get(quote, quote)
        end = opening.end()
        while True:
            end = self._text.find(closing, end)
            if end < 0:
                raise Unreadable("a string in it has no end")
            self._work.spend()
            if quote in _RAW_QUOTES or not self._escaped(end, opening.end()):
                break
            end += 1
        body = self._text[opening.end() : end]
        raw = quote in _RAW_QUOTES or opening[1]
        return (body if raw else unescape(body, code=self._code)), end + len(closing)

    def _escaped(self, at: int, start: int) -> bool:
        """Whether an odd number of backslashes stands before `at`."""
        before = at
        while before > start and self._text[before - 1] == "\\":
            before -= 1
        self._work.spend((at - before) // 100)
        return (at - before) % 2 == 1

    def _plain(self, at: int) -> tuple[Json, int]:
        if number := _NUMBER.match(self._text, at):
            value: Json = _number(number[0])
            end = number.end()
        elif (word := _WORD.match(self._text, at)) and (not self._code or word[0] in _WORDS):
            value, end = _WORDS.get(word[0], word[0]), word.end()
        else:
            raise Unreadable("a value is missing in it")
        if end == len(self._text):
            raise Unreadable("it breaks off")  # more of the number, of the word may have been meant
        return value, end

    def _object(self, at: int, depth: int) -> tuple[Json, int]:
        # A model that saw a template doubles all its braces.
        braces = 2 if self._text.startswith("{{", at) else 1
        found: dict[str, Json] = {}
        at = self.skip(at + braces)
        more = not self._text.startswith("}" * braces, at)
        if not more:
            return found, at + braces
        while more:
            key, at = self._key(at)
            value, at = self.value(self.skip(at), depth + 1)
            put(found, key, value)
            more, at = self.after(at, "}" * braces)
        return found, at

    def _array(self, at: int, depth: int) -> tuple[Json, int]:
        found: list[Json] = []
        at = self.skip(at + 1)
        if self._text.startswith("]", at):
            return found, at + 1
        more = True
        while more:
            value, at = self.value(at, depth + 1)
            found.append(value)
            more, at = self.after(at, "]")
        return found, at

    def _key(self, at: int) -> tuple[str, int]:
        if opening := _OPENING_QUOTE.match(self._text, at):
            key, at = self.string(opening)
        elif word := _KEY.match(self._text, at):
            key, at = word[0], word.end()
        else:
            raise Unreadable("a key is missing in it")
        at = self.skip(at)
        if not self._text.startswith(":", at):
            raise Unreadable("a quote in it is not escaped, or a comma is missing")
        return key, at + 1

    def after(self, at: int, closing: str) -> tuple[bool, int]:
        """Whether another element follows the one that ends at `at`, and where it or the rest begins."""
        rest = self.skip(at)
        if self._text.startswith(",", rest):
            rest = self.skip(rest + 1)
            return (False, rest + len(closing)) if self._text.startswith(closing, rest) else (True, rest)
        if self._text.startswith(closing, rest):
            return False, rest + len(closing)
        if at < rest and _QUOTED_KEY.match(self._text, rest):
            return True, rest
        if BOUNDARY.match(self._text, at):
            return False, at
        raise Unreadable("a quote in it is not escaped, or a comma is missing")

    def skip(self, at: int) -> int:
        found = _SKIP.match(self._text, at)
        return found.end() if found else at


def _number(digits: str) -> Json:
    try:
        value: Json = json.loads(digits)
    except ValueError as error:
        raise Unreadable("a number in it cannot be read") from error
    return value
