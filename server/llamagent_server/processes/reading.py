"""A program whose output is read line by line, such as the search program. It never outlives the reading."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from llamagent_server.processes.threads import Cancel, start

# On Windows a console program started by one without a console would open a window.
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)

MAX_MEMORY = 1 << 30  # bytes that a program may fill; only Linux holds it to that


def read_lines(
    argv: Sequence[str],
    *,
    cwd: Path,
    given: bytes,
    separator: bytes,
    take: Callable[[list[bytes]], bool],
    cancel: Cancel,
) -> int | None:
    """Run `argv` with `given` on its stdin and hand the pieces of its output to `take`, as many at once as are there,
    until that gives False.

    The exit status, or None where it was stopped by `take` or by `cancel`. Raises OSError where it cannot be started.
    """
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=_NO_WINDOW,
    )
    cancel.on_ask(process.kill)
    _bound(process.pid)
    with process:
        feeding = start(lambda: _feed(process, given), "llamagent-feed")
        whole = _pieces(process, separator, take)
        if not whole:
            process.kill()
        feeding.exception()
    return process.returncode if whole and not cancel.asked else None


def _bound(pid: int) -> None:
    """Someone else's folder may lead it to a file without an end."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError):  # it has ended already
            resource.prlimit(pid, resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))


def _feed(process: "subprocess.Popen[bytes]", given: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(given)
        process.stdin.close()
    except OSError:
        return  # it ended, or was ended, before it had read everything


def _pieces(process: "subprocess.Popen[bytes]", separator: bytes, take: Callable[[list[bytes]], bool]) -> bool:
    assert process.stdout is not None
    rest = b""
    while chunk := os.read(process.stdout.fileno(), 1 << 16):
        *pieces, rest = (rest + chunk).split(separator)
        if pieces and not take(pieces):
            return False
    return not rest or take([rest])
