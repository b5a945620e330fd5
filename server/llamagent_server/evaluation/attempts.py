"""One try of a model at a task, how it ended, and the file that keeps every try: so that an evaluation can go on."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from llamagent_server.evaluation.measures import Measures

BROKE_OFF = "the attempt broke off"  # what comes after it is no fault of the model's


@dataclass(frozen=True, slots=True)
class Case:
    """What is tried: `run` counts from 1. `digest` is of the task and of the conditions (settings, harness)."""

    model: str
    task: str
    run: int
    digest: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """`reason` says why it failed, "" where it did not."""

    case: Case
    solved: bool
    reason: str
    measures: Measures

    @property
    def broke_off(self) -> bool:
        """Whether it ended before the model had its chance (no server, say): it says nothing about the model."""
        return self.reason.startswith(BROKE_OFF)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def attempt_of(value: Mapping[str, Any]) -> Attempt:
    """Raises KeyError, TypeError for what `to_json` did not make."""
    return Attempt(Case(**value["case"]), bool(value["solved"]), str(value["reason"]), Measures(**value["measures"]))


class Ledger:
    """Append-only JSON Lines. A torn last line, as a killed run leaves it, costs that line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Attempt]:
        """Raises OSError."""
        return list(self._attempts()) if self._path.exists() else []

    def begin(self) -> None:
        """Raises OSError where nothing could be added later."""
        with self._path.open("ab"):
            pass

    def add(self, attempt: Attempt) -> None:
        """Raises OSError."""
        with self._path.open("a+b") as stream:
            whole = stream.tell() == 0 or self._last_byte(stream) == b"\n"
            stream.write(b"" if whole else b"\n")
            stream.write(json.dumps(attempt.to_json()).encode() + b"\n")

    @staticmethod
    def _last_byte(stream: IO[bytes]) -> bytes:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1)

    def _attempts(self) -> Iterator[Attempt]:
        for line in self._path.read_text("utf-8", "replace").splitlines():
            try:
                yield attempt_of(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue
