"""A command that was started, the same on every system, and how it ended."""

from dataclasses import dataclass
from typing import IO, Protocol


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: an exit code or a signal's number; `error` says why it could not be started.

    `left` counts the processes that it left behind, which were killed. `limit` names what it was killed for taking too
    much of: "memory", "processes", or nothing.
    """

    code: int | None = None
    signal: int | None = None
    left: int = 0
    error: str | None = None
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command and all that it starts may take together (0 = no bound): bytes of memory, processes.

    `reports`: the command is a sandbox, whose part within tells the guardian what was left running.
    """

    memory: int = 0
    processes: int = 0
    reports: bool = False


NO_BOUNDS = Bounds()


class Child(Protocol):
    """A command that was started."""

    @property
    def output(self) -> IO[bytes]: ...

    def wait(self) -> Ending:
        """How it ended, once it and all that it started have."""
        ...

    def end(self) -> None:
        """Have it killed with all that it started; returns at once, may be called from any thread and twice."""
        ...
