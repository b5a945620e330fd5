"""The guardian of one command: a small process between the daemon and the command's shell (Unix).

Started as a script by `processes.unix`, it imports nothing of this package. Its stdin is a pipe that the daemon holds:
when that closes, because the daemon wants so or because it died in whatever way, the command and all its descendants
are killed. Its stdout becomes the command's stdout and stderr. On its stderr it tells, one a line: `pid N`, then
`exit N` or `signal N`, `left N` (processes that the command left behind, killed), or `error WORDS`; and `limit memory`
or `limit processes` where it killed the command for that. Its first argument is a JSON object: `memory` (bytes) and
`processes` bound what the command and its descendants may take together (0 = no bound; Linux), `reports` says that the
command is a sandbox, which is given the status pipe as its file 3.
"""

import ctypes
import json
import os
import resource
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
LOOK_SECONDS = 0.05  # between two looks at what the command takes
LONGEST_PAUSE = 0.25
FEW = 30  # processes, below which nothing bad is under way: looking takes a twentieth of the time at most
MANY = 10_000
WALL = 6_000  # processes and threads; older systems count all of the user's
REPORT_FD = 3
PAGE = os.sysconf("SC_PAGE_SIZE")
SANDBOX = b"bwrap"  # its own processes are neither asked to end nor counted


def main() -> int:
    bounds = json.loads(sys.argv[1])
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
        _become(sys.argv[2:], libc, status, reports=bool(bounds["reports"]))
    _come_first()
    _tell(status, f"pid {child}")
    wait_status = _watch(child, control, child_ended, Limits(bounds["memory"], bounds["processes"]))
    if isinstance(wait_status, str):
        # At once, and before anything that takes time: a storm of forks grows faster than it can be counted.
        _signal_group(child, signal.SIGKILL)
        _tell(status, f"limit {wait_status}")
        _kill_all(child)
        return 0
    if wait_status is None:
        _end(child)
        return 0
    _tell(status, _ending(wait_status))
    left = _kill_all(child)
    if left:
        _tell(status, f"left {left}")
    return 0


def _become(argv: list[str], libc: ctypes.CDLL | None, status: int, *, reports: bool) -> NoReturn:
    """Turn this fork into the command."""
    try:
        if libc is not None:
            _first_to_go()
            _bounded()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(1, 2)
        if reports:
            os.dup2(status, REPORT_FD)
            os.set_inheritable(REPORT_FD, True)
        os.execvp(argv[0], argv)
    except OSError as error:
        _tell(status, f"error {error.strerror}: {argv[0]}")
    finally:
        os._exit(127)


def _come_first() -> None:
    """Be scheduled before whatever the command starts, where this process may: it sleeps nearly always."""
    if sys.platform.startswith("linux"):
        try:
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        except OSError:
            return


def _first_to_go() -> None:
    """Where the machine runs out of memory, the command ends rather than the editor or the model server."""
    try:
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
    except OSError:
        return


def _bounded() -> None:
    """A wall for a storm of forks, far above any real work: it does not bind root, for which only looking helps."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = min((limit for limit in (soft, hard, WALL) if limit != resource.RLIM_INFINITY), default=WALL)
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    except (OSError, ValueError):
        return


def _watch(child: int, control: int, child_ended: int, limits: "Limits") -> int | str | None:
    """The wait status of `child` once it ended, None once the daemon let go or this process was told to end, the name
    of the limit once that was reached."""
    pause = LOOK_SECONDS if limits.any else None
    while True:
        ready, _, _ = select.select([control, child_ended], [], [], pause)
        if control in ready:
            return None
        if not ready:
            begun = time.monotonic()
            if reached := limits.reached():
                return reached
            took = time.monotonic() - begun
            pause = LOOK_SECONDS if limits.seen > FEW else min(LONGEST_PAUSE, max(LOOK_SECONDS, 20 * took))
            continue
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


class Limits:
    """What all descendants of this process may take together."""

    def __init__(self, memory: int, processes: int) -> None:
        self._memory, self._processes = memory, processes
        self.seen = 0
        self.any = sys.platform.startswith("linux") and (memory > 0 or processes > 0)

    def reached(self) -> str | None:
        """The name of the limit that was reached."""
        pids = _below(self._processes or MANY)
        self.seen = len(pids)
        if 0 < self._processes < self.seen:
            return "processes"
        # Pages that a fork shares with its parent are counted twice by the quick look, and not by the exact one.
        if 0 < self._memory < sum(map(_own_bytes, pids)) and self._memory < sum(map(_fair_bytes, pids)):
            return "memory"
        return None


def _below(most: int) -> list[int]:
    """The descendants of this process, a few more than `most` at most, by the system's lists of children."""
    if not Path("/proc/thread-self/children").exists():
        return list(_descendants())
    found: list[int] = []
    pending = [os.getpid()]
    while pending and len(found) <= most:
        pid = pending.pop()
        try:
            threads = list(Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            continue
        for thread in threads:
            children = [int(word) for word in _read(thread / "children").split()]
            found += children
            pending += children
    return found


def _own_bytes(pid: int) -> int:
    fields = _read(Path(f"/proc/{pid}/statm")).split()
    return (int(fields[1]) - int(fields[2])) * PAGE if len(fields) > 2 else 0


def _fair_bytes(pid: int) -> int:
    """Each shared page counts with its share; where the system does not say, as in the quick look."""
    for line in _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return _own_bytes(pid)


def _read(path: Path) -> bytes:
    """What the system says there; nothing of a process that is gone."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _ending(wait_status: int) -> str:
    code = os.waitstatus_to_exitcode(wait_status)
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def _end(child: int) -> None:
    """Ask the command to end, then make it."""
    found = _descendants()
    for pid, name in found.items():
        # A sandbox would take all that is in it along at once: first those within.
        if name != SANDBOX:
            _signal(pid, signal.SIGTERM)
    if SANDBOX not in found.values():
        _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and _reap():
        time.sleep(0.01)
    _kill_all(child)


def _kill_all(child: int) -> int:
    """Kill the command's group and every descendant of this process until none is left; how many there were."""
    seen: set[int] = set()
    _signal_group(child, signal.SIGSTOP)  # nothing new while it is counted
    deadline = time.monotonic() + KILL_SECONDS
    while True:
        found = _descendants()
        seen.update(pid for pid, name in found.items() if name != SANDBOX)
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


def _descendants() -> dict[int, bytes]:
    """Living descendants and their names, from /proc; nothing where there is none (there the group has to do)."""
    children: dict[int, list[int]] = {}
    names: dict[int, bytes] = {}
    try:
        processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    except OSError:
        return {}
    for process in processes:
        try:
            head, _, rest = process.joinpath("stat").read_bytes().rpartition(b")")
        except OSError:
            continue
        fields = rest.split()
        if fields[0] != b"Z":
            children.setdefault(int(fields[1]), []).append(int(process.name))
            names[int(process.name)] = head.partition(b"(")[2]
    found: dict[int, bytes] = {}
    pending = [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        found |= {pid: names[pid] for pid in below}
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
