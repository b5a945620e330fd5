"""Commands: how they end, that nothing of them is left, and that they die with the daemon however it dies."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from llamagent_server.processes.commands import Ran, run, shell_argv
from llamagent_server.processes.unix import GuardedChild

pytestmark = pytest.mark.skipif(os.name == "nt", reason="only on Unix")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux")

ENV = {"PATH": os.environ["PATH"]}


async def shell(command: str, folder: Path, *, timeout: float = 30.0) -> Ran:
    return await run(shell_argv(command), cwd=folder, env=ENV, timeout=timeout)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has taken leave of yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return not stat.parent.parent.joinpath("self").exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(look: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def pids(folder: Path, names: str) -> list[int]:
    """The process ids that a command wrote into files of these names."""
    files = [folder / name for name in names.split()]
    until(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files))
    return [int(file.read_text()) for file in files]


async def test_output_and_errors_come_in_their_order_with_the_exit_code(tmp_path: Path) -> None:
    ran = await shell("echo one; echo two >&2; echo three; exit 7", tmp_path)
    assert (ran.ending.code, ran.output, ran.timed_out) == (7, "one\ntwo\nthree\n", False)


async def test_a_command_runs_in_its_folder_without_input(tmp_path: Path) -> None:
    ran = await shell("pwd -P; cat; echo end", tmp_path)
    assert ran.output == f"{os.path.realpath(tmp_path)}\nend\n"


async def test_a_signal_is_told(tmp_path: Path) -> None:
    assert (await shell("kill -SEGV $$", tmp_path)).ending.signal == signal.SIGSEGV


async def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    ran = await run(["/nonexistent/program"], cwd=tmp_path, env=ENV, timeout=5)
    assert "No such file" in (ran.ending.error or "")
    ran = await shell("true", tmp_path / "missing")
    assert "No such file" in (ran.ending.error or "")


async def test_output_without_end_is_kept_at_both_ends_in_bounded_memory(tmp_path: Path) -> None:
    ran = await shell("echo first; yes | head -c 5000000; echo last", tmp_path)
    assert ran.output.startswith("first\n")
    assert ran.output.endswith("last\n")
    assert "bytes not kept" in ran.output
    assert len(ran.output) < 500_000


async def test_only_the_three_standard_streams_are_inherited(tmp_path: Path) -> None:
    kept = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        ran = await shell("ls /dev/fd/ | sort -n | tr '\\n' ' '", tmp_path)
    finally:
        os.close(kept)
    # `ls` itself opens the folder that it lists.
    assert ran.output.split() == ["0", "1", "2", "3"]


def test_what_a_sandbox_counted_as_left_running_counts_whatever_the_guardian_still_sees_of_it() -> None:
    for report in ("left 2\nexit 0\nleft 1\n", "left 1\nexit 0\nleft 2\n", "left 2\nexit 0\n", "exit 0\nleft 2\n"):
        says = [sys.executable, "-c", f"import sys; sys.stderr.write({report!r})"]
        with subprocess.Popen(says, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as guardian:
            ended = GuardedChild(guardian).wait()
        assert (ended.code, ended.left) == (0, 2), report


async def test_a_command_that_takes_too_long_is_killed_with_its_output_kept(tmp_path: Path) -> None:
    ran = await shell("echo begun; echo $$ >pid; sleep 600", tmp_path, timeout=0.5)
    assert (ran.timed_out, ran.output) == (True, "begun\n")
    assert not alive(*pids(tmp_path, "pid"))


async def test_a_command_that_will_not_end_is_made_to(tmp_path: Path) -> None:
    ran = await shell("trap '' TERM HUP INT; echo $$ >pid; while :; do sleep 1; done", tmp_path, timeout=0.5)
    assert ran.timed_out
    assert not alive(*pids(tmp_path, "pid"))


async def test_a_command_that_stops_its_guardian_is_ended_all_the_same(tmp_path: Path) -> None:
    ran = await shell("echo $$ >pid; kill -STOP $PPID; sleep 600", tmp_path, timeout=0.5)
    assert (ran.timed_out, ran.ending.error) == (True, None)
    assert not alive(*pids(tmp_path, "pid"))


@linux
async def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    command = """
        sleep 600 & echo $! >same_group
        setsid sleep 600 & echo $! >own_session
        (setsid sh -c 'echo $$ >orphan; exec sleep 600' >/dev/null 2>&1 &)
        while [ ! -s orphan ] || [ ! -s own_session ]; do sleep 0.01; done
        echo done
    """
    ran = await shell(command, tmp_path)
    assert (ran.ending.code, ran.output) == (0, "done\n")
    assert ran.ending.left >= 3
    assert not any(alive(pid) for pid in pids(tmp_path, "same_group own_session orphan"))


async def test_cancelling_kills_the_command_before_it_returns(tmp_path: Path) -> None:
    task = asyncio.create_task(shell("sleep 600 & echo $! >child; echo $$ >pid; wait", tmp_path))
    running = await asyncio.to_thread(pids, tmp_path, "pid child")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(alive(pid) for pid in running)


async def test_cancelling_at_once_leaves_nothing(tmp_path: Path) -> None:
    for _ in range(5):
        task = asyncio.create_task(shell("echo $$ >pid; sleep 600", tmp_path))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    if (tmp_path / "pid").exists():
        until(lambda: not alive(int((tmp_path / "pid").read_text() or "0" * 7)))


DAEMON = textwrap.dedent("""
    import asyncio, os, sys
    from pathlib import Path
    from llamagent_server.processes.commands import run, shell_argv

    async def main():
        asyncio.get_running_loop().call_later(float(sys.argv[2]), sys.exit, 3)
        await run(shell_argv(sys.argv[1]), cwd=Path.cwd(), env=dict(os.environ), timeout=600)

    asyncio.run(main())
""")

KEEPS_CHILDREN = """
    trap '' HUP TERM
    sleep 600 & echo $! >same_group
    setsid sleep 600 & echo $! >own_session
    (setsid sh -c 'echo $$ >orphan; exec sleep 600' &)
    echo $$ >shell
    wait
"""


@linux
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "exits"])
def test_a_command_dies_with_the_daemon(how: str, tmp_path: Path) -> None:
    seconds = "2" if how == "exits" else "600"
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, KEEPS_CHILDREN, seconds], cwd=tmp_path)
    running = pids(tmp_path, "same_group own_session orphan shell")
    assert all(alive(pid) for pid in running)
    if how != "exits":
        daemon.send_signal(getattr(signal, how))
    daemon.wait(20)
    until(lambda: not any(alive(pid) for pid in running))


@linux
def test_a_command_dies_with_its_guardian_too(tmp_path: Path) -> None:
    command = "echo $PPID >guardian; echo $$ >shell; sleep 600"
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, command, "600"], cwd=tmp_path)
    guardian, running = pids(tmp_path, "guardian shell")
    os.kill(guardian, signal.SIGKILL)
    until(lambda: not alive(running))
    assert daemon.wait(20) == 0
