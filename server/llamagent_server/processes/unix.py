"""A command under its guardian (Linux, macOS and other Unix systems)."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from llamagent_server.processes.child import NO_BOUNDS, Bounds, Ending

GUARDIAN = Path(__file__).with_name("guardian.py")


def spawn(argv: Sequence[str], cwd: Path, env: Mapping[str, str], bounds: Bounds = NO_BOUNDS) -> "GuardedChild":
    """Start `argv` under a guardian. Raises OSError where the folder or the interpreter cannot be used."""
    # -I and -S: nothing of the person's or the project's Python setup is loaded into the guardian.
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARDIAN), json.dumps(asdict(bounds)), *argv],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    return GuardedChild(process)


class GuardedChild:
    """The daemon's end of a guardian: its stdin is the leash, its stderr the report (see processes/guardian.py)."""

    def __init__(self, guardian: "subprocess.Popen[bytes]") -> None:
        if guardian.stdin is None or guardian.stdout is None or guardian.stderr is None:
            raise ValueError("a guardian needs its three pipes")
        self._guardian = guardian
        self._leash, self.output, self._report = guardian.stdin, guardian.stdout, guardian.stderr
        self._lock = threading.Lock()

    def wait(self) -> Ending:
        told: dict[str, str] = {}
        left = 0
        with self._report:
            for line in self._report:
                word, _, rest = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
                told[word] = rest
                if word == "left":  # by the sandbox for what is in it, by the guardian for what it still sees of that
                    left = max(left, _number(rest) or 0)
        self._guardian.wait()
        self.end()
        if "error" in told:
            return Ending(error=told["error"])
        return Ending(
            code=_number(told.get("exit")),
            signal=_number(told.get("signal")),
            left=left,
            limit=told.get("limit", ""),
        )

    def end(self) -> None:
        with self._lock:
            if not self._leash.closed:
                self._leash.close()
                self._guardian.send_signal(signal.SIGCONT)  # a command may have stopped it


def _number(words: str | None) -> int | None:
    """What runs in a sandbox might write into the report, too; whatever it says, it says of itself only."""
    return int(words) if words is not None and words.isascii() and words.isdigit() and len(words) < 10 else None
