"""What both fakes share: a threaded HTTP server that records, streams in chunks and notices when its client leaves."""

import asyncio
import contextlib
import json
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.fakes.script import Item, Raw, Refusal, Script, ScriptItem


@dataclass(frozen=True)
class Request:
    """A request as it came in. `json` is None where the body is none."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    json: Any = field(default=None)


class ClientLeft(Exception):
    """The client closed the connection before the reply was complete."""


class FakeServer:
    """Listens on 127.0.0.1 at a free port from `start` to `stop`; a context manager does both."""

    chat_path = ""

    def __init__(self, replies: Script = ()) -> None:
        self.requests: list[Request] = []  # the chat requests
        self.log: list[Request] = []  # every request
        self.disconnects = 0
        self.reloads = 0
        self._script = iter(replies)
        self._added: deque[ScriptItem] = deque()
        self._changed = threading.Condition()
        self.taken = 0  # replies of the script; a client that leaves early may have been noted, and taken none
        self._released = threading.Event()
        self._stopping = threading.Event()
        self._http: ThreadingHTTPServer | None = None

    # --- for tests

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        assert self._http is not None, "the server is not started"
        return int(self._http.server_address[1])

    def add(self, *items: ScriptItem) -> None:
        """More replies at the end of the script."""
        self._added.extend(items)

    def release(self) -> None:
        """Let every reply go on that waits at its `hold_after`, now and later."""
        self._released.set()

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Any condition will do: it is tried at each change here, and every few milliseconds."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not condition():
                assert time.monotonic() < deadline, f"not so within {timeout} s"
                self._changed.wait(0.01)

    async def until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        await asyncio.to_thread(self.wait_until, condition, timeout)

    def start(self, port: int = 0) -> Self:
        self._http = _Http(("127.0.0.1", port), _handler(self))
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True, name="fake-server").start()
        return self

    def stop(self) -> None:
        self._stopping.set()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()

    def __enter__(self) -> Self:
        return self if self._http is not None else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- for the fakes

    def answer(self, exchange: "Exchange", request: Request) -> None:
        """Answer one request; overridden by each fake."""
        raise NotImplementedError

    def next_item(self, request: dict[str, Any]) -> Item:
        with self._changed:
            item = next(self._script, None) or (self._added.popleft() if self._added else None)
            self.taken += 1
            self._changed.notify_all()
        if item is None:
            text = f"the script of this fake server has no reply for chat request {len(self.requests)}"
            return Refusal(500, {"error": text})
        return item(request) if callable(item) else item

    def note(self, request: Request) -> None:
        with self._changed:
            self.log.append(request)
            if request.path.split("?")[0] == self.chat_path:
                self.requests.append(request)
            self._changed.notify_all()

    def note_disconnect(self) -> None:
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()

    def note_reload(self) -> None:
        with self._changed:
            self.reloads += 1
            self._changed.notify_all()

    def state(self) -> dict[str, Any]:
        return {
            "requests": [{"path": one.path, "json": one.json} for one in self.requests],
            "disconnects": self.disconnects,
            "reloads": self.reloads,
        }

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def released(self) -> bool:
        return self._released.is_set()


def serve_until_killed(server: FakeServer, port_file: Path | None) -> None:
    """As a process: the port goes to the file, whole at once for who polls for it, and the URL to stdout. SIGUSR1
    releases what waits at its `hold_after`."""
    if sys.platform != "win32":
        signal.signal(signal.SIGUSR1, lambda *_: server.release())
    if port_file is not None:
        part = port_file.with_name(port_file.name + ".part")
        part.write_text(str(server.port), "utf-8")
        part.replace(port_file)
    print(server.url, flush=True)  # noqa: T201 -- what whoever started it reads
    threading.Event().wait()


class Exchange:
    """One request's connection: send an answer whole or in chunks, and notice when the client leaves."""

    def __init__(self, handler: BaseHTTPRequestHandler, server: FakeServer) -> None:
        self._handler = handler
        self._server = server
        self._started = False

    def whole(self, status: int, body: bytes, content_type: str) -> None:
        handler = self._handler
        handler.send_response(status)
        if body:
            handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    def json(self, value: Any, status: int = 200) -> None:
        self.whole(status, json.dumps(value).encode(), "application/json; charset=utf-8")

    def refuse(self, refusal: Refusal) -> None:
        body = refusal.body if isinstance(refusal.body, bytes) else json.dumps(refusal.body).encode()
        self.whole(refusal.status, body, refusal.content_type)

    def raw(self, raw: Raw, content_type: str) -> None:
        self.begin(content_type)
        for piece in _over_and_over(raw.pieces) if raw.endless else raw.pieces:
            self.pause(0)
            self.chunk(piece)
        if raw.drop:
            self.drop()
        else:
            self.end()

    def begin(self, content_type: str) -> None:
        if self._started:
            return
        self._started = True
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", content_type)
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def chunk(self, data: bytes, split: int | None = None) -> None:
        """Send `data` as one HTTP chunk, or in chunks of `split` bytes."""
        size = split or max(len(data), 1)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self._handler.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")

    def end(self) -> None:
        # A client that has the closing line may leave before the body's own end: that is no disconnect.
        with contextlib.suppress(ConnectionError):
            self._handler.wfile.write(b"0\r\n\r\n")

    def drop(self) -> None:
        """Break the connection inside the body."""
        self._handler.close_connection = True
        self._handler.connection.shutdown(socket.SHUT_RDWR)

    def pause(self, seconds: float) -> None:
        """Wait that long; raises ClientLeft as soon as the client closes."""
        if self._readable(seconds):
            raise ClientLeft

    def hold(self) -> None:
        """Wait until the test releases or the server stops; raises ClientLeft as soon as the client closes."""
        while not (self._server.released or self._server.stopping):
            self.pause(0.005)

    def acquire(self, slot: threading.Lock) -> None:
        """Wait for the slot as long as the client is there."""
        while not slot.acquire(timeout=0.005):
            self.pause(0)

    def _readable(self, seconds: float) -> bool:
        # A client sends nothing while it waits for its reply, so the socket becomes readable only by its end.
        ready, _, _ = select.select([self._handler.connection], [], [], seconds)
        return bool(ready)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is an event here, not an error to print."""


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name in the standard library
            """Tests read `server.log`, not the console."""

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, self.path, dict(self.headers.items()), body, _parsed(body))
            if self.path == "/_fake":
                Exchange(self, fake).json(fake.state())
                return
            fake.note(request)
            try:
                fake.answer(Exchange(self, fake), request)
            except (ClientLeft, ConnectionError):
                self.close_connection = True
                fake.note_disconnect()

        do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _serve  # noqa: N815 -- the names that http.server looks up

    return Handler


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _over_and_over(pieces: Iterable[bytes]) -> Iterator[bytes]:
    while True:
        yield from pieces
