"""The guardian of one command: a small process between the daemon and the command's shell (Unix).

Started as a script by `processes.unix`, it imports nothing of this package. Its stdin is a pipe that the daemon holds:
when that closes, because the daemon wants so or because it died in whatever way, the command and all its descendants
are killed. Its stdout becomes the command's stdout and stderr. On its stderr it tells, one a line: `pid N`, then
`exit N` or `signal N`, `left N` (processes that the command left behind, killed), or `error WORDS`.
"""

import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

assert sys.platform != "win32", "Windows has job objects instead"

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 0.3
KILL_SECONDS = 5.0


def main() -> int:
    status = os.dup(2)
    control = os.dup(0)
    os.set_inheritable(status, False)
    os.set_inheritable(control, False)
    libc = _libc()
    if libc is not None:
        # Orphans of the command come to this process instead of the system's first one, whatever session they are in.
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child_ended, note = os.pipe()
    os.set_blocking(note, False)
    signal.set_wakeup_fd(note, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    child = os.fork()
    if child == 0:
        _become(sys.argv[1:], libc, status)
    _tell(status, f"pid {child}")
    wait_status = _watch(child, control, child_ended)
    if wait_status is None:
        _end(child)
        return 0
    _tell(status, _ending(wait_status))
    left = _kill_all(child)
    if left:
        _tell(status, f"left {left}")
    return 0


def _become(argv: list[str], libc: ctypes.CDLL | None, status: int) -> NoReturn:
    """Turn this fork into the command."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(1, 2)
        os.execvp(argv[0], argv)
    except OSError as error:
        _tell(status, f"error {error.strerror}: {argv[0]}")
    finally:
        os._exit(127)


def _watch(child: int, control: int, child_ended: int) -> int | None:
    """The wait status of `child` once it ended, None once the daemon let go or this process was told to end."""
    while True:
        ready, _, _ = select.select([control, child_ended], [], [])
        if control in ready:
            return None
        numbers = os.read(child_ended, 512)
        if any(number in numbers for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)):
            return None
        while True:
            try:
                pid, wait_status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == child:
                return wait_status
            if pid == 0:
                break


def _ending(wait_status: int) -> str:
    code = os.waitstatus_to_exitcode(wait_status)
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def _end(child: int) -> None:
    """Ask the command to end, then make it."""
    _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and _reap():
        time.sleep(0.01)
    _kill_all(child)


def _kill_all(child: int) -> int:
    """Kill the command's group and every descendant of this process until none is left; how many there were."""
    seen: set[int] = set()
    deadline = time.monotonic() + KILL_SECONDS
    while True:
        found = _descendants()
        seen.update(found)
        _signal_group(child, signal.SIGKILL)
        for pid in found:
            _signal(pid, signal.SIGKILL)
        if not _reap() or time.monotonic() > deadline:
            return len(seen)
        time.sleep(0.005)


def _reap() -> bool:
    """Take leave of ended children; whether any child is still there."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _descendants() -> list[int]:
    """Living descendants, from /proc; nothing where there is none (there the group has to do)."""
    children: dict[int, list[int]] = {}
    try:
        processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    except OSError:
        return []
    for process in processes:
        try:
            fields = process.joinpath("stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            children.setdefault(int(fields[1]), []).append(int(process.name))
    found, pending = [], [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _tell(status: int, words: str) -> None:
    try:
        os.write(status, words.encode("utf-8", "replace") + b"\n")
    except OSError:
        return  # the daemon is gone; the pipe on stdin says so too


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


if __name__ == "__main__":
    sys.exit(main())
