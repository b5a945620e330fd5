"""Nothing from a model or a file reaches the terminal as a control character."""

import sys
import unicodedata

import pytest

from llamagent_terminal.visible import code, line, prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢 😀", "plain é 漢 😀"),
        ("\x1b[2J\x1b]52;c;eA==\x07", "<ESC>[2J<ESC>]52;c;eA==^G"),
        ("a\x9bb\x85", "a<U+009B>b<U+0085>"),
        ("admin\u202e # \u2066", "admin<U+202E> # <U+2066>"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("a\nb\rc\x00", "a^Jb␍c<NUL>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("\ud800", "<U+D800>"),
    ],
)
def test_names_and_commands(text: str, shown: str) -> None:
    assert line(text) == shown


def test_lines_of_code_keep_their_tabs_only() -> None:
    assert code("\tif x:\u200d\r") == "\tif x:<U+200D>␍"


def test_prose_keeps_lines_and_joined_emoji() -> None:
    assert prose("one\r\ntwo\t👩\u200d💻\rthree\x1b") == "one\ntwo\t👩\u200d💻␍three<ESC>"


def test_no_hidden_character_survives_anywhere() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    for shown, kept in ((line(every), set()), (code(every), {"\t"}), (prose(every), set("\n\t\u200c\u200d"))):
        left = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
        assert left == kept
