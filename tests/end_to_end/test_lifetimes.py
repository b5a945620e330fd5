"""Who dies with whom: the daemon with its editor, commands with the daemon; and what is left of a conversation."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, say

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")
# A command that says its pid and that of a child in a session of its own, and would go on for a minute.
STAY = (
    "import os, subprocess, sys, time; "
    "child = subprocess.Popen(['sleep', '61'], start_new_session=True); "
    "open('pids', 'w').write(f'{os.getpid()} {child.pid}\\n'); time.sleep(61)"
)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def gone(*pids: int) -> None:
    async with asyncio.timeout(5):
        while any(map(alive, pids)):  # noqa: ASYNC110 - a stranger's end is no event here
            await asyncio.sleep(0.02)


async def command_pids(project: Path) -> list[int]:
    async with asyncio.timeout(10):
        # A file that another process writes gives no event.
        while not (project / "pids").exists() or not (project / "pids").read_text().endswith("\n"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    said = [int(pid) for pid in (project / "pids").read_text().split()]
    return said if sys.platform != "linux" else seen_pids(project, len(said))


def seen_pids(project: Path, count: int) -> list[int]:
    """The command and its child as we see them: in a sandbox they have other numbers for themselves."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            here = (process / "cwd").readlink() == project
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is not ours to look at
        if here and (words[:2] == [b"sleep", b"61"] or (b"stay.py" in words and b"-c" not in words)):
            found.append(int(process.name))
    assert len(found) >= count, "the command is not to be seen"
    return found


@pytest.fixture(params=["sandboxed", "not sandboxed"])
def sandbox(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings for either."""
    return {"sandbox": "on" if request.param == "sandboxed" else "off"}


async def running_command(ed: Editor, project: Path) -> list[int]:
    (project / "stay.py").write_text(STAY)
    ed.answers["llamagent/consent"] = lambda _: {"decision": "run"}
    await ed.start("ask", text="go")
    return await command_pids(project)


async def test_kill_9_of_the_daemon_ends_its_running_command_and_its_children(
    project: Path, home: Path, sandbox: dict[str, str]
) -> None:
    with FakeOllama(replies=[call("run_command", command=f"{sys.executable} stay.py"), say("ok")]) as server:
        async with editor(project, home, url=server.url, settings=sandbox) as ed:
            pids = await running_command(ed, project)
            ed.client.process.kill()
            await gone(*pids)


async def test_a_cancel_ends_the_running_command_and_its_children(
    project: Path, home: Path, sandbox: dict[str, str]
) -> None:
    with FakeOllama(replies=[call("run_command", command=f"{sys.executable} stay.py"), say("ok")]) as server:
        async with editor(project, home, url=server.url, settings=sandbox) as ed:
            pids = await running_command(ed, project)
            await ed.command("cancel")
            await gone(*pids)
            await ed.until(lambda: bool(ed.of("turn.ended")))
            assert ed.of("turn.ended")[0]["stopReason"] == "cancelled"


async def test_shutdown_in_the_middle_of_a_command_ends_everything_with_exit_code_0(
    project: Path, home: Path, sandbox: dict[str, str]
) -> None:
    with FakeOllama(replies=[call("run_command", command=f"{sys.executable} stay.py"), say("ok")]) as server:
        async with editor(project, home, url=server.url, settings=sandbox) as ed:
            pids = await running_command(ed, project)
            ed.client._ids += 1
            ed._replies[ed.client._ids] = asyncio.get_running_loop().create_future()
            await ed.client.send({"jsonrpc": "2.0", "id": ed.client._ids, "method": "shutdown", "params": None})
            await ed._replies[ed.client._ids]
            await ed.client.notify("exit")
            assert await ed.client.wait() == 0
            await gone(*pids)


@pytest.mark.parametrize("state", ["idle", "streaming", "command"])
async def test_kill_9_of_the_editor_ends_the_daemon_and_its_command(
    project: Path, home: Path, state: str, sandbox: dict[str, str]
) -> None:
    """The editor is a process between us and the daemon; we keep the pipes open, as a forgotten child of it would."""
    script = {
        "idle": [],
        "streaming": [say("a b c d e f", hold_after=2)],
        "command": [call("run_command", command=f"{sys.executable} stay.py")],
    }[state]
    with FakeOllama(replies=script) as server:
        stand_in = subprocess.Popen(["sleep", "60"])  # noqa: ASYNC220
        try:
            async with editor(project, home, url=server.url, pid=stand_in.pid, settings=sandbox) as ed:
                daemon = ed.client.process.pid
                pids = [daemon]
                if state == "streaming":
                    await ed.start("ask", text="go")
                    await ed.until(lambda: bool(ed.of("model.delta")))
                if state == "command":
                    pids += await running_command(ed, project)
                stand_in.send_signal(signal.SIGKILL)
                stand_in.wait()
                await gone(*pids)
        finally:
            stand_in.kill()
            stand_in.wait()


async def test_a_turn_that_died_with_the_daemon_is_resumed_with_all_that_was_done(project: Path, home: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    script = [
        call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2"),
        say("a b c d e f", hold_after=2),
        say("I set x to 2."),
    ]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.start("ask", text="set x to 2")
            await ed.until(lambda: bool(ed.of("model.delta")))
            ed.client.process.kill()
            await ed.client.wait()
        assert (project / "a.py").read_text() == "x = 2\n"
        async with editor(project, home, url=server.url) as ed:
            resumed = await ed.command("resume", ref=1)
            assert resumed["title"] == "set x to 2"
            assert (await ed.ask("what did you do?"))["answer"] == "I set x to 2."
    sent = server.requests[-1].json["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[3]["content"].startswith("Edited a.py (+1 -1). The user accepted it.")
