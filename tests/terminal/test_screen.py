"""Streamed text on the screen: wrapped between words, whatever the pieces it comes in."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_terminal.screen import Screen, Style, cells, clipped


def shown(*pieces: str, width: int | None = 20, colour: bool = False) -> str:
    stream = io.StringIO()
    screen = Screen(stream, colour=colour, live=False, width=None if width is None else lambda: width)
    for piece in pieces:
        screen.flow(piece, Style.DIM)
    screen.end_flow()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("one two", "one two\n"),
        ("one two three four five six", "one two three four\nfive six\n"),
        ("- one two three four five six", "- one two three\n  four five six\n"),
        ("10. one two three four five", "10. one two three\n    four five\n"),
        ("  indented words that go on", "  indented words\n  that go on\n"),
        ("a\n\nb\n", "a\n\nb\n"),
        ("averyveryverylongwordindeed x", "averyveryverylongwordindeed\nx\n"),
        ("```\ncode that is not to be wrapped\n```\nprose that is to be", None),
        ("漢字漢字漢字 漢字漢字 漢字", "漢字漢字漢字\n漢字漢字 漢字\n"),
        ("crlf\r\nend", "crlf\nend\n"),
        ("", ""),
    ],
)
def test_wrapping(text: str, out: str | None) -> None:
    expected = "```\ncode that is not to be wrapped\n```\nprose that is to be\n" if out is None else out
    assert shown(text) == expected
    assert shown(*text) == expected  # a character at a time


def test_without_a_width_nothing_is_wrapped() -> None:
    assert shown("one two three four five six seven", width=None) == "one two three four five six seven\n"


@given(st.text(alphabet="ab é漢\n-\t", max_size=80), st.lists(st.integers(0, 80), max_size=6))
def test_pieces_make_no_difference_and_no_word_is_lost(text: str, cuts: list[int]) -> None:
    places = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    whole = shown(text)
    assert shown(*pieces) == whole
    assert whole.split() == text.split()


@given(st.lists(st.text(alphabet="abé漢", min_size=1, max_size=8), max_size=12))
def test_lines_fit(words: list[str]) -> None:
    assert all(cells(line) < 20 for line in shown(" ".join(words)).splitlines())


def test_each_line_is_coloured_for_itself() -> None:
    assert shown("a\nb", colour=True) == "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m\n"


def test_escapes_in_streamed_text_cannot_hide_between_pieces() -> None:
    assert shown("\x1b", "[2J") == "<ESC>[2J\n"
    assert shown("\r", "\r\n", "x\r") == "␍\nx␍\n"


def test_a_status_line_goes_when_something_is_said() -> None:
    stream = io.StringIO()
    screen = Screen(stream, colour=False, live=True, width=lambda: 20)
    screen.status("waiting for the model to answer")
    screen.line("done")
    assert stream.getvalue() == "\r\x1b[2Kwaiting for the mo…\r\x1b[2Kdone\n"


def test_no_status_on_what_is_no_terminal() -> None:
    stream = io.StringIO()
    Screen(stream, colour=False, live=False, width=None).status("waiting")
    assert stream.getvalue() == ""


def test_clipping() -> None:
    assert clipped("abc", 3) == "abc"
    assert clipped("abcd", 3) == "ab…"
    assert clipped("漢字漢", 4) == "漢…"
