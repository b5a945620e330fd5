"""The daemon as a child process, and JSON-RPC with it: one thread reads, everything comes out of one queue in order."""

import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import IO, Any, TypeAlias

METHOD_NOT_FOUND = -32601
REQUEST_CANCELLED = -32800
_LAST_WORDS = 15
_ENDING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the daemon, which waits for its answer."""

    id: int | str
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    id: int | str
    result: Any


@dataclass(frozen=True, slots=True)
class Failed:
    id: int | str
    code: int
    message: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Gone:
    """The daemon ended. `last_words` are the last lines of its stderr."""

    code: int | None
    last_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The person pressed Ctrl-C."""


Incoming: TypeAlias = Asked | Told | Answered | Failed | Gone | Interrupted


class Daemon:
    """Started at once; `end` must be called. For one thread, but for `interrupt`, which a signal handler may call.

    `on_gone` is called by another thread when the daemon has ended, after `Gone` was put in the queue.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_own_group(),
        )
        self._incoming: SimpleQueue[Incoming] = SimpleQueue()
        self._last_id = 0
        self._withdrawn: set[int | str] = set()
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self.gone = False
        self.on_gone: Callable[[], None] = lambda: None
        self._stderr = threading.Thread(target=self._keep_last_words, name="daemon-stderr", daemon=True)
        self._stderr.start()
        threading.Thread(target=self._read, name="daemon-stdout", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    # --- To the daemon

    def request(self, method: str, params: object) -> int:
        """Returns the id that the answer will have."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def answer(self, request: Asked, result: object) -> None:
        self._send({"id": request.id, "result": result})

    def decline(self, request: Asked, code: int, message: str) -> None:
        self._send({"id": request.id, "error": {"code": code, "message": message}})

    def _send(self, message: Mapping[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stdin = _pipe(self._process.stdin)
        with suppress(OSError, ValueError):  # a broken pipe: the reader reports the end, with the reason
            stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            stdin.flush()

    # --- From the daemon

    def next(self, seconds: float) -> Incoming | None:
        """What came, in order; None when nothing came within `seconds`."""
        try:
            return self._incoming.get(timeout=seconds)
        except Empty:
            return None

    def withdrawn(self, request: Asked) -> bool:
        """Whether the daemon took its question back, or is gone."""
        return request.id in self._withdrawn or self.gone

    def interrupt(self) -> None:
        self._incoming.put(Interrupted())

    def _read(self) -> None:
        stdout = _pipe(self._process.stdout)
        try:
            while (body := _frame(stdout)) is not None:
                self._sort(_message(body))
        except (OSError, ValueError) as error:
            self._last_words.append(f"(what it wrote on its stdout is no LSP: {error})")
            self._process.kill()
        finally:  # whatever ends the reading, nobody may wait for ever
            self._say_gone()

    def _say_gone(self) -> None:
        self.gone = True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_SECONDS)
        self._stderr.join(1)
        self._incoming.put(Gone(self._process.poll(), tuple(self._last_words)))
        self.on_gone()

    def _sort(self, message: Mapping[str, Any]) -> None:
        params = message.get("params") or {}
        match message:
            case {"method": "$/cancelRequest", "params": {"id": taken_back}}:
                self._withdrawn.add(taken_back)
            case {"method": method, "id": id_}:
                self._incoming.put(Asked(id_, method, params))
            case {"method": method}:
                self._incoming.put(Told(method, params))
            case {"id": id_, "error": {"code": code, "message": words, "data": dict(data)}}:
                self._incoming.put(Failed(id_, code, words, data))
            case {"id": id_, "error": {"code": code, "message": words}}:
                self._incoming.put(Failed(id_, code, words, {}))
            case {"id": id_, "result": result}:
                self._incoming.put(Answered(id_, result))

    def _keep_last_words(self) -> None:
        for line in _pipe(self._process.stderr):
            self._last_words.append(line.decode(errors="replace").rstrip())

    # --- The end

    def end(self, patience: float | None = None) -> None:
        """Leave as the specification says; a daemon that is still there `patience` seconds later is ended."""
        seconds = _ENDING_SECONDS if patience is None else patience
        if not self.gone:
            self._wait_for(self.request("shutdown", None), seconds)
            self.notify("exit", None)
        with suppress(OSError):
            _pipe(self._process.stdin).close()
        for stop in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                stop()
        self._process.wait()

    def _wait_for(self, id_: int, seconds: float) -> None:
        while True:
            match self.next(seconds):
                case Answered(id=answered) | Failed(id=answered) if answered == id_:
                    return
                case None | Gone():
                    return
                case Asked() as request:
                    self.decline(request, REQUEST_CANCELLED, "the person left")


def serve_command(*flags: str) -> tuple[str, ...]:
    """How an editor starts the daemon. With -P the folder that it is started in holds no modules: a project of the
    person cannot put its own in the place of ours."""
    return (sys.executable, "-P", "-m", "llamagent_server", "serve", "--stdio", *flags)


def _own_group() -> dict[str, Any]:
    """Ctrl-C in the terminal is for this client, which cancels the turn, and not for the daemon."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _frame(stream: IO[bytes]) -> bytes | None:
    """The body of the next message; None at the end of the stream. Raises ValueError on anything else."""
    length = None
    while (line := stream.readline()) not in (b"\r\n", b"\n"):
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    if length is None:
        raise ValueError("a message without Content-Length")
    body = stream.read(length)
    return body if len(body) == length else None


def _message(body: bytes) -> Mapping[str, Any]:
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("the daemon was started without its pipes")
    return stream
