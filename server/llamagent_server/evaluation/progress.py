"""How far an evaluation is: a bar on a terminal, and above it once what breaks attempts off; else a line for each
attempt."""

from typing import TextIO

from llamagent_server.evaluation.attempts import Attempt

_CELLS = 24


class Progress:
    """`kept` of `total` were tried before."""

    def __init__(self, stream: TextIO, total: int, kept: int) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._total, self._done = total, kept
        self._solved = 0
        self._tried = 0
        self._said: set[tuple[str, str]] = set()
        if kept:
            self._stream.write(f"{kept} of {total} attempts were made before and are kept.\n")
        self._draw("")

    def told(self, attempt: Attempt) -> None:
        self._done += 1
        self._tried += not attempt.broke_off
        self._solved += attempt.solved
        name = f"{attempt.case.model} {attempt.case.task}"
        if not self._live:
            failed = "" if attempt.solved or attempt.broke_off else "failed: "
            self._stream.write(f"[{self._done}/{self._total}] {name}: {failed}{attempt.reason or 'solved'}\n")
        elif attempt.broke_off and (said := (attempt.case.model, attempt.reason)) not in self._said:
            self._said.add(said)  # such as a model that is not there: nobody waits for the end to learn that
            self._stream.write(f"\r\x1b[K{name}: {attempt.reason}\n")
        self._draw(name)

    def close(self) -> None:
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _draw(self, name: str) -> None:
        if not self._live:
            return
        cells = self._done * _CELLS // self._total if self._total else _CELLS
        bar = "#" * cells + "." * (_CELLS - cells)
        self._stream.write(
            f"\r\x1b[K[{bar}] {self._done}/{self._total}, {self._solved}/{self._tried} solved  {name[:40]}"
        )
        self._stream.flush()
