"""The plugin's pure modules, run inside Neovim: merges, text edits, texts and lines."""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.driver import Editor, neovim


@pytest.fixture(scope="module")
def nvim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    with neovim(tmp_path_factory.mktemp("home")) as editor:
        yield editor


def merged(nvim: Editor, base: list[str], ours: list[str], theirs: list[str]) -> dict[str, Any]:
    labels = {"ours": "ours", "theirs": "theirs"}
    return dict(nvim.lua("return require('llamagent.merge').merge(...)", base, ours, theirs, labels))


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("abc", "abc", "abc", "abc"),
        ("abc", "Abc", "abc", "Abc"),
        ("abc", "abc", "abC", "abC"),
        ("abcde", "Abcde", "abcdE", "AbcdE"),
        ("abc", "aBc", "aBc", "aBc"),
        ("abcde", "ace", "abcdeX", "aceX"),
        ("abcde", "", "abcde", ""),
        ("", "", "ab", "ab"),
        ("abcde", "Xabcde", "abcd", "Xabcd"),
    ],
)
def test_changes_in_different_places_are_merged(nvim: Editor, base: str, ours: str, theirs: str, expected: str) -> None:
    result = merged(nvim, list(base), list(ours), list(theirs))
    assert (result["lines"], result["conflicts"]) == (list(expected), 0)


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [("abc", "aXc", "aYc"), ("abc", "ac", "aYc"), ("abc", "abXc", "abYc"), ("ab", "Xb", "aY")],
)
def test_the_same_place_changed_twice_is_a_visible_conflict(nvim: Editor, base: str, ours: str, theirs: str) -> None:
    result = merged(nvim, list(base), list(ours), list(theirs))
    assert result["conflicts"] == 1
    assert "<<<<<<< ours" in result["lines"]
    assert ">>>>>>> theirs" in result["lines"]
    assert nvim.lua("return require('llamagent.merge').has_marks(...)", result["lines"])


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the reference")
def test_where_it_merges_it_gives_what_git_gives(nvim: Editor, tmp_path: Path) -> None:
    chance = random.Random(7)
    compared = 0
    for _ in range(120):
        base = [f"line {chance.randrange(6)}" for _ in range(chance.randrange(1, 14))]
        ours, theirs = (changed(chance, base) for _ in range(2))
        result = merged(nvim, base, ours, theirs)
        code, text = git_merge(tmp_path, base, ours, theirs)
        if result["conflicts"] == 0 and code == 0:
            compared += 1
            assert "".join(line + "\n" for line in result["lines"]) == text, (base, ours, theirs)
        if code > 0:
            assert result["conflicts"] > 0 or ours == theirs, (base, ours, theirs)
    assert compared > 30


