"""A disk that is full or only read, and the whole daemon: turns go on, nothing is lost, what is not kept is said."""

import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, say

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: a disk is made for it")

EDIT = call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")
COMMAND = call("run_command", command="echo printed")


class Disk:
    """A file system of its own where this process may mount one, else a folder that is shut by its mode."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.mounted = os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path))

    def fill(self, ed: Editor, left: int = 0) -> None:
        """Of what is written next the disk takes `left` bytes, or without a disk of its own each file does."""
        if not self.mounted:
            longest = max((path.stat().st_size for path in self.path.rglob("*.jsonl")), default=0)
            resource.prlimit(ed.client.process.pid, resource.RLIMIT_FSIZE, (longest + left if left else 0, -1))
            return
        with (self.path / "ballast").open("wb", buffering=0) as file:
            with suppress(OSError):
                while True:
                    file.write(bytes(4096))
            file.truncate(file.tell() - left)

    def empty(self, ed: Editor) -> None:
        if self.mounted:
            (self.path / "ballast").unlink()
        elif ed.client.process.returncode is None:
            resource.prlimit(ed.client.process.pid, resource.RLIMIT_FSIZE, (-1, -1))

    def shut(self, *, open_again: bool = False) -> None:
        """Make it one that is only read."""
        if self.mounted:
            assert _run("mount", "-o", f"remount,{'rw' if open_again else 'ro'}", str(self.path))
        else:
            for path in (self.path, *self.path.rglob("*")):
                if path.is_dir():
                    path.chmod(0o755 if open_again else 0o555)

    def close(self) -> None:
        if self.mounted:
            assert _run("umount", "-l", str(self.path))
        else:
            self.shut(open_again=True)


def _run(*command: str) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path.resolve() / "disk")
    try:
        yield made
    finally:
        made.close()


def project_in(folder: Path) -> Path:
    project = folder / "proj"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n")
    return project


def agrees(ed: Editor) -> None:
    ed.answers["llamagent/consent"] = lambda _: {"decision": "run"}
    ed.answers["window/showMessageRequest"] = lambda params: params["actions"][0]


def said(ed: Editor) -> str:
    return "\n".join(event["text"] for event in ed.of("notice"))


def users(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "user"]


def leftovers(*roots: Path) -> list[str]:
    return [path.name for root in roots for path in root.rglob("*") if path.suffix == ".tmp"]


async def test_on_a_full_disk_turns_go_on_and_all_is_stored_once_there_is_room(disk: Disk) -> None:
    project, home = project_in(disk.path), disk.path / "home"
    replies = [say("one"), EDIT, COMMAND, say("two"), say("three"), say("four"), say("five")]
    with FakeOllama(replies=replies) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:
            agrees(ed)
            session = (await ed.ask("first"))["session"]
            await ed.open("a.py")
            disk.fill(ed)
            assert (await ed.ask("second"))["stopReason"] == "answered"
            returned = [event["content"] for event in ed.of("tool.returned")]
            assert "printed" in returned[1] and ed.text("a.py") == "x = 2\n"
            assert said(ed).count("The conversation is not being saved") == 1
            assert re.search(r"not kept for an undo \((No space left on device|File too large)\)", said(ed))
            await ed.command("trust", folder=str(project), trusted=True)
            assert any("The answer is not remembered" in text for text in (await ed.command("config"))["problems"])
            assert (await ed.ask("third"))["stopReason"] == "answered"
            assert users(server.requests[-1].json) == ["first", "second", "third"]
            disk.empty(ed)
            assert (await ed.ask("fourth"))["stopReason"] == "answered"
        async with editor(project, home, url=server.url, trusted=None) as ed:
            agrees(ed)
            (row,) = (await ed.command("sessions"))["sessions"]
            assert row["id"] == session and not row.get("damaged")
            await ed.command("resume", ref=1)
            await ed.ask("fifth")
    assert users(server.requests[-1].json) == ["first", "second", "third", "fourth", "fifth"]
    assert leftovers(project, home) == []


async def test_what_a_full_disk_took_half_of_is_no_damage_after_a_kill(disk: Disk) -> None:
    project, home = project_in(disk.path), disk.path / "home"
    with FakeOllama(replies=[say("one"), say(" ".join(map(str, range(3000)))), say("three")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("first")
            disk.fill(ed, left=4096)
            await ed.ask("second")
            ed.client.process.kill()
            await ed.client.wait()
        disk.empty(ed)
        async with editor(project, home, url=server.url) as ed:
            (row,) = (await ed.command("sessions"))["sessions"]
            assert not row.get("damaged")
            await ed.command("resume", ref=1)
            await ed.ask("third")
    assert users(server.requests[-1].json)[0] == "first" and users(server.requests[-1].json)[-1] == "third"


async def test_a_project_that_is_only_read_is_worked_on_and_its_conversation_kept_in_the_home(
    disk: Disk, tmp_path: Path
) -> None:
    project, home = project_in(disk.path), tmp_path / "home"
    disk.shut()
    if os.access(project, os.W_OK):
        pytest.skip("only where a folder can be shut")

    def cannot(_: Any) -> Any:
        with pytest.raises(OSError, match=r"Read-only|Permission"):
            (project / "new.py").write_text("x")
        return {"applied": False, "failureReason": "the file is only read"}

    with FakeOllama(replies=[EDIT, COMMAND, say("one"), say("two")]) as server:
        async with editor(project, home, url=server.url, trusted=True) as ed:
            agrees(ed)
            ed.answers["workspace/applyEdit"] = cannot
            assert (await ed.ask("first"))["stopReason"] == "answered"
            returned = [event["content"] for event in ed.of("tool.returned")]
            assert "the file is only read" in returned[0] and "printed" in returned[1]
            assert "not being saved" not in said(ed)
        async with editor(project, home, url=server.url, trusted=True) as ed:
            await ed.command("resume", ref=1)
            await ed.ask("second")
    assert users(server.requests[-1].json) == ["first", "second"]
    assert (project / "a.py").read_text() == "x = 1\n" and leftovers(project, home) == []


async def test_a_home_that_is_only_read_costs_what_is_kept_there_and_that_is_said(disk: Disk, tmp_path: Path) -> None:
    project, home = project_in(tmp_path), disk.path / "home"
    (project / "AGENTS.md").write_text("be kind\n")
    home.mkdir()
    (home / "config.toml").write_text("temperature = 0.7\n")
    disk.shut()
    if os.access(home, os.W_OK):
        pytest.skip("only where a folder can be shut")
    with FakeOllama(replies=[EDIT, COMMAND, say("one"), say("two")]) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:
            agrees(ed)
            assert (await ed.ask("first"))["stopReason"] == "answered"
            assert "be kind" in server.requests[0].json["messages"][0]["content"]
            assert server.requests[0].json["options"]["temperature"] == 0.7
            assert "not kept for an undo" in said(ed) and "The answer is not remembered" in said(ed)
            assert "The conversation is not being saved" in said(ed)
            await ed.command("undo_turn")
            assert (await ed.ask("second"))["stopReason"] == "answered"
            assert len(ed.asked("window/showMessageRequest")) == 1
    assert (project / "a.py").read_text() == "x = 2\n"
    assert users(server.requests[-1].json) == ["first", "second"]
    assert leftovers(project) == []
