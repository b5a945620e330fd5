"""LSP positions in every encoding, and the order of edits."""

import pytest

from llamagent_terminal.textedit import Encoding, WrongEdit, apply_edits, read_edits


def edit(start: tuple[int, int], end: tuple[int, int], new: str) -> dict[str, object]:
    places = [{"line": line, "character": character} for line, character in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "newText": new}


def check(before: str, edits: list[object], after: str, encoding: Encoding = "utf-16") -> None:
    assert apply_edits(before, read_edits(before, edits, encoding)) == after


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_characters_are_counted_in_the_negotiated_units(encoding: Encoding, character: int) -> None:
    check("é😀a!\n", [edit((0, character), (0, character + 1), "?")], "é😀a?\n", encoding)


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        ("abc", [edit((0, 99), (0, 99), "X")], "abcX"),
        ("abc\n", [edit((0, 4), (0, 4), "X")], "abcX\n"),
        ("abc\ndef", [edit((0, 0), (1, 999), "")], ""),
        ("abc\n", [edit((7, 0), (9, 0), "X")], "abc\nX"),
        ("", [edit((0, 0), (0, 0), "X")], "X"),
        ("a\r\nb\rc\n", [edit((1, 0), (1, 1), "B"), edit((2, 0), (2, 1), "C")], "a\r\nB\rC\n"),
        ("a\x0bb\u2028c\n", [edit((0, 4), (0, 5), "C")], "a\x0bb\u2028C\n"),
        ("ab", [edit((0, 1), (0, 1), "1"), edit((0, 1), (0, 1), "2"), edit((0, 1), (0, 2), "B")], "a12B"),
        ("abcd", [edit((0, 2), (0, 3), "C"), edit((0, 0), (0, 1), "A")], "AbCd"),
    ],
)
def test_edits(before: str, edits: list[object], after: str) -> None:
    check(before, edits, after)


@pytest.mark.parametrize(
    "edits",
    [
        [edit((0, 0), (0, 3), "x"), edit((0, 2), (0, 4), "y")],
        [edit((0, 3), (0, 1), "x")],
        [{"range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}}, "newText": ""}],
        [{"newText": "x"}],
        ["x"],
    ],
)
def test_impossible_edits_are_refused(edits: list[object]) -> None:
    with pytest.raises(WrongEdit):
        read_edits("abcdef\n", edits, "utf-16")
