"""Edits and positions are right in every encoding, whatever ends the lines."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.lsp.text import Encoding, Place, Text, code_points, units


def check(before: str, edit: tuple[int, int, int, int, str], after: str, encoding: Encoding = Encoding.UTF16) -> None:
    text = Text(before, encoding)
    line, character, end_line, end_character, new = edit
    text.replace(Place(line, character), Place(end_line, end_character), new)
    assert str(text) == after


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("abc", (0, 3, 0, 3, "X"), "abcX"),
        ("abc", (0, 99, 0, 99, "X"), "abcX"),
        ("abc\ndef", (0, 0, 1, 999, ""), ""),
        ("abc\ndef", (0, 0, 9999, 0, "new"), "new"),
        ("abc\n", (0, 4, 0, 4, "X"), "abcX\n"),
        ("abc\n", (1, 0, 1, 0, "X"), "abc\nX"),
        ("abc\n", (7, 3, 7, 3, "X"), "abc\nX"),
        ("a\r\nb", (0, 1, 1, 0, ""), "ab"),
        ("a\r\nb", (0, 99, 0, 99, "X"), "aX\r\nb"),
        ("a\rb\rc", (1, 0, 1, 1, "X"), "a\rX\rc"),
        ("a\x0cb\nc", (1, 0, 1, 1, "X"), "a\x0cb\nX"),
        ("a\u2028b\x85\x0b\x1c\u2029\nc", (1, 0, 1, 1, "X"), "a\u2028b\x85\x0b\x1c\u2029\nX"),
        ("", (0, 0, 0, 0, "a\nb"), "a\nb"),
        ("", (3, 3, 4, 4, "a"), "a"),
        ("abc", (0, 2, 0, 1, "X"), "aXc"),
        ("a\rb", (1, 0, 1, 1, "\n"), "a\r\n"),
        ("a\r\rb", (1, 0, 2, 0, "\nX"), "a\r\nXb"),
        ("a\r\n\r\nb", (1, 0, 2, 0, "X\r"), "a\r\nX\rb"),
    ],
)
def test_an_edit_lands_where_the_specification_says(
    before: str, edit: tuple[int, int, int, int, str], after: str
) -> None:
    for encoding in Encoding:
        check(before, edit, after, encoding)


@pytest.mark.parametrize(
    ("encoding", "character", "after"),
    [
        (Encoding.UTF8, 2, "\u00e9X\U0001f600z"),
        (Encoding.UTF8, 1, "X\u00e9\U0001f600z"),
        (Encoding.UTF8, 5, "\u00e9X\U0001f600z"),
        (Encoding.UTF8, 6, "\u00e9\U0001f600Xz"),
        (Encoding.UTF16, 1, "\u00e9X\U0001f600z"),
        (Encoding.UTF16, 2, "\u00e9X\U0001f600z"),
        (Encoding.UTF16, 3, "\u00e9\U0001f600Xz"),
        (Encoding.UTF16, 4, "\u00e9\U0001f600zX"),
        (Encoding.UTF32, 2, "\u00e9\U0001f600Xz"),
        (Encoding.UTF32, 9, "\u00e9\U0001f600zX"),
    ],
)
def test_a_character_is_never_cut(encoding: Encoding, character: int, after: str) -> None:
    check("\u00e9\U0001f600z", (0, character, 0, character, "X"), after, encoding)


def test_a_lone_surrogate_is_kept() -> None:
    for encoding in Encoding:
        text = Text("a\ud800b", encoding)
        text.replace(Place(0, 0), Place(0, 1), "X")
        assert str(text) == "X\ud800b"


TEXTS = st.text(st.sampled_from("ab\r\n\u00e9\U0001f600\x0c\u2028"), max_size=20)


@given(TEXTS, st.data())
def test_edits_agree_with_the_plain_definition(before: str, data: st.DataObject) -> None:
    """The same edits made by slicing one string, with positions worked out from scratch."""
    encoding = data.draw(st.sampled_from(Encoding))
    text, plain = Text(before, encoding), before
    for _ in range(data.draw(st.integers(1, 4))):
        places = sorted(Place(data.draw(st.integers(0, 6)), data.draw(st.integers(0, 9))) for _ in range(2))
        new = data.draw(TEXTS)
        start, end = (plain_offset(plain, place, encoding) for place in places)
        text.replace(places[0], places[1], new)
        plain = plain[:start] + new + plain[end:]
        assert str(text) == plain
        assert text._lines == Text(plain, encoding)._lines


@given(TEXTS, st.sampled_from(Encoding))
def test_offsets_and_places_are_inverse(content: str, encoding: Encoding) -> None:
    text = Text(content, encoding)
    for offset in range(len(content) + 1):
        inside_crlf = content[offset - 1 : offset + 1] == "\r\n" and offset > 0
        assert text.offset(text.place(offset)) == offset - inside_crlf


@given(TEXTS, st.integers(0, 30), st.sampled_from(Encoding))
def test_code_points_are_those_whose_units_fit(text: str, count: int, encoding: Encoding) -> None:
    expected = max(n for n in range(len(text) + 1) if units(text[:n], encoding) <= count)
    assert code_points(text, count, encoding) == expected


def plain_offset(text: str, place: Place, encoding: Encoding) -> int:
    starts = [0, *(match.end() for match in re.finditer("\r\n|\r|\n", text))]
    if place.line >= len(starts):
        return len(text)
    start = starts[place.line]
    content = re.split("[\r\n]", text[start:])[0]
    return start + max(n for n in range(len(content) + 1) if units(content[:n], encoding) <= place.character)
