"""Lines, streamed text and a passing status line on one output; colours where wanted; nothing unsafe gets through."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap
from typing import TextIO

from llamagent_terminal.visible import prose


class Style(StrEnum):
    """SGR codes of the eight colours that every terminal has, so that they fit light and dark ones."""

    PLAIN = ""
    DIM = "2"
    BOLD = "1"
    MODEL = "1;36"
    TOOL = "1;35"
    HARNESS = "1;33"
    EDITOR = "1;32"
    ERROR = "1;31"
    ADDED = "32"
    REMOVED = "31"
    HUNK = "36"


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: Style = Style.PLAIN


_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_MARKER = re.compile(r"[-*+•]|\d{1,3}[.)]")
_FENCE = ("```", "~~~")
_MOST_INDENT = 24
_MOST_COLUMNS = 100  # longer lines are hard to read
_LEAST_BESIDE = 24  # columns; in fewer nothing can be read


class Screen:
    """`live`: a status line may be drawn and erased. `width` None: text is not wrapped."""

    def __init__(self, stream: TextIO, *, colour: bool, live: bool, width: Callable[[], int] | None) -> None:
        self._stream = stream
        self._colour = colour
        self._live = live
        self._width = width
        self._flow = _Flow()
        self._status = ""

    @property
    def unicode(self) -> bool:
        """Whether signs outside ASCII can be shown."""
        return (self._stream.encoding or "ascii").lower().replace("_", "-").startswith("utf")

    def line(self, *spans: Span | str) -> None:
        """One whole line."""
        self.end_flow()
        self._write("".join(self._painted(span) for span in spans) + "\n")

    def wrapped(self, text: str, indent: int) -> list[str]:
        """The lines of `text` (one at least), wrapped to fit beside `indent` columns where lines are wrapped at all."""
        lines = prose(text).splitlines() or [""]
        if (limit := self._columns()) is None:
            return lines
        columns = max(limit - indent - 1, 20)
        return [part for line in lines for part in wrap(line, columns, break_on_hyphens=False) or [""]]

    def row(self, lead: Span, columns: int, text: str) -> None:
        """`lead`, two columns in and `columns` wide, and `text` beside it; below it where the screen is narrow."""
        indent = columns + 4
        narrow = self._width is not None and self._width() - indent < _LEAST_BESIDE
        if narrow:
            self.line("  ", lead)
            indent = 6
        first, *more = self.wrapped(text, indent)
        if narrow:
            more.insert(0, first)
        else:
            self.line("  ", Span(lead.text.ljust(columns), lead.style), "  ", first)
        for part in more:
            self.line(" " * indent, part)

    def prompt(self, *spans: Span | str) -> None:
        """The beginning of a line that the person ends."""
        self.end_flow()
        self._write("".join(self._painted(span) for span in spans))

    def flow(self, text: str, style: Style = Style.PLAIN) -> None:
        """Streamed text, wrapped between words."""
        self._flow.style = style
        out = self._flow.feed(text, self._columns())
        if out:
            self._write(self._paint(out, style))

    def end_flow(self) -> None:
        """The streamed text is over; what comes next begins on a line of its own."""
        style = self._flow.style
        out = self._flow.end(self._columns())
        if out:
            self._write(self._paint(out, style))

    def status(self, text: str) -> None:
        """A line that the next output replaces; "" takes it away. Shown only between whole lines."""
        if not self._live or not self._flow.at_line_start or text == self._status:
            return
        columns = (self._width() if self._width else 80) - 1
        shown = clipped(prose(text).replace("\n", " "), columns)
        self._put("\r\x1b[2K" + self._paint(shown, Style.DIM))
        self._status = text

    @property
    def columns(self) -> int:
        """How wide a table may be."""
        return self._width() if self._width else _MOST_COLUMNS

    def _columns(self) -> int | None:
        """How wide prose may be; None: as wide as it is."""
        return None if self._width is None else min(self._width(), _MOST_COLUMNS)

    def _write(self, text: str) -> None:
        if self._status:
            self._put("\r\x1b[2K")
            self._status = ""
        self._put(text)

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _painted(self, span: Span | str) -> str:
        return prose(span) if isinstance(span, str) else self._paint(prose(span.text), span.style)

    def _paint(self, text: str, style: Style) -> str:
        if not self._colour or style is Style.PLAIN or not text.strip():
            return text
        # Each line is painted for itself: a pager, or a terminal that redraws, must not lose the colour or carry it on.
        lines = text.split("\n")
        return "\n".join(f"\x1b[{style.value}m{line}\x1b[0m" if line else "" for line in lines)


class _Flow:
    """Breaks streamed text between words. The last word is held back until it is known to be whole, and a blank until
    it is known what follows."""

    def __init__(self) -> None:
        self.style = Style.PLAIN
        self._held = ""
        self._blank = ""
        self._column = 0
        self._indent = 0
        self._fenced = False
        self._fresh = True  # nothing but a list marker stands on this line

    @property
    def at_line_start(self) -> bool:
        return self._column == 0 and not self._held

    def feed(self, text: str, width: int | None) -> str:
        tokens = _TOKEN.findall((self._held + text).replace("\r\n", "\n"))
        self._held = tokens.pop() if tokens and (tokens[-1] == "\r" or not tokens[-1].isspace()) else ""
        return "".join(self._placed(token, width) for token in tokens)

    def end(self, width: int | None) -> str:
        out = self._placed(self._held, width) if self._held else ""
        self._held = ""
        out += "\n" if self._column else ""
        self._fenced = False
        self._new_line()
        return out

    def _new_line(self) -> None:
        self._blank = ""
        self._column = self._indent = 0
        self._fresh = True

    def _placed(self, token: str, width: int | None) -> str:
        if token == "\n":
            self._new_line()
            return token
        token = prose(token)
        if token.isspace():
            self._blank += token
            return ""
        lead, self._blank = self._blank, ""
        if self._fresh:
            self._note_beginning(token, self._column + cells(lead))
        elif width is not None and not self._fenced and self._column + cells(lead + token) > width - 1:
            lead = "\n" + " " * self._indent
            self._column = 0
        self._column += cells(lead.lstrip("\n") + token)
        return lead + token

    def _note_beginning(self, token: str, column: int) -> None:
        """The first word of a line, or a list marker before it. Further lines begin below the first word."""
        if token.startswith(_FENCE):
            self._fenced = not self._fenced
        self._indent = min(column, _MOST_INDENT)
        self._fresh = bool(_MARKER.fullmatch(token))


def cells(text: str) -> int:
    """How many columns `text` fills."""
    if text.isascii():
        return len(text.expandtabs(8))
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """`text` cut to `columns`, with an ellipsis where something was cut."""
    if cells(text) <= columns:
        return text
    out, used = [], 0
    for char in text:
        used += _cell(char)
        if used > columns - 1:
            break
        out.append(char)
    return "".join(out) + "…"
