"""The blocks of calls in a text: the marks that open each, its calls in any form, the marks that close it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from llamagent_server.providers.textcalls.forms import Forms
from llamagent_server.providers.textcalls.objects import ARGUMENT_KEYS, NAME_KEYS, TextCall, Tools
from llamagent_server.providers.textcalls.tokens import (
    CALL_FENCES,
    CLOSER,
    CLOSING,
    DATA_FENCES,
    FENCE,
    FILLER,
    OPENING,
)
from llamagent_server.providers.textcalls.values import Tangled, Unreadable, Work, after_space

_FENCE = re.compile(rf"\s*(?:Action:[ \t]*)?(?P<marks>{FENCE})[ \t]*(?P<language>[\w+\-]*)[ \t]*")
_SEPARATORS = re.compile(r"[\s,;]*")
_LINE = 2000
_CLOSERS = 50  # that are looked at behind what cannot be read
_INDENTED = re.compile(r"(?:\t| {4})[ \t]*")
_ABOVE_INDENTED = re.compile(r"\S[ \t]*\n[ \t]*\n(?:(?:\t| {4})[^\n]*\n)*\Z")
# Documentation of the form names no tool, or gives no arguments.
_PLACEHOLDER = re.compile(
    rf"[\"'](?:{'|'.join((*NAME_KEYS, *ARGUMENT_KEYS))})[\"']\s*:\s*[\"']?(?:\{{\s*)?(?:\.\.\.|…|<[\w\- ]+>)"
)
_NAME_GIVEN = re.compile(
    rf"(?:\A|\bfunction\s*=\s*|\bname\s*=\s*|\bto=|\bcall:|[\"'](?:{'|'.join(NAME_KEYS)})[\"']\s*:\s*)"
    r"[\"']?(?P<name>[A-Za-z_][\w.\-]*)"
)
_QUOTES = "`\"'“‘«"
# What may be left of a call where the length limit fell into its first words.
_STUB = re.compile(r"[\s\w{<=\"'\[:/|\-.]{0,80}\Z")
_ECHO = re.compile(
    rf"{FILLER.pattern}(?:<(?P<tag>tool_response|tool_results?|function_results?|observation)>"
    r".*?(?:</(?P=tag)>|\Z)|(?m:^)[ \t]*Observation:.*\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """What stands from `start` to `end`: calls; or a `problem`, where some were meant and cannot be read; or none of
    both, where it is quoted, or the `invented` result of a call."""

    start: int
    end: int
    calls: tuple[TextCall, ...] = ()
    problem: str | None = None
    invented: bool = False


@dataclass(slots=True)
class _Opened:
    """The marks before a call. `at` is where they end, `fence` the one that was opened among them."""

    at: int
    marked: bool = False
    fence: re.Match[str] | None = None

    @property
    def language(self) -> str:
        return self.fence["language"].lower() if self.fence else ""


class Blocks:
    """`cut`: the text was cut by the length limit."""

    def __init__(self, text: str, tools: Tools, *, cut: bool) -> None:
        self._text = text
        self._cut = cut
        self._tools = tools
        self._work = Work(100_000)
        self._forms = Forms(text, tools, self._work)

    def __iter__(self) -> Iterator[Block]:
        at = 0
        while (opener := self._forms.opener.search(self._text, at)) is not None:
            block = self._block(opener)
            if block is None:
                at = max(opener.end(), at + 1)
                continue
            yield block
            at = max(block.end, at + 1)
            if block.calls and (echo := _ECHO.match(self._text, block.end)) is not None:
                yield Block(block.end, echo.end(), invented=True)
                at = max(echo.end(), at)

    def _block(self, opener: re.Match[str]) -> Block | None:
        start = after_space(self._text, opener.start())
        if self._quoted(start):
            return None
        opened = self._open(start)
        if opened.fence is not None and opened.at == len(self._text) and not self._cut:
            return None  # the end of a block whose beginning was lost
        if opened.fence is not None and opened.language not in CALL_FENCES | DATA_FENCES:
            return Block(start, self._fence_end(opened.fence))
        try:
            self._work.spend(20)
            calls, end, marked = self._calls(start, opened)
            if calls:
                return self._closed(start, end, calls, opened, marked=marked)
            self._expect_none(opened)
        except Tangled as fault:
            return Block(start, len(self._text), problem=str(fault))
        except Unreadable as fault:
            return self._broken(start, opened, str(fault))
        if opened.fence is not None:
            return Block(start, self._fence_end(opened.fence))
        return Block(start, opened.at) if opened.marked else None

    def _quoted(self, start: int) -> bool:
        """Whether a quotation mark, a block quotation or indented code begins before `start`."""
        line = self._text.rfind("\n", 0, start) + 1
        before = self._text[line:start] if start - line < _LINE else ""
        if before.lstrip().startswith(">") or (start > 0 and self._text[start - 1] in _QUOTES):
            return True
        above = self._text[max(0, line - _LINE) : line]
        return bool(_INDENTED.fullmatch(before)) and _ABOVE_INDENTED.search(above) is not None

    def _open(self, at: int) -> _Opened:
        opened = _Opened(at)
        while True:
            at = after_space(self._text, opened.at)
            if mark := OPENING.match(self._text, at):
                opened.at, opened.marked = mark.end(), True
            elif opened.fence is None and (fence := _FENCE.match(self._text, at)):
                opened.at, opened.fence = fence.end(), fence
                opened.marked = opened.marked or opened.language in CALL_FENCES
            else:
                opened.at = at
                return opened

    def _calls(self, start: int, opened: _Opened) -> tuple[list[TextCall], int, bool]:
        """The calls one after another, where they end, and whether anything marks them."""
        found: list[TextCall] = []
        at, end, marked = opened.at, opened.at, opened.marked
        alone = opened.fence is not None or not self._text[:start].strip()
        while (form := self._forms.read(at, marked=marked, alone=alone)) is not None:
            found += form.calls
            end, marked = form.end, marked or form.marked
            separators = _SEPARATORS.match(self._text, end)
            at = separators.end() if separators else end
        return found, end, marked

    def _closed(self, start: int, end: int, calls: list[TextCall], opened: _Opened, *, marked: bool) -> Block | None:
        """The block of `calls`, if what stands around them lets them be meant."""
        closed = self._after_closing(end)
        if opened.fence is None:
            if not (marked or self._line_start(start)):
                return None
            if opened.marked and closed == end and self._goes_on_inside(end):
                raise Unreadable("something stands between it and its closing tag")
            return Block(start, closed, tuple(calls))
        fence = re.compile(rf"\s*{opened.fence['marks']}").match(self._text, closed)
        if fence is None and self._text[closed:].strip():
            return Block(start, self._fence_end(opened.fence))
        return Block(start, self._after_closing(fence.end()) if fence else closed, tuple(calls))

    def _after_closing(self, end: int) -> int:
        while closing := CLOSING.match(self._text, end):
            end = closing.end()
        return end

    def _line_start(self, at: int) -> bool:
        return not self._text[self._text.rfind("\n", 0, at) + 1 : at].strip()

    def _goes_on_inside(self, end: int) -> bool:
        """Whether the marks that were opened are closed later, behind something else."""
        closer, opening = CLOSER.search(self._text, end), OPENING.search(self._text, end)
        return closer is not None and (opening is None or closer.start() < opening.start())

    def _expect_none(self, opened: _Opened) -> None:
        """Marks that hold no call are only spoken of. Raises Unreadable where they were meant."""
        if opened.marked and CLOSER.match(self._text, opened.at):
            raise Unreadable("it is empty")
        if opened.marked and self._cut and _STUB.match(self._text, opened.at):
            raise Unreadable("it breaks off")
        if opened.language in CALL_FENCES:
            raise Unreadable("it is not the call of a tool")

    def _broken(self, start: int, opened: _Opened, problem: str) -> Block | None:
        """What was meant as a call and cannot be read, if it was meant."""
        end = self._broken_end(opened)
        at = opened.at
        plain = opened.fence is None and not opened.marked and self._text[at : at + 1] in ("{", "[")
        if plain and not self._line_start(start):
            return None
        if _PLACEHOLDER.search(self._text, at, min(end, at + _LINE)):
            return Block(start, end)
        name = _NAME_GIVEN.search(self._text, at, min(end, at + _LINE))
        if name is not None and name.end() < len(self._text) and not self._tools.declares(name["name"]):
            return Block(start, end, (TextCall(name["name"], {}),))
        return Block(start, end, problem=problem)

    def _broken_end(self, opened: _Opened) -> int:
        """Where what cannot be read ends: behind the closing mark after which nothing is said, else at the end."""
        first: int | None = None
        for closer in islice(CLOSER.finditer(self._text, opened.at), _CLOSERS):
            filler = FILLER.match(self._text, closer.end())
            end = filler.end() if filler else closer.end()
            first = end if first is None else first
            if end == len(self._text) or self._forms.opener.match(self._text, end):
                return end
        if opened.fence is not None:
            return self._fence_end(opened.fence)
        return len(self._text) if first is None else first

    def _fence_end(self, fence: re.Match[str]) -> int:
        mark = fence["marks"]
        closing = re.compile(rf"(?m:^)[ \t]*{mark[0]}{{{len(mark)},}}[ \t]*(?m:$)").search(self._text, fence.end())
        return closing.end() if closing else len(self._text)
