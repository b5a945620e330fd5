"""One shell command: run in a folder, bounded in time and output, and never outliving the daemon."""

import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from llamagent_server.processes.child import NO_BOUNDS, Bounds, Child, Ending
from llamagent_server.processes.output import Output
from llamagent_server.processes.programs import find_program
from llamagent_server.processes.threads import Cancel, off_loop, start

if sys.platform == "win32":
    from llamagent_server.processes.windows import spawn as spawn
else:
    from llamagent_server.processes.unix import spawn as spawn

# How long a killed command may take to be gone, and its output to be read to the end.
_END_SECONDS = 8.0
_DRAIN_SECONDS = 1.0


class Shelter(StrEnum):
    """What was between a command and the machine."""

    UNKNOWN = "unknown"
    NONE = "none"
    SANDBOX = "sandbox"
    SANDBOX_WITH_NETWORK = "sandbox with network"


@dataclass(frozen=True, slots=True)
class Ran:
    ending: Ending
    output: str
    timed_out: bool
    seconds_allowed: float
    shelter: Shelter = Shelter.UNKNOWN
    bounds: Bounds = NO_BOUNDS


def shell_argv(command: str) -> list[str]:
    """The program and arguments that run `command` in the system's shell."""
    if os.name == "nt":
        return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c", command]
    bash = find_program("bash", os.environ.get("PATH"))
    if bash:
        return [bash, "--noprofile", "--norc", "-c", command]
    return ["/bin/sh", "-c", command]


async def run(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float, bounds: Bounds = NO_BOUNDS
) -> Ran:
    """Run `argv` with an empty stdin; after `timeout` seconds, when cancelled, or when it and all that it started take
    more than `bounds`, it is killed with all it started."""

    def work(cancel: Cancel) -> Ran:
        return _run(argv, cwd, env, timeout, bounds, cancel)

    return await off_loop(work, name="llamagent-command", linger=_END_SECONDS)


def _run(argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float, bounds: Bounds, cancel: Cancel) -> Ran:
    try:
        child: Child = spawn(argv, cwd, env, bounds)
    except OSError as error:
        return Ran(Ending(error=f"{error.strerror}: {error.filename}"), "", timed_out=False, seconds_allowed=timeout)
    cancel.on_ask(child.end)
    output = Output()
    reading = start(lambda: _read(child.output, output), "llamagent-command-output")
    ended = start(child.wait, "llamagent-command-end")
    timed_out = not _done_within(ended, timeout)
    if timed_out:
        child.end()
    ending = ended.result(_END_SECONDS) if _done_within(ended, _END_SECONDS) else Ending(error="it could not be killed")
    # Where the system lets a process escape the killing, it may hold the pipe for ever: nobody waits for that.
    _done_within(reading, _DRAIN_SECONDS)
    return Ran(ending, output.text, timed_out=timed_out, seconds_allowed=timeout, bounds=bounds)


def _read(stream: IO[bytes], output: Output) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            output.add(chunk)


def _done_within(future: "Future[Ending] | Future[None]", seconds: float) -> bool:
    try:
        future.exception(seconds)
    except TimeoutError:
        return False
    return True
