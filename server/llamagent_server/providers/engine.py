"""The embedded engine from the daemon's side: started, watched and ended. It is a child that cannot outlive the daemon
(docs/decisions/0016)."""

import json
import os
import queue
import re
import secrets
import shlex
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from llamagent_server.errors import ModelError, ModelFailed
from llamagent_server.processes.child import Child
from llamagent_server.processes.commands import spawn
from llamagent_server.processes.threads import Cancel, start
from llamagent_server.providers.engine_program import SAYS

PACKAGE = "xllamacpp"
# True for a clone, a wheel and the extension alike: each runs in some Python, and this is that one.
INSTALL = f"Install it into the Python that runs llamagent: {shlex.quote(sys.executable)} -m pip install {PACKAGE}"
_PROGRAM = Path(__file__).with_name("engine_program.py")
_SAID = re.compile(rf"{SAYS} (ready|failed) (.*)")
_STAMP = re.compile(r"^[\d.]+ (?=[EWID] )")
_LAST_WORDS = 12
_START_SECONDS = 600.0  # big models come from slow disks


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """`path` is a GGUF file; `num_ctx` is in tokens."""

    path: Path
    num_ctx: int


@dataclass(slots=True)
class Engine:
    """One that listens at `address`, for who has the `key`."""

    config: EngineConfig
    address: str
    key: str = field(repr=False)
    _child: Child
    _lines: "deque[str]"
    _gone: threading.Event = field(default_factory=threading.Event)

    def gone(self, seconds: float = 0.0) -> bool:
        """Whether it ended, by itself or because it was told to; blocks for at most `seconds` until it has."""
        return self._gone.wait(seconds)

    @property
    def last_words(self) -> str:
        return "\n".join(self._lines)

    def end(self) -> None:
        """Have it killed; returns at once."""
        self._child.end()


def require_package() -> None:
    """Raises ModelFailed where the engine is not installed. Imports nothing."""
    if find_spec(PACKAGE) is None:
        raise ModelFailed(f"The embedded engine (the Python package {PACKAGE}) is not installed.", hint=INSTALL)


def start_engine(config: EngineConfig, cancel: Cancel) -> Engine:
    """Load the model and listen; blocks until it does. Raises ModelError."""
    require_package()
    key = secrets.token_urlsafe(24)
    try:
        child: Child = spawn([sys.executable, "-P", str(_PROGRAM)], config.path.parent, _environment(config, key))
    except OSError as error:
        raise ModelFailed(f"The embedded engine cannot be started ({error}).", hint=INSTALL) from error
    cancel.on_ask(child.end)
    lines: deque[str] = deque(maxlen=_LAST_WORDS)
    said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    engine = Engine(config, "", key, child, lines)

    def follow() -> None:
        _read(child.output, lines, said)
        child.wait()
        engine._gone.set()
        said.put(None)

    start(follow, "llamagent-engine")
    try:
        engine.address = _address(said.get(timeout=_START_SECONDS), config, lines)
    except queue.Empty:
        child.end()
        raise ModelFailed(f"{config.path.name} was not loaded within {_START_SECONDS:g} s.") from None
    except ModelError:
        child.end()
        raise
    return engine


def _environment(config: EngineConfig, key: str) -> Mapping[str, str]:
    wanted = {"path": str(config.path), "num_ctx": config.num_ctx, "key": key, "threads": _threads()}
    return {**os.environ, "LLAMAGENT_ENGINE": json.dumps(wanted)}


def _threads() -> int:
    """Half of the processors: the real cores where each counts twice, and never all of them. llama.cpp's threads wait
    for one another at each step; when one must share its processor, all are several times slower."""
    return max(1, (os.cpu_count() or 2) // 2)


def _read(output: IO[bytes], lines: "deque[str]", said: "queue.SimpleQueue[str | None]") -> None:
    with output:
        for raw in output:
            line = raw.decode("utf-8", "replace").rstrip()
            if _SAID.search(line):
                said.put(line)
            elif line:
                lines.append(_STAMP.sub("", line))


def _address(line: str | None, config: EngineConfig, lines: "deque[str]") -> str:
    """Where it listens. Raises ModelFailed when it says that it failed, or nothing at all (None)."""
    match = _SAID.search(line) if line is not None else None
    if match is not None and match[1] == "ready":
        return match[2]
    raise ModelFailed(
        f"The embedded engine cannot load {config.path}.",
        hint="Check that it is a whole GGUF file of a chat model, and that it fits the memory; "
        "a smaller num_ctx takes less.",
        detail="\n".join([*lines, match[2] if match is not None else "it ended without a word"]),
    )
