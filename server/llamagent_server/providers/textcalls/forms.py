"""The forms in which one call, or a list of calls, is written. Each reader says what it finds at a place.

`marked` says that something around the place marks a call: then less is needed to see one, and what cannot be read is
a fault; otherwise it may be anybody's data.
"""

import re
from dataclasses import dataclass

from llamagent_server.core.messages import Json
from llamagent_server.providers.textcalls.objects import (
    ARGUMENT_KEYS,
    BESIDE_KEYS,
    MESSAGE_KEYS,
    NAME_KEYS,
    TextCall,
    Tools,
    arguments_of,
    calls_in,
    read_value,
)
from llamagent_server.providers.textcalls.pythonic import read_pythonic
from llamagent_server.providers.textcalls.tags import OPENERS, read_tags
from llamagent_server.providers.textcalls.tokens import BOUNDARY, CLOSE, FENCE, OPEN, SEPARATOR
from llamagent_server.providers.textcalls.values import Unreadable, Work

_WINDOW = 2000
_JSON = re.compile(r"\{|\[\s*\{|\"\s*[\[{]")
_NAMED = re.compile(
    rf"(?P<function>function\s*(?:{SEPARATOR})\s*)?(?P<name>[A-Za-z_][\w.\-]*)(?::\d+)?"
    rf"(?P<between>(?:\s|{SEPARATOR})*+)(?P<fence>```(?:json)?\s*)?(?=\{{)"
)
_GEMMA = re.compile(r"call:(?P<name>[A-Za-z_][\w.\-]*)\s*(?=\{)")
HARMONY = (
    r"(?:<\|start\|>\s{0,9})?(?:assistant\s{0,9})?<\|channel\|>\w+\s+to=\w|<\|start\|>\s*assistant\s+to=\w"
    r"|(?:assistant)?(?:analysis|commentary)\s+to=functions\.\w|\bto=functions\.\w"
)
_HARMONY = re.compile(
    r"(?:\s|<\|start\|>|<\|channel\|>|assistant|analysis|commentary|final)*?to=(?P<name>[A-Za-z_][\w.\-]*)"
    r"(?:\s|<\|channel\|>|<\|constrain\|>|<\|message\|>|commentary|analysis|json|code)*+"
)
_REACT = re.compile(
    r"(?:Action|✿FUNCTION✿):[ \t]*(?P<name>[A-Za-z_][\w.\-]*)[ \t]*\n+[ \t]*(?:Action Input|✿ARGS✿):[ \t]*\n?"
)
_BARE_NAME = re.compile(r"(?P<name>[A-Za-z_][\w.\-]*)(?:\(\))?")
_LINE = re.compile(r"[^\n]*")
_AFTER_JSON = re.compile(rf"\}}{{1,3}}(?=\s*;|{BOUNDARY.pattern})")
_CLOSER = re.compile(rf"\s*(?:{CLOSE})")


@dataclass(frozen=True, slots=True)
class Form:
    """What was read: the calls, where they end, and whether the form itself marks them as calls."""

    calls: list[TextCall]
    end: int
    marked: bool


