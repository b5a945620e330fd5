"""Editors that lose count of their documents, against the whole daemon: no wrong text is read, no edit lands wrong."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, say

READ = call("read_file", path="a.py")
EDIT = call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    root.mkdir()
    (root / "a.py").write_text("x = 1\ny = 1\n")
    return root


async def changed(ed: Editor, version: Any, *changes: dict[str, Any]) -> None:
    params = {"textDocument": {"uri": ed.uri("a.py"), "version": version}, "contentChanges": list(changes)}
    await ed.client.notify("textDocument/didChange", params)


def at(line: int, start: int, end: int, text: str, last: int | None = None) -> dict[str, Any]:
    places = {"start": {"line": line, "character": start}, "end": {"line": last or line, "character": end}}
    return {"range": places, "text": text}


def returned(ed: Editor) -> list[str]:
    return [event["content"] for event in ed.of("tool.returned")]


async def test_a_document_whose_changes_came_out_of_order_is_not_edited_until_it_is_known_again(
    project: Path, tmp_path: Path
) -> None:
    replies = [READ, EDIT, say("no"), READ, EDIT, say("yes")]
    with FakeOllama(replies=replies) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.open("a.py")
            await changed(ed, 4, at(0, 0, 0, "# typed\n"))
            await changed(ed, 3, at(0, 0, 0, "# typed before that\n"))
            await ed.ask("go")
            assert all(
                "came out of order or were not understood: close it and open it again" in text for text in returned(ed)
            )
            assert len(returned(ed)) == 2 and ed.asked("workspace/applyEdit") == []
            error = await ed.failing("ask", text="go", context=[{"uri": ed.uri("a.py")}])
            assert "out of order" in error["message"]
            await ed.open("a.py", "# typed\nx = 1\ny = 1\n")
            await ed.ask("go")
            assert ed.text("a.py") == "# typed\nx = 2\ny = 1\n"
    assert (project / "a.py").read_text() == "x = 1\ny = 1\n"


async def test_a_conflict_in_a_review_of_a_document_out_of_step_changes_nothing(project: Path, tmp_path: Path) -> None:
    """It falls out of step while its edit waits for an answer by a dialog: the yes finds nothing to apply to."""
    with FakeOllama(replies=[EDIT, say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url, flags={"trace": True}) as ed:
            await ed.open("a.py")

            async def late(params: Any) -> Any:
                await changed(ed, 9, at(0, 0, 0, "a"))
                await changed(ed, 2, at(0, 0, 0, "b"))
                return params["actions"][0]

            ed.answers["window/showMessageRequest"] = late
            await ed.ask("go")
    assert ed.asked("workspace/applyEdit") == []
    assert ed.of("edit.resolved")[0]["outcome"] == "failed" and "out of order" in ed.of("edit.resolved")[0]["reason"]
    assert (project / "a.py").read_text() == "x = 1\ny = 1\n"


async def test_ranges_beyond_the_end_gaps_and_doubled_messages_leave_one_right_text(
    project: Path, tmp_path: Path
) -> None:
    with FakeOllama(replies=[READ, EDIT, say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.client.notify("textDocument/didClose", {"textDocument": {"uri": ed.uri("a.py")}})
            await ed.open("a.py", "something else")
            await ed.open("a.py")
            await changed(ed, 7, at(99, 3, 9, "z = 3\n"))
            await changed(ed, 7, at(1, 900, 901, "  # end"))
            ed.texts[ed.uri("a.py")], ed.versions[ed.uri("a.py")] = "x = 1\ny = 1  # end\nz = 3\n", 7
            await ed.ask("go")
            assert "2\ty = 1  # end" in returned(ed)[0] or "y = 1  # end" in returned(ed)[0]
            assert ed.text("a.py") == "x = 2\ny = 1  # end\nz = 3\n"
            for _ in range(2):
                await ed.client.notify("textDocument/didClose", {"textDocument": {"uri": ed.uri("a.py")}})
            await ed.client.notify("textDocument/didSave", {"textDocument": {"uri": ed.uri("a.py")}})
            assert (await ed.command("context"))["tokens"] > 0


@pytest.mark.parametrize(
    "change",
    [
        at(-1, 0, 0, "bad"),
        at(0, -5, -1, "bad"),
        {"range": {"start": {"line": 0.5, "character": 0}, "end": {"line": 1, "character": 0}}, "text": "bad"},
        {"range": {"start": {"line": 0, "character": True}, "end": {"line": 1, "character": 0}}, "text": "bad"},
        {"range": {"start": {"line": 0}, "end": {}}, "text": "bad"},
        {"range": 7, "text": "bad"},
        {"range": None, "text": 5},
        {"text": None},
        {},
        "bad",
    ],
)
async def test_after_a_change_that_cannot_be_one_the_text_is_not_known(
    project: Path, tmp_path: Path, change: Any
) -> None:
    with FakeOllama(replies=[READ, EDIT, say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.open("a.py")
            await changed(ed, 2, change)
            await ed.ask("go")
            assert ed.asked("workspace/applyEdit") == []
    assert all("close it and open it again" in text and "bad" not in text for text in returned(ed))


@pytest.mark.parametrize(
    ("version", "change", "text"),
    [
        (None, at(0, 4, 5, "7"), "x = 7"),
        (2, at(0, 4, 5, "7", last=0) | {"rangeLength": 1}, "x = 7"),
        (2.0, at(1, 2**40, 2**70, "7", last=2**70), "y = 17"),
        (2, {"text": "x = 7\n", "range": None}, "x = 7"),
    ],
    ids=["no version", "a range's length", "numbers as large as can be", "a range that is null"],
)
async def test_what_other_editors_send_is_understood(
    project: Path, tmp_path: Path, version: Any, change: Any, text: str
) -> None:
    with FakeOllama(replies=[READ, say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.open("a.py")
            await changed(ed, version, change)
            await ed.ask("go")
    assert text in returned(ed)[0]


@pytest.mark.parametrize("text", [None, 5, ["x"], {}])
async def test_a_text_that_is_none_is_not_opened(project: Path, tmp_path: Path, text: Any) -> None:
    with FakeOllama(replies=[READ, say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            item = {"uri": ed.uri("a.py"), "languageId": "python", "version": 1, "text": text}
            await ed.client.notify("textDocument/didOpen", {"textDocument": item})
            await ed.ask("go")
    assert "x = 1" in returned(ed)[0]
