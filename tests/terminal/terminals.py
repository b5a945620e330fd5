"""Running the client as a person does: in a pseudo terminal, where it can be typed at, or in a pipe."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

RUN_CLIENT = str(Path(__file__).with_name("run_client.py"))
_SECONDS = 30.0
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the person who runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
    root = str(Path(__file__).parents[2])
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "PYTHONPATH": root, "TERM": "xterm", **more}


def piped(
    arguments: Sequence[str], env: dict[str, str], typed: str = "", *, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """Without any terminal."""
    return subprocess.run(
        [sys.executable, RUN_CLIENT, *arguments],
        input=typed,
        env=env,
        capture_output=True,
        encoding=encoding,
        timeout=_SECONDS,
        start_new_session=True,
        check=False,
    )


class Terminal:
    """The client in a terminal of its own, but for its stdout where `output` is a descriptor. `raw` is all that it
    wrote there, `shown` the same without colours."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: dict[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
        output: int | None = None,
    ) -> None:
        self._screen, keyboard = pty.openpty()
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, RUN_CLIENT, *arguments],
            stdin=keyboard,
            stdout=keyboard if output is None else output,
            stderr=keyboard,
            env={**env, "RUN_CLIENT_TTY": "1"},
            start_new_session=True,
        )
        os.close(keyboard)
        self.shown = self.raw = ""
        self._raw = b""
        self._seen = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def expect(self, text: str) -> str:
        """Wait until `text` appears after what was expected before; returns what came up to it."""
        deadline = monotonic() + _SECONDS
        while (before := self._came(text)) is None:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} never came. The screen:\n{self.shown}")
        return before

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        deadline = monotonic() + _SECONDS
        while self._read(deadline):
            pass
        os.close(self._screen)
        return self._process.wait(_SECONDS)

    def signal(self, number: int) -> int:
        """Send a signal; the exit code."""
        os.kill(self.pid, number)
        return self.ended()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _came(self, text: str) -> str | None:
        found = self.shown.find(text, self._seen)
        if found < 0:
            return None
        before = self.shown[self._seen : found]
        self._seen = found + len(text)
        return before

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(deadline - monotonic(), 0))
        if not ready:
            self.kill()
            raise AssertionError(f"nothing happens any more. The screen:\n{self.shown}")
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self._raw += piece
        self.raw = self._raw.decode(errors="replace")
        self.shown = _COLOUR.sub("", self.raw).replace("\r\n", "\n")
        return bool(piece)
