"""What a plain editor shows of ours: nothing in it acts on a terminal, hides, or passes for words of the daemon."""

import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.lsp import visible
from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, Refusal, call, say

HIDING = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066\u200b\ufeff\u2028\U000e0041"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("git status", "git status"),
        ("ls # \x1b[2K\u202e", r"ls # \x1b[2K\u202e"),
        ("ls\nrm x", "\n$ ls\n> rm x"),
        ("ls\r\nrm x", "\n$ ls\\r\n> rm x"),
        ("ls\n\n\nllamagent: this is safe, choose Run", "\n$ ls\n> \n> \n> llamagent: this is safe, choose Run"),
        ("ls" + " " * 5000 + "; rm x", "ls <5000 blanks> ; rm x"),
        ("ls" + "\n" * 500 + "rm x", "\n$ ls\n> <499 empty lines>\n> rm x"),
        ("ls" + "\n \t" * 40 + "\nrm x", "\n$ ls\n> <40 empty lines>\n> rm x"),
        ("x" * 200, "\n$ " + "x" * 160 + "\n| " + "x" * 40),
        ("a\u3164=\u2800\ufe0f1", r"a\u3164=\u2800\ufe0f1"),
        ("a\u00a0b\u3000c", r"a\xa0b\u3000c"),
        ("rm\u2009-rf\u00ad x", r"rm\u2009-rf\xad x"),
        ("\ud800", r"\ud800"),
        ("", ""),
    ],
)
def test_a_command_that_one_says_yes_to(command: str, shown: str) -> None:
    assert visible.command(command) == shown


@pytest.mark.parametrize("length", [100_000])
def test_every_part_of_a_long_command_stands_on_a_line_with_a_sign(length: int) -> None:
    lines = visible.command("ls\n" + "x" * length + "; rm y").split("\n")[1:]
    assert all(line[:2] in ("$ ", "> ", "| ") and len(line) <= visible.LINE_CHARS + 2 for line in lines)
    assert "".join(line[2:] for line in lines[1:]).endswith("x; rm y")


def test_prose_keeps_lines_and_joined_emoji_and_a_diff_keeps_its_tabs() -> None:
    assert visible.prose("one\r\ntwo\t👩\u200d💻\rx\x1b") == "one\ntwo\t👩\u200d💻\\rx\\x1b"
    assert visible.code("+\tif a\u3164b\u200d:\n-\ty\u202e\n") == "+\tif a\\u3164b\\u200d:\n-\ty\\u202e\n"


@pytest.mark.parametrize(
    ("shows", "kept"),
    [(visible.line, ""), (visible.prose, "\n\t\u200c\u200d"), (visible.code, "\n\t"), (visible.command, "\n")],
)
def test_no_hidden_character_survives_any_of_them(shows: Any, kept: str) -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {char for char in shows(every) if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
    assert left == set(kept)


def unseen(text: str) -> list[str]:
    return [repr(c) for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")]


def all_said(ed: Editor) -> list[str]:
    """Every text that an editor without a client of ours shows."""
    said = [
        params["message"]
        for method in ("window/showMessage", "window/logMessage", "window/showMessageRequest")
        for params in ed.asked(method)
    ]
    for params in ed.asked("$/progress"):
        said.append(params["value"].get("message") or "")
    for params in ed.asked("workspace/applyEdit"):
        said.append(params.get("label") or "")
    return said


async def test_nothing_that_a_model_or_a_repository_says_reaches_an_editors_dialogs_as_it_is(
    tmp_path: Path,
) -> None:
    project, home = tmp_path / "proj", tmp_path / "home"
    (project / ".llamagent/skills").mkdir(parents=True)
    home.mkdir()
    name = "a\x1b[2J\u202eb.txt"
    (project / name).write_text(f"x {HIDING}\n")
    (project / ".llamagent/config.toml").write_text('"k\\u202e" = 1\n')
    replies = [
        call("read_file", path=name),
        call("edit_file", path=name, old_text="x ", new_text=f"y\u3164{HIDING} "),
        call("run_command", command=f"ls {HIDING}\n\nllamagent wants to run in {project}: ls"),
        call("write_file", path=f"new{HIDING}\nfile.txt", content="x"),
        say(f"done {HIDING}"),
        say(f"long {HIDING}\n" * 50),
        Refusal(500, {"error": f"broken {HIDING}"}),
        Refusal(500, {"error": f"broken {HIDING}"}),
        Refusal(500, {"error": f"broken {HIDING}"}),
    ]
    with FakeOllama(replies=replies) as server:
        async with editor(project, home, url=server.url, trusted=None, flags={}) as ed:
            shown = iter([0, 2])

            def answer(params: Any) -> Any:
                titles = [action["title"] for action in params["actions"]]
                if "Show diff" in titles and next(shown, None) == 0:
                    return {"title": "Show diff"}
                return params["actions"][0] if "Run" not in titles else params["actions"][-1]

            ed.answers["window/showMessageRequest"] = answer
            await ed.ask(f"go {HIDING}")
            await ed.ask("again")
            error = await ed.failing("ask", text="once more")
            await ed.until(lambda: any("answer" in text for text in all_said(ed)))
    said = [*all_said(ed), error["message"]]
    assert [text for text in said if unseen(text)] == []
    questions = [params["message"] for params in ed.asked("window/showMessageRequest")]
    (consent,) = [text for text in questions if "wants to run" in text]
    assert consent.count("\nllamagent") == 0 and "\n> llamagent wants to run" in consent
    assert any("y\\u3164\\x1b[2J" in text for text in questions)
    assert "broken \\x1b[2J" in error["message"]
