"""A conversation as Markdown and JSON: from the editor, and on the command line without a daemon."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, call, say

SCRIPT = [
    call("read_file", path="a.txt"),
    call("edit_file", path="a.txt", old_text="one", new_text="1"),
    say("Done: ```x``` \x1b[31mred"),
    say("again"),
]


async def exported(folder: Path, home: Path, *arguments: str) -> tuple[int, str, str]:
    env = {**os.environ, "LLAMAGENT_HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "llamagent_server", "export", *arguments,
        cwd=folder, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_markdown_has_the_diffs_and_json_has_everything(project: Path, home: Path, tmp_path: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\n")
    with FakeOllama(replies=SCRIPT) as server:
        async with editor(project, home, url=server.url) as ed:
            asked = await ed.ask("change `one`")
            await ed.command("retry", text="and again")
            text = (await ed.command("export"))["text"]
            data = json.loads((await ed.command("export", format="json"))["text"])
            assert (await ed.failing("export", format="pdf"))["data"]["kind"] == "bad_argument"
    for words in (
        "# and again",
        "change `one`",
        "calls `edit_file`",
        "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n```",
        "The edit was **accepted**.",
        "from before the turn",
        "*answered, 3 steps*",
        "\\x1b[31mred",
    ):
        assert words in text, words
    assert "\x1b" not in text
    assert [message["role"] for message in data["messages"]] == ["system", "user", "assistant"]
    assert [event["kind"] for event in data["events"]].count("turn.started") == 2
    assert (data["session"], data["title"], data["model"]) == (asked["session"], "and again", "qwen3.5:4b")
    code, out, err = await exported(project, home)
    assert (code, out.split()[0], out.split()[3:]) == (0, "1", ["and", "again"])
    assert "export 1" in err
    code, out, err = await exported(tmp_path, home)
    assert (code, out) == (1, "") and "no conversation is stored" in err
    for reference in (asked["session"], "1"):
        assert await exported(project, home, reference) == (0, text, "")
    code, out, _ = await exported(tmp_path, home, "1", "--format", "json", "--workspace", str(project))
    assert (code, json.loads(out)) == (0, data)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("2026-01-01T00-00-00-abcd", "There is no"),
        ("../../etc/passwd", "There is no"),
        ("7", "No conversation is stored here."),
        ("9" * 5000, "No conversation is stored here."),
    ],
)
async def test_what_is_not_there_is_said(project: Path, home: Path, reference: str, words: str) -> None:
    code, out, err = await exported(project, home, reference)
    assert (code, out) == (1, "")
    assert words in err


async def test_nothing_to_export_is_said(project: Path, home: Path) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            assert "nothing to export" in (await ed.failing("export"))["message"]


# --- The terminal agent's ------------------------------------------------------------------------------------------

THEIRS = {
    "id": "2026-05-01_10-00-00",
    "title": "Trouve le bug",
    "updated": "2026-05-01T10:00:00",
    "model": "qwen3.5:4b",
    "messages": [
        {"role": "user", "content": "Trouve le bug"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "calc.py"}}}],
        },
        {"role": "tool", "tool_name": "read_file", "content": "def add(a, b): return a - b"},
        {"role": "assistant", "content": "C'est le moins."},
    ],
}


async def test_a_conversation_of_the_terminal_agent_is_listed_resumed_exported_and_never_written(
    project: Path, home: Path
) -> None:
    sessions = project / ".llamagent/sessions"
    sessions.mkdir(parents=True)
    theirs = sessions / "2026-05-01_10-00-00.json"
    theirs.write_text(json.dumps(THEIRS, ensure_ascii=False, indent=1), encoding="utf-8")
    (sessions / "2026-05-01_11-00-00.json").write_text('{"id": "2026-05-01_11-00-00", "mess', encoding="utf-8")
    (sessions / "2026-05-02T00-00-00-dead.jsonl").write_bytes(b'{"type":"session"\n\x00\x00\n')
    before = theirs.read_bytes(), theirs.stat().st_mtime_ns
    with FakeOllama(replies=[say("oui")]) as server:
        async with editor(project, home, url=server.url) as ed:
            rows = (await ed.command("sessions"))["sessions"]
            assert {(row["id"], row.get("damaged", False)) for row in rows} == {
                ("2026-05-01_10-00-00", False),
                ("2026-05-01_11-00-00", True),
                ("2026-05-02T00-00-00-dead", True),
            }
            resumed = await ed.command("resume", ref="2026-05-01_10-00-00")
            assert resumed == {"session": "2026-05-01_10-00-00", "title": "Trouve le bug", "messages": 3}
            text = (await ed.command("export"))["text"]
            assert "C'est le moins." in text
            assert "`read_file` returned" in text
            await ed.ask("et alors ?")
            assert (await ed.failing("delete_session", ref="2026-05-01_11-00-00"))["data"]["kind"] == "bad_argument"
            assert (await ed.failing("resume", ref="2026-05-01_11-00-00"))["data"]["kind"] == "unknown_session"
    assert [m["role"] for m in server.requests[-1].json["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert (theirs.read_bytes(), theirs.stat().st_mtime_ns) == before
    code, out, _ = await exported(project, home, "2026-05-01_10-00-00")
    assert (code, "et alors ?" in out, "Trouve le bug" in out) == (0, True, True)
