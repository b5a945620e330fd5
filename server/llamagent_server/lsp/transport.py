"""Bytes to and from one client: a thread that reads, a thread that writes, and limits on what waits between.

Threads, because the pipes of an editor cannot be awaited on every system; limits, because a client that stops reading,
or floods us, must not make this process grow.
"""

import asyncio
import os
import socket
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Protocol

from llamagent_server.lsp.framing import Frames, FramingLost

CHUNK = 256 * 1024
WAITING_CHUNKS = 8
# A client that reads slowly loses what it is only told for show (deltas: their text comes again in `model.replied`).
# One that stopped reading is taken for gone before it costs more than this.
SLOW_BYTES = 4 * 1024 * 1024
GONE_BYTES = 128 * 1024 * 1024


class Channel(Protocol):
    """One client's stream. All three may be called from any thread; `read` and `write` block, and raise OSError."""

    def read(self) -> bytes:
        """Some bytes; none at the end."""
        ...

    def write(self, data: bytes) -> None:
        """All of `data`."""
        ...

    def close(self) -> None: ...


class Pipes:
    """A pair of descriptors."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = reads
        self._writes = writes

    def read(self) -> bytes:
        return os.read(self._reads, CHUNK)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._writes, view) :]

    def close(self) -> None:
        """The descriptors stay open: closing one that another thread reads from may block for ever."""


class Socket:
    """A TCP connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        connection.setblocking(True)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self) -> bytes:
        return self._connection.recv(CHUNK)

    def write(self, data: bytes) -> None:
        self._connection.sendall(data)

    def close(self) -> None:
        with suppress(OSError):  # the other side was faster
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Outbox:
    """What is to be written, in order. `broken` is called once, from any thread, with the reason why no more can be."""

    def __init__(
        self,
        channel: Channel,
        broken: Callable[[str], None],
        *,
        slow_bytes: int = SLOW_BYTES,
        gone_bytes: int = GONE_BYTES,
    ) -> None:
        self._channel = channel
        self._broken = broken
        self._slow_bytes = slow_bytes
        self._gone_bytes = gone_bytes
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._open = True
        self._dead = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._write_all, name="lsp-writer", daemon=True)
        self._thread.start()

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return self._size

    def put(self, frame: bytes, *, for_show: bool = False) -> None:
        """Never waits. A frame that is only for show is dropped when the client is slow."""
        with self._changed:
            if self._dead or not self._open or (for_show and self._size > self._slow_bytes):
                return
            if self._size + len(frame) > self._gone_bytes and self._size:
                self._give_up(f"the client does not read: {self._size} bytes wait for it")
                return
            self._waiting.append(frame)
            self._size += len(frame)
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Write what waits, for at most `seconds`."""
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join(seconds)

    def _write_all(self) -> None:
        while (frames := self._take()) is not None:
            try:
                self._channel.write(frames)
            except (OSError, ValueError) as error:
                with self._changed:
                    self._give_up(f"the client is gone: {error}")
                return
            with self._changed:
                self._size -= len(frames)

    def _take(self) -> bytes | None:
        """What waits, joined up to about a chunk; None at the end."""
        with self._changed:
            while not self._waiting:
                if not self._open or self._dead:
                    return None
                self._changed.wait()
            frames = [self._waiting.popleft()]
            size = len(frames[0])
            while self._waiting and size + len(self._waiting[0]) < CHUNK:
                frames.append(self._waiting.popleft())
                size += len(frames[-1])
            return b"".join(frames)

    def _give_up(self, why: str) -> None:
        if not self._dead:
            self._dead = True
            self._waiting.clear()
            self._broken(why)


async def bodies(channel: Channel) -> AsyncGenerator[bytes, None]:
    """The bodies of the client's messages until its stream ends. Raises FramingLost, also when it ends in a message."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    room = Room()
    arguments = (channel, room, lambda data: loop.call_soon_threadsafe(chunks.put_nowait, data))
    threading.Thread(target=_read_all, args=arguments, name="lsp-reader", daemon=True).start()
    frames = Frames()
    try:
        while data := await chunks.get():
            room.free()
            for body in frames.feed(data):
                yield body
    finally:
        room.close()
    if frames.inside:
        raise FramingLost("the stream ended in the middle of a message")


class Room:
    """Room for WAITING_CHUNKS chunks between the thread that reads and the loop."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(WAITING_CHUNKS)
        self._closed = False

    def take(self) -> bool:
        """Wait for room; False when nobody wants any more."""
        self._free.acquire()
        return not self._closed

    def free(self) -> None:
        self._free.release()

    def close(self) -> None:
        self._closed = True
        self._free.release()


def _read_all(channel: Channel, room: Room, post: Callable[[bytes], object]) -> None:
    """Post what is read, and then one empty chunk."""
    data = b"begin"
    while data and room.take():
        try:
            data = channel.read()
        except (OSError, ValueError):  # closed, by either side
            data = b""
        try:
            post(data)
        except RuntimeError:  # the loop has ended before us
            return