def changed(chance: random.Random, lines: list[str]) -> list[str]:
    out = list(lines)
    for _ in range(chance.randrange(3)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(3):
            case 0:
                out.insert(at, f"new {chance.randrange(1000)}")
            case 1 if out:
                del out[min(at, len(out) - 1)]
            case _ if out:
                out[min(at, len(out) - 1)] = f"changed {chance.randrange(1000)}"
    return out


def git_merge(folder: Path, base: list[str], ours: list[str], theirs: list[str]) -> tuple[int, str]:
    for name, lines in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    done = subprocess.run(
        ["git", "merge-file", "-p", "--diff3", "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode()


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    (l1, c1), (l2, c2) = start, end
    return {
        "range": {"start": {"line": l1, "character": c1}, "end": {"line": l2, "character": c2}},
        "newText": text,
    }


@pytest.mark.parametrize(
    ("text", "edits", "encoding", "expected"),
    [
        ("ab\ncd\n", [edit((1, 0), (1, 1), "X")], "utf-8", "ab\nXd\n"),
        ("", [edit((0, 0), (1, 0), "a\nb\n")], "utf-8", "a\nb\n"),
        ("\n", [edit((0, 0), (2, 0), "a\n")], "utf-8", "a\n"),
        ("ab\r\ncd\r\n", [edit((1, 1), (1, 99), "X")], "utf-16", "ab\r\ncX\r\n"),
        ("a\rb\r\nc\n", [edit((2, 0), (2, 1), "X")], "utf-16", "a\rb\r\nX\n"),
        ("é😀z\n", [edit((0, 3), (0, 4), "X")], "utf-16", "é😀X\n"),
        ("é😀z\n", [edit((0, 2), (0, 3), "X")], "utf-32", "é😀X\n"),
        ("é😀z\n", [edit((0, 6), (0, 7), "X")], "utf-8", "é😀X\n"),
        ("ab\n", [edit((0, 0), (0, 0), "1"), edit((0, 0), (0, 0), "2"), edit((0, 2), (0, 2), "3")], "utf-8", "12ab3\n"),
        ("ab", [edit((0, 2), (0, 2), "\nc")], "utf-8", "ab\nc"),
        ("ab\x0bcd\u2028ef\n", [edit((0, 5), (0, 5), "X")], "utf-8", "ab\x0bcdX\u2028ef\n"),
    ],
)
def test_text_edits_are_exact(
    nvim: Editor, text: str, edits: list[dict[str, Any]], encoding: str, expected: str
) -> None:
    assert nvim.lua("return (require('llamagent.textedit').apply(...))", text, edits, encoding) == expected


def test_edits_that_overlap_are_refused(nvim: Editor) -> None:
    overlapping = [edit((0, 0), (0, 2), "X"), edit((0, 1), (0, 3), "Y")]
    result = nvim.lua("return { require('llamagent.textedit').apply(...) }", "abcd\n", overlapping, "utf-8")
    assert result == [None, "the edits overlap"]


@pytest.mark.parametrize(
    ("text", "fileformat", "lines", "eol"),
    [
        ("a\nb\n", "unix", ["a", "b"], True),
        ("a\nb", "unix", ["a", "b"], False),
        ("a\r\nb\r\n", "dos", ["a", "b"], True),
        ("a\nb\r\n", "dos", ["a", "b"], True),
        ("a\r\nb\n", "unix", ["a\r", "b"], True),
        ("", "unix", [""], False),
    ],
)
def test_a_text_becomes_the_lines_of_its_file_format(
    nvim: Editor, text: str, fileformat: str, lines: list[str], eol: bool
) -> None:
    assert nvim.lua("return require('llamagent.buffer').split(...)", text, fileformat) == {"lines": lines, "eol": eol}


def test_a_replacement_is_one_undo_step_even_while_the_person_types(nvim: Editor) -> None:
    nvim.command("enew!")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'one', 'two', 'three' })")
    nvim.command("let &g:undolevels = &g:undolevels")
    nvim.type("A typed")
    nvim.lua("require('llamagent.buffer').replace(0, { 'ONE', 'two', 'THREE' })")
    nvim.type(" more<Esc>")
    nvim.until("vim.api.nvim_get_mode().mode == 'n'")
    steps = [nvim.lines()]
    for _ in range(3):
        nvim.command("silent undo")
        steps.append(nvim.lines())
    assert ["one typed", "two", "three"] in steps, steps
    assert ["one", "two", "three"] in steps, steps


def test_options_that_do_not_exist_are_named(nvim: Editor) -> None:
    problem = nvim.lua(
        "return tostring(select(2, pcall(require('llamagent').setup, ...)))", {"pannel": {}, "review": {"x": 1}}
    )
    assert problem == "llamagent: unknown options: pannel, review.x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢 😀\n\ttab", "plain é 漢 😀\n\ttab"),
        ("\x1b[2J\x07\x9b", "<U+001B>[2J<U+0007><U+009B>"),
        ("a\u202e\u2066b\u200b\ufeff\u2028", "a<U+202E><U+2066>b<U+200B><U+FEFF><U+2028>"),
        ("a\u3164\u115f\u2800\ufe0f\uffa0\xadb", "a<U+3164><U+115F><U+2800><U+FE0F><U+FFA0><U+00AD>b"),
        ("\U000e0041\U000e0100\U0001d173", "<U+E0041><U+E0100><U+1D173>"),
        ("x\ry", "x<U+000D>y"),
    ],
)
def test_what_hides_is_written_out(nvim: Editor, text: str, shown: str) -> None:
    assert nvim.lua("return require('llamagent.visible').text(...)", text) == shown
    line = nvim.lua("return require('llamagent.visible').line(...)", text)
    assert line == shown.replace("\n", "<U+000A>")


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("ls", ["$ ls"]),
        ("", ["$ "]),
        ("ls\n\n1: Run", ["$ ls", "> ", "> 1: Run"]),
        ("ls" + " " * 500 + ";rm x", ["$ ls <500 blanks> ;rm x"]),
        ("é" * 100, ["$ " + "é" * 80, "| " + "é" * 20]),
        ("x" * 159 + "é!", ["$ " + "x" * 159, "| é!"]),
    ],
)
def test_each_line_of_a_command_has_a_sign(nvim: Editor, command: str, lines: list[str]) -> None:
    assert nvim.lua("return require('llamagent.visible').command(...)", command) == lines


def test_a_diff_and_a_call_in_the_panel_hide_nothing(nvim: Editor) -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y \x1b[8m evil\u202e \x1b[0m\rz\r\n"
    event = {"kind": "edit.proposed", "files": [{"uri": "file:///a\x1b\n", "added": 1, "removed": 1}], "diff": diff}
    lines = nvim.lua("return require('llamagent.render').block(...).lines", event)
    assert "+y <U+001B>[8m evil<U+202E> <U+001B>[0m<U+000D>z" in lines and "\x1b" not in "".join(lines)
    output = {
        "kind": "tool.returned",
        "name": "x",
        "ok": True,
        "seconds": 1,
        "content": "\x1b[31mred\x1b[0m \x1b]0;t\x07",
    }
    assert nvim.lua("return require('llamagent.render').block(...).lines", output)[1] == "red <U+001B>]0;t<U+0007>"
