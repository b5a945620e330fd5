"""Objects in whose strings quotes were not escaped: read where only one reading makes a call, else not.

A quote may end a string only where the object then goes on: `,` and a key that is known, or its closing brace.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from llamagent_server.core.messages import Json
from llamagent_server.providers.textcalls.tokens import BOUNDARY, CLOSE, OPEN
from llamagent_server.providers.textcalls.values import (
    MAX_LOOSE,
    Unreadable,
    Work,
    after_space,
    put,
    read_strict,
    unescape,
)

_MARK = re.compile(rf"{OPEN}|{CLOSE}")
TWO_READINGS = "a quote in one of its strings is not escaped, so that it can be read in two ways"


def read_unescaped(
    text: str, at: int, keys: Iterable[str], fits: Callable[[Json], bool], work: Work, fault: Unreadable | None
) -> tuple[Json, int]:
    """The one object at `at` for which `fits` holds, and its end. `keys`: those that may stand in it.

    Raises Unreadable where there is more than one; where there is none, `fault`, if it is known what was wrong.
    """
    none = fault or Unreadable("its JSON is not valid")
    if len(text) > MAX_LOOSE or not text.startswith("{", at):
        raise none
    found = (
        (value, end)
        for value, end in _Readings(text, keys, work).objects(at)
        if BOUNDARY.match(text, end) and fits(value)
    )
    first = list(islice(found, 2))
    if not first:
        raise none
    if len(first) > 1:
        raise Unreadable(TWO_READINGS)
    return first[0]


class _Readings:
    """All readings of an object, as generators that go back over each quote that may end a string."""

    def __init__(self, text: str, keys: Iterable[str], work: Work) -> None:
        known = "|".join(sorted(map(re.escape, keys)))
        self._text = text
        self._work = work
        self._key = re.compile(rf"\s*([\"'])({known})\1\s*:\s*")
        # The closing brace of the inner object may be followed by the end of the outer one, or by its next key.
        self._end = {
            quote: re.compile(rf"{quote}(?=\s*(?:,\s*[\"'](?:{known})[\"']\s*:|}}\s*(?:[}}\],]|{BOUNDARY.pattern})))")
            for quote in ('"', "'")
        }

    def objects(self, at: int) -> Iterator[tuple[Json, int]]:
        for pairs, end in self._members(at + 1):
            found: dict[str, Json] = {}
            for key, value in pairs:
                put(found, key, value)
            yield found, end

    def _members(self, at: int) -> Iterator[tuple[list[tuple[str, Json]], int]]:
        key = self._key.match(self._text, at)
        if key is None:
            return
        for value, end in self._values(key.end()):
            rest = after_space(self._text, end)
            if self._text.startswith("}", rest):
                yield [(key[2], value)], rest + 1
            elif self._text.startswith(",", rest):
                for others, last in self._members(rest + 1):
                    yield [(key[2], value), *others], last

    def _values(self, at: int) -> Iterator[tuple[Json, int]]:
        self._work.spend(20)
        if self._text.startswith("{", at):
            yield from self.objects(at)
        elif (end := self._end.get(self._text[at : at + 1])) is not None:
            for found in end.finditer(self._text, at + 1):
                self._work.spend(20)
                body = self._text[at + 1 : found.start()]
                if _MARK.search(body):
                    return  # what follows is another call
                if not body.endswith("\\"):
                    yield unescape(body), found.end()
        elif (strict := read_strict(self._text, at)) is not None:
            yield strict
