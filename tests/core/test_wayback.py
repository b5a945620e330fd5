"""The way back from a chain of changes, on a text that the person may have changed since."""

import itertools

import pytest

from llamagent_server.core.proposals import Replaced
from llamagent_server.core.wayback import Conflict, WayBack, way_back


def chain(*texts: str | None) -> list[Replaced]:
    return [Replaced("a", "file:///a", before, after) for before, after in itertools.pairwise(texts)]


@pytest.mark.parametrize(
    ("texts", "current", "expected"),
    [
        (("a\n", "b\n"), "b\n", "a\n"),
        (("a\n", "b\n"), "a\n", "a\n"),  # undone by hand already
        (("a\n", "b\n", "c\n"), "c\n", "a\n"),
        (("a\n", "b\n", "c\n"), "b\n", "a\n"),  # the last one was undone by hand
        (("a\n", "b\n", "c\n"), "a\n", "a\n"),
        (("a\n", "b\n", "a\n"), "a\n", "a\n"),
        ((None, "b\n"), "b\n", None),
        ((None, "b\n", "c\n"), "c\n", None),
        ((None, "b\n"), None, None),
        (("a\r\nb\r\nc\r\nd\r\n", "a\r\nB\r\nc\r\nd\r\n"), "a\r\nB\r\nc\r\nd\r\nmore", "a\r\nb\r\nc\r\nd\r\nmore"),
        (("a\n", None), None, "a\n"),
        ((), "x", "x"),
    ],
)
def test_the_way_back(texts: tuple[str | None, ...], current: str | None, expected: str | None) -> None:
    assert way_back(chain(*texts), current) == WayBack(expected)


@pytest.mark.parametrize(
    ("texts", "current", "words"),
    [
        (("a\n", "b\n"), "c\n", "same lines"),
        (("a\n", "b\n"), None, "not there any more"),
        ((None, "b\n"), "b\nmine\n", "changed since"),
        (("a\n", None), "mine\n", "there again"),
    ],
)
def test_what_nobody_can_say(texts: tuple[str | None, ...], current: str | None, words: str) -> None:
    found = way_back(chain(*texts), current)
    assert isinstance(found, Conflict)
    assert words in found.reason


def test_a_change_of_the_person_between_two_edits_stays() -> None:
    steps = [
        Replaced("a", "u", "1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n"),
        Replaced("a", "u", "one\n2\nX\n4\n5\n", "one\n2\nX\n4\nfive\n"),
    ]
    assert way_back(steps, "one\n2\nX\n4\nfive\n") == WayBack("1\n2\nX\n4\n5\n")
