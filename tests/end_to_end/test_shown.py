"""A long answer that is shown as a file: it is there while it can be read, and gone after every end of the daemon."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, say

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: signals")
LONG = "\n".join(f"line {number}" for number in range(100))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "tmp"
    folder.mkdir()
    return folder


@asynccontextmanager
async def showing(project: Path, home: Path, top: Path, pid: int | None = None) -> AsyncIterator[Editor]:
    """An editor that has neither the trace nor showDocument, after a long answer."""
    environment = {"TMPDIR": str(top)}
    with FakeOllama(replies=[say(LONG)]) as server:
        async with editor(project, home, url=server.url, flags={}, environment=environment, pid=pid) as ed:
            await ed.start("ask", text="tell me")
            await ed.until(lambda: any("answer-1.md" in said["message"] for said in ed.asked("window/showMessage")))
            (path,) = top.glob("*/answer-1.md")
            assert path.read_text() == LONG
            yield ed


async def stopped(ed: Editor, end: str) -> None:
    process, client = ed.client.process, ed.client
    if end == "shutdown":
        await ed.request("shutdown", None)
    if end in ("shutdown", "exit"):
        await client.notify("exit")
    elif end == "end of input":
        assert process.stdin is not None
        process.stdin.close()
    else:
        process.send_signal(signal.Signals[end])
    await client.wait()


@pytest.mark.parametrize("end", ["shutdown", "exit", "end of input", "SIGTERM", "SIGINT", "SIGHUP"])
async def test_every_end_in_order_removes_it(project: Path, home: Path, top: Path, end: str) -> None:
    async with showing(project, home, top) as ed:
        await stopped(ed, end)
    assert list(top.iterdir()) == []


async def test_kill_9_of_the_editor_removes_it(project: Path, home: Path, top: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as stand_in:  # noqa: ASYNC220 - the editor, whose pipes stay open
        async with showing(project, home, top, stand_in.pid) as ed:
            stand_in.kill()
            await ed.client.wait()
    assert list(top.iterdir()) == []


async def test_kill_9_of_the_daemon_leaves_it_until_the_next_one_starts(project: Path, home: Path, top: Path) -> None:
    async with showing(project, home, top) as living:
        other = project.parent / "other"
        other.mkdir()
        async with showing(other, home, other) as ed:  # in a folder of its own, moved to that of all once it is dead
            ed.client.process.kill()
            await ed.client.wait()
        (left,) = other.glob("llamagent-*")
        left.rename(top / left.name)
        (used,) = set(top.iterdir()) - {top / left.name}
        with FakeOllama() as server:
            async with editor(other, home, url=server.url, environment={"TMPDIR": str(top)}):
                async with asyncio.timeout(20):
                    while (top / left.name).exists():  # noqa: ASYNC110 - what another process removes gives no event
                        await asyncio.sleep(0.02)
        assert (used / "answer-1.md").read_text() == LONG
        await stopped(living, "shutdown")
    assert list(top.iterdir()) == []
