"""An HTTP exchange for the event loop: a thread waits for the bytes, hanging up wakes it at once.

`requests` blocks, and closing its response from another thread does not unblock it; shutting its socket down does. So
the thread gives its socket to a `Line` before it connects, and whoever is done with the exchange (cancelled or not)
hangs the line up: the server sees the disconnect within milliseconds, also before its headers have come.
"""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from llamagent_server.errors import ModelError, ModelFailed
from llamagent_server.processes.threads import start

# Chunks on their way to the loop. Few, so that a fast server can neither fill the memory nor keep the loop to itself.
_CREDITS = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`idle_seconds`: how long the server may send nothing, its headers included. `max_bytes`: of the answer's body."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    idle_seconds: float
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Head:
    """`location` is where a redirect would lead."""

    status: int
    content_type: str
    location: str | None = None


Item: TypeAlias = Head | bytes | ModelError | None  # None = nothing more comes
Deliver: TypeAlias = Callable[[Item], None]


class HungUp(Exception):
    """Nobody waits for the answer any more."""


class Line:
    """One connection, seen from both threads."""

    def __init__(self) -> None:
        self.credits = threading.Semaphore(_CREDITS)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._hung_up = False

    @property
    def hung_up(self) -> bool:
        return self._hung_up

    def adopt(self, own: socket.socket) -> None:
        """Keep a duplicate of the socket, which stays valid while the other thread closes its own. Raises HungUp."""
        with self._lock:
            if self._hung_up:
                raise HungUp
            self._close()
            self._socket = own.dup()

    def hang_up(self) -> None:
        with self._lock:
            self._hung_up = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # not connected yet, or the server closed before us
                    self._socket.shutdown(socket.SHUT_RDWR)
            self._close()
        self.credits.release()

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Receive:
    """What the thread delivered, one item a call; a ModelError is raised."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Item] = asyncio.Queue()

    async def __call__(self) -> Item:
        if not self._items.empty():
            await asyncio.sleep(0)  # get() would not yield, and the loop has others to serve
        item = await self._items.get()
        self._line.credits.release()
        if isinstance(item, ModelError):
            raise item
        return item

    def deliver(self, item: Item) -> None:
        """Called by the thread. Waits until the loop has taken earlier items; raises HungUp."""
        self._line.credits.acquire()
        if self._line.hung_up:
            self._line.credits.release()  # so that no later call waits either
            raise HungUp
        try:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        except RuntimeError as error:  # the loop is closed: the process ends
            raise HungUp from error


class Response:
    """The answer to a request: its head, then its body as it arrives."""

    def __init__(self, head: Head, receive: Receive, max_bytes: int) -> None:
        self.head = head
        self._receive = receive
        self._max_bytes = self._left = max_bytes

    async def chunk(self) -> bytes:
        """The next bytes of the body, b"" at its end. Raises ModelFailed when it breaks off, stands still for too long,
        or does not end."""
        item = await self._receive()
        if not isinstance(item, bytes):
            return b""
        self._left -= len(item)
        if self._left < 0:
            raise ModelFailed(
                f"The model server's reply did not end within {self._max_bytes // 1_000_000} MB; it was cut off.",
                hint="Try again; if it happens each time, use another model or update the model server.",
            )
        return item

    async def read(self, limit: int) -> bytes:
        """The body, at most `limit` bytes of it."""
        body = bytearray()
        while len(body) < limit and (chunk := await self.chunk()):
            body += chunk
        return bytes(body[:limit])


@asynccontextmanager
async def exchange(request: HttpRequest) -> AsyncIterator[Response]:
    """Send a request; the response is there when its head has come, and the line is hung up on leaving.

    Raises ModelUnreachable or ModelFailed (also from the response's methods).
    """
    line = Line()
    receive = Receive(line)
    start(lambda: _work(request, line, receive.deliver), "model-request")
    try:
        head = await receive()
        if not isinstance(head, Head):
            raise ModelFailed(
                "The request to the model server ended without an answer.", hint="The log of the daemon says why."
            )
        yield Response(head, receive, request.max_bytes)
    finally:
        line.hang_up()


def _work(request: HttpRequest, line: Line, deliver: Deliver) -> None:
    with contextlib.suppress(HungUp):
        try:
            # Here and not at the top: `requests` takes longer to import than all of this package.
            from llamagent_server.providers import connection

            for item in connection.items(request, line):
                deliver(item)
        except ModelError as error:
            deliver(error)
        except HungUp:
            raise
        except Exception:
            _log.exception("a fault of our own in a request to the model server")
            raise
        finally:
            deliver(None)  # also after a fault of ours: nobody waits for ever
