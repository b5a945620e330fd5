"""A document's text by lines, and its positions in every encoding that LSP knows.

A line ends at "\\n", "\\r\\n" or a lone "\\r" and nowhere else (LSP 3.17, Text Documents). A position beyond a line's
end means that end, one beyond the last line the end of the text, one inside of a character that character's beginning.
"""

import re
from bisect import bisect_right
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

# Possessive: a long line without an end would else be walked back character by character.
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")


class Encoding(StrEnum):
    """What one unit of `character` is: a byte, a UTF-16 code unit, a code point."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class Place(NamedTuple):
    """Zero-based line and character, in units of an encoding."""

    line: int
    character: int


class Text:
    """A text that is edited in place. An edit costs as much as the lines that it touches, not as the whole text."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._encoding = encoding
        self._split: list[str] | None = None  # once they are needed: most open documents are never edited here
        self._whole: str | None = text
        self._starts: list[int] | None = None
        self._size = len(text)

    def __len__(self) -> int:
        """In code points."""
        return self._size

    @property
    def _lines(self) -> list[str]:
        if self._split is None:
            self._split = _split(str(self))
        return self._split

    def __str__(self) -> str:
        if self._whole is None:
            self._whole = "".join(self._split or ())
        return self._whole

    def replace(self, start: Place, end: Place, text: str) -> None:
        """Put `text` in the place of what stands between `start` and `end`."""
        (first, from_), (last, to) = sorted((self._locate(start), self._locate(end)))
        changed = self._lines[first][:from_] + text + self._lines[last][to:]
        if changed.startswith("\n") and first and self._lines[first - 1].endswith("\r"):
            first -= 1
            changed = self._lines[first] + changed
        lines = _split(changed)
        if last + 1 < len(self._lines):
            # The part ends with its old line end, so its own last line is no line of the whole.
            lines.pop()
        self._size += sum(map(len, lines)) - sum(map(len, self._lines[first : last + 1]))
        self._lines[first : last + 1] = lines
        self._whole = self._starts = None

    def line(self, number: int) -> str:
        """A line without its end; "" beyond the last one."""
        return _content(self._lines[number]) if number < len(self._lines) else ""

    def part(self, start: Place, end: Place) -> str:
        """What stands between two places."""
        (first, from_), (last, to) = sorted((self._locate(start), self._locate(end)))
        if first == last:
            return self._lines[first][from_:to]
        return "".join((self._lines[first][from_:], *self._lines[first + 1 : last], self._lines[last][:to]))

    def offset(self, place: Place) -> int:
        """The code point at `place`."""
        line, column = self._locate(place)
        return self._line_starts()[line] + column

    def place(self, offset: int) -> Place:
        """Where the code point `offset` is (at most the text's length)."""
        starts = self._line_starts()
        line = bisect_right(starts, offset) - 1
        content = _content(self._lines[line])
        return Place(line, units(content[: offset - starts[line]], self._encoding))

    def unit_offset(self, offset: int) -> int:
        """The code point at `offset`, which counts units of the encoding from the beginning of the text."""
        return code_points(str(self), offset, self._encoding)

    def units_to(self, offset: int) -> int:
        """The units of the encoding before the code point `offset`."""
        return units(str(self)[:offset], self._encoding)

    def _locate(self, place: Place) -> tuple[int, int]:
        """Line and column in code points, clamped."""
        if place.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        return place.line, code_points(_content(self._lines[place.line]), place.character, self._encoding)

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *accumulate(len(line) for line in self._lines[:-1])]
        return self._starts


def units(text: str, encoding: Encoding) -> int:
    """The length of `text` in units of `encoding`."""
    match encoding:
        case Encoding.UTF8:
            return len(text.encode("utf-8", "surrogatepass"))
        case Encoding.UTF16:
            return len(text.encode("utf-16-le", "surrogatepass")) // 2
        case Encoding.UTF32:
            return len(text)


def code_points(text: str, count: int, encoding: Encoding) -> int:
    """How many characters the first `count` units of `text` hold; one that is cut does not count."""
    if count >= len(text) and count >= units(text, encoding):
        return len(text)
    # No encoding has fewer units than characters: more than these cannot matter.
    head = text[:count]
    match encoding:
        case Encoding.UTF8:
            raw = head.encode("utf-8", "surrogatepass")
            while count < len(raw) and raw[count] & 0xC0 == 0x80:
                count -= 1
            return len(raw[:count].decode("utf-8", "surrogatepass"))
        case Encoding.UTF16:
            wide = head.encode("utf-16-le", "surrogatepass")
            if len(wide) == 2 * len(head):
                return len(head)
            if 0 < count < len(wide) // 2 and _pair(wide[2 * count - 2 : 2 * count + 2]):
                count -= 1
            return len(wide[: 2 * count].decode("utf-16-le", "surrogatepass"))
        case Encoding.UTF32:
            return len(head)


def _pair(raw: bytes) -> bool:
    """Whether two UTF-16 units are one character."""
    return raw[1] & 0xFC == 0xD8 and raw[3] & 0xFC == 0xDC


def _split(text: str) -> list[str]:
    """The lines with their ends. The last one has none, and may be empty."""
    if "\n" not in text and "\r" not in text:
        return [text]
    lines = _LINE.findall(text)
    if lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


def _content(line: str) -> str:
    if line.endswith("\n"):
        return line[:-2] if line.endswith("\r\n") else line[:-1]
    return line[:-1] if line.endswith("\r") else line
