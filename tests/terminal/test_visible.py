"""Nothing from a model or a file reaches the terminal as a control character."""

import sys
import unicodedata

import pytest

from llamagent_terminal.visible import code, command, line, prose


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git  status", "git  status"),
        ("rm -rf ~ #" + " " * 2000 + "ls", "rm -rf ~ # <2000 blanks> ls"),
        ("rm x;" + " \t" * 50 + "\u3164ls", "rm x; <100 blanks> <U+3164>ls"),
        ("a\u00a0\u2800\ufe0fb", "a<U+00A0><U+2800><U+FE0F>b"),
        ("ls\x1b[2K\rcat", "ls<ESC>[2K␍cat"),
        ("\u3000" * 3, "<U+3000>" * 3),
    ],
)
def test_nothing_of_a_command_looks_like_nothing(text: str, shown: str) -> None:
    assert command(text) == shown


def test_lines_of_code_keep_their_tabs_only() -> None:
    assert code("\tif x:\u200d\r") == "\tif x:<U+200D>␍"


def test_letters_that_look_like_nothing_are_seen_in_a_diff_and_blanks_of_a_text_stay() -> None:
    assert code("const \u3164 = 1; \u115f\u2800\U000e0100") == "const <U+3164> = 1; <U+115F><U+2800><U+E0100>"
    assert code("10\u00a0km 漢\u3000字 ❤\ufe0f") == "10\u00a0km 漢\u3000字 ❤\ufe0f"


def test_prose_keeps_lines_and_joined_emoji() -> None:
    assert prose("one\r\ntwo\t👩\u200d💻\rthree\x1b") == "one\ntwo\t👩\u200d💻␍three<ESC>"


def test_no_hidden_character_survives_anywhere() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    for shown, kept in ((line(every), set()), (code(every), {"\t"}), (prose(every), set("\n\t\u200c\u200d"))):
        left = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
        assert left == kept
