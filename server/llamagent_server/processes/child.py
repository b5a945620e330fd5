"""A command that was started, the same on every system, and how it ended."""

from dataclasses import dataclass
from typing import IO, Protocol


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: an exit code or a signal's number; `error` says why it could not be started.

    `left` counts the processes that it left behind, which were killed.
    """

    code: int | None = None
    signal: int | None = None
    left: int = 0
    error: str | None = None


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
