"""Every byte outside an edit is kept, or the edit is refused with the reason."""

from pathlib import Path

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, call, say

BOM = b"\xef\xbb\xbf"
EDIT = call("edit_file", path="a.txt", old_text="beta", new_text="BETA")


async def edited(project: Path, home: Path, *, opened: str | None = None) -> tuple[dict[str, object], str]:
    """The result of the edit, and the open document's text afterwards."""
    with FakeOllama(replies=[EDIT, say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            if opened is not None:
                await ed.open("a.txt", opened)
            await ed.ask("go")
            return ed.of("tool.returned")[0], "" if opened is None else ed.text("a.txt")


@pytest.mark.parametrize(
    "before",
    [
        b"alpha\r\nbeta\r\ngamma\r\n",
        b"alpha\r\nbeta\ngamma\r\n",
        b"alpha\nbeta",
        b"alpha\x0cform\nbeta\n",
        "alpha\u2028line\u2029\nbeta \U0001f600\nöä\n".encode(),
        b"alpha\rmac\nbeta\n",
    ],
)
async def test_a_file_on_disk_keeps_every_byte_outside_the_edit(project: Path, home: Path, before: bytes) -> None:
    (project / "a.txt").write_bytes(before)
    result, _ = await edited(project, home)
    assert result["ok"] is True, result
    assert (project / "a.txt").read_bytes() == before.replace(b"beta", b"BETA")


@pytest.mark.parametrize(
    ("before", "named"),
    [
        ("alpha é\nbeta\n".encode("latin-1"), "UTF-8"),
        ("alpha\nbeta\n".encode("utf-16"), "UTF-16"),
        (b"alpha\0\nbeta\n", "NUL bytes"),
    ],
)
async def test_what_is_not_utf8_is_refused_with_the_reason(
    project: Path, home: Path, before: bytes, named: str
) -> None:
    (project / "a.txt").write_bytes(before)
    result, _ = await edited(project, home)
    assert result["ok"] is False
    assert named.lower() in str(result["content"]).lower()
    assert (project / "a.txt").read_bytes() == before


async def test_an_open_latin1_file_is_edited_in_its_document_and_the_disk_is_the_editors(
    project: Path, home: Path
) -> None:
    before = "alpha é\nbeta\n".encode("latin-1")
    (project / "a.txt").write_bytes(before)
    result, text = await edited(project, home, opened="alpha é\nbeta\n")
    assert result["ok"] is True
    assert text == "alpha é\nBETA\n"
    assert (project / "a.txt").read_bytes() == before


async def test_a_byte_order_mark_is_no_part_of_the_first_line(project: Path, home: Path) -> None:
    (project / "a.txt").write_bytes(BOM + b"beta\n")
    with FakeOllama(replies=[EDIT, say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("go")
            (sent,) = ed.asked("workspace/applyEdit")
    (change,) = sent["edit"]["documentChanges"]
    assert change["edits"][0]["range"]["start"] == {"line": 0, "character": 0}