class Forms:
    """Raises Unreadable where a call was meant and cannot be read."""

    def __init__(self, text: str, tools: Tools, work: Work) -> None:
        self._text = text
        self._tools = tools
        self._work = work
        names = "|".join(map(re.escape, tools.spellings))
        alike = "|".join(re.escape(name).replace("_", "[-_ ]?") for name in tools.names)
        keys = "|".join((*NAME_KEYS, *ARGUMENT_KEYS, *BESIDE_KEYS, *MESSAGE_KEYS, "role", "content"))
        quoted = r"\\?[\"'“]?"
        self.opener = re.compile(
            rf"(?:{OPEN})|(?:{OPENERS})|{HARMONY}|\bcall:\w|function(?=\s*(?:{SEPARATOR}))"
            rf"|(?m:^)[ \t]*(?:(?:Action:[ \t]*)?(?:{FENCE})|(?:Action|✿FUNCTION✿):[ \t]*\w|\[\s*(?:{names})\s*\()"
            rf"|(?:(?m:^)[ \t]*\[\s*)?\{{{{?\s*{quoted}(?:{keys})\b"
            rf"|(?<![\w.])(?:functions\.)?(?:{names})(?::\d+)?\s*(?:\(|\{{|<arg_key>|{SEPARATOR})"
        )
        self._name_given = re.compile(
            rf"{quoted}(?:{'|'.join(NAME_KEYS)}){quoted}[”]?\s*:\s*{quoted}(?:\w+\.)?(?:{names}|(?i:{alike}))\b(?!\s*\()"
        )
        self._arguments_given = re.compile(rf"[\"'“\s{{,](?:{'|'.join(ARGUMENT_KEYS)})\\?[\"'”]?\s*:")
        self._python_list = re.compile(rf"\[\s*(?:{names})\s*\(\s*\w+\s*=")

    def read(self, at: int, *, marked: bool, alone: bool) -> Form | None:
        """The form at `at`. `alone`: whether a Python call without any brackets would count."""
        text, tools, work = self._text, self._tools, self._work
        if (tags := read_tags(text, at, tools, work)) is not None:
            return Form([tags[0]], tags[1], marked=True)
        if _JSON.match(text, at):
            return self._json(at, marked=marked)
        for read in (self._gemma, self._harmony, self._react):
            if (form := read(at)) is not None:
                return form
        return (
            self._named(at, marked=marked)
            or self._pythonic(at, marked=marked, alone=alone)
            or (self._bare(at) if marked else None)
        )

    def looks_like_call(self, at: int) -> bool:
        """Whether an object at `at` names a declared tool and has arguments, however broken it is."""
        self._work.spend(20)
        end = at + _WINDOW
        return bool(self._name_given.search(self._text, at, end) and self._arguments_given.search(self._text, at, end))

    def _json(self, at: int, *, marked: bool) -> Form | None:
        if not marked and not self.looks_like_call(at):
            return None
        value, end = read_value(self._text, at, self._tools, self._work, self._is_call)
        marked = marked or _CLOSER.match(self._text, end) is not None
        calls = calls_in(value, self._tools, self._work, marked=marked)
        if calls is None and marked and not self._text.startswith('"', at):
            raise Unreadable("it names no tool")
        if calls is None:
            return None
        extra = _AFTER_JSON.match(self._text, end)
        return Form(calls, extra.end() if extra else end, marked)

    def _is_call(self, value: Json) -> bool:
        try:
            calls = calls_in(value, self._tools, self._work, marked=True)
        except Unreadable:
            return False
        return calls is not None and all(map(self._tools.fits, calls))

    def _gemma(self, at: int) -> Form | None:
        head = _GEMMA.match(self._text, at)
        return self._with_arguments(head["name"], head.end()) if head else None

    def _harmony(self, at: int) -> Form | None:
        head = _HARMONY.match(self._text, at)
        if head is None:
            return None
        if BOUNDARY.match(self._text, head.end()):
            return Form([TextCall(head["name"], {})], head.end(), marked=True)
        return self._with_arguments(head["name"], head.end())

    def _react(self, at: int) -> Form | None:
        head = _REACT.match(self._text, at)
        if head is None:
            return None
        if self._text.startswith("{", head.end()):
            return self._with_arguments(head["name"], head.end())
        line = _LINE.match(self._text, head.end())
        words = line[0].strip() if line else ""
        arguments = arguments_of(head["name"], words, self._tools, self._work)
        return Form([TextCall(head["name"], arguments)], head.end() + len(line[0] if line else ""), marked=True)

    def _named(self, at: int, *, marked: bool) -> Form | None:
        """A tool's name, and its arguments as an object."""
        head = _NAMED.match(self._text, at)
        if head is None:
            return None
        separated = head["function"] is not None or bool(head["between"].strip())
        if not (marked or separated):
            plain = "\n" not in head["between"] and not head["fence"] and self._tools.declares(head["name"])
            return self._unmarked(head["name"], head.end()) if plain else None
        form = self._with_arguments(head["name"], head.end())
        closing = re.compile(r"\s*```").match(self._text, form.end) if head["fence"] else None
        return Form(form.calls, closing.end() if closing else form.end, marked=True)

    def _unmarked(self, name: str, at: int) -> Form | None:
        try:
            form = self._with_arguments(name, at)
        except Unreadable:
            return None
        return Form(form.calls, form.end, marked=False) if all(map(self._tools.fits, form.calls)) else None

    def _with_arguments(self, name: str, at: int) -> Form:
        value, end = read_value(self._text, at, self._tools, self._work, lambda found: self._fit(name, found))
        return Form([TextCall(name, arguments_of(name, value, self._tools, self._work))], end, marked=True)

    def _fit(self, name: str, value: Json) -> bool:
        return isinstance(value, dict) and self._tools.fits(TextCall(name, value))

    def _pythonic(self, at: int, *, marked: bool, alone: bool) -> Form | None:
        if not (marked or alone or self._text.startswith("[", at)):
            return None
        try:
            found = read_pythonic(self._text, at, self._tools, self._work)
        except Unreadable:
            if marked or self._python_list.match(self._text, at):
                raise
            return None
        if found is None or not (marked or all(self._tools.declares(call.name) for call in found[0])):
            return None
        return Form(*found, marked=marked)

    def _bare(self, at: int) -> Form | None:
        """Between marks, a name alone is a call without arguments."""
        name = _BARE_NAME.match(self._text, at)
        if name is None or not self._tools.declares(name["name"]):
            return None
        if not _CLOSER.match(self._text, name.end()):
            raise Unreadable("its arguments cannot be read")
        return Form([TextCall(name["name"], {})], name.end(), marked=True)
