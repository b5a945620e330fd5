"""The threads between a client and the loop: order, limits, and an end in every case."""

import asyncio
import threading
from collections.abc import Iterable

import pytest

from llamagent_server.lsp.framing import FramingLost, frame
from llamagent_server.lsp.transport import WAITING_CHUNKS, Outbox, bodies

PATIENCE = 5.0


class Stream:
    """A channel that reads what it was given, and whose writes wait until `flowing` is set."""

    def __init__(self, chunks: Iterable[bytes] = ()) -> None:
        self.flowing = threading.Event()
        self.written = bytearray()
        self.broken = False
        self._chunks = iter(chunks)
        self.reads = 0

    def read(self) -> bytes:
        self.reads += 1
        return next(self._chunks, b"")

    def write(self, data: bytes) -> None:
        self.flowing.wait(PATIENCE)
        if self.broken:
            raise BrokenPipeError("gone")
        self.written += data

    def close(self) -> None:
        return


@pytest.fixture
def reasons() -> list[str]:
    return []


def test_frames_are_written_in_their_order(reasons: list[str]) -> None:
    stream = Stream()
    outbox = Outbox(stream, reasons.append)
    frames = [b"%d," % number * 1000 for number in range(500)]
    for number, data in enumerate(frames):
        outbox.put(data, for_show=number % 2 == 0)
    stream.flowing.set()
    outbox.close(PATIENCE)
    assert bytes(stream.written) == b"".join(frames)
    assert (reasons, outbox.size) == ([], 0)


def test_a_slow_client_loses_what_is_only_for_show(reasons: list[str]) -> None:
    stream = Stream()
    outbox = Outbox(stream, reasons.append, slow_bytes=100)
    outbox.put(b"x" * 101)
    outbox.put(b"show", for_show=True)
    outbox.put(b"needed")
    stream.flowing.set()
    outbox.close(PATIENCE)
    assert stream.written.endswith(b"xneeded")
    assert reasons == []


def test_a_client_that_does_not_read_at_all_is_given_up_before_it_costs_too_much(reasons: list[str]) -> None:
    outbox = Outbox(Stream(), reasons.append, gone_bytes=1_000_000)
    for _ in range(2000):
        outbox.put(b"x" * 1000)
    assert len(reasons) == 1
    assert "does not read" in reasons[0]
    assert outbox.size <= 1_000_000


def test_a_broken_pipe_is_told_once(reasons: list[str]) -> None:
    stream = Stream()
    stream.broken = True
    stream.flowing.set()
    outbox = Outbox(stream, reasons.append)
    outbox.put(b"one")
    outbox._thread.join(PATIENCE)
    outbox.put(b"two")
    outbox.close(PATIENCE)
    assert reasons == ["the client is gone: gone"]


def test_closing_waits_no_longer_than_it_is_told(reasons: list[str]) -> None:
    stream = Stream()
    outbox = Outbox(stream, reasons.append)
    outbox.put(b"one")
    outbox.close(0.01)
    assert stream.written == b""
    stream.flowing.set()


async def collect(stream: Stream) -> list[bytes]:
    async with asyncio.timeout(PATIENCE):
        return [body async for body in bodies(stream)]


async def test_bodies_are_read_until_the_end() -> None:
    data = b"".join(frame(b"%d" % number) for number in range(100))
    pieces = [data[start : start + 7] for start in range(0, len(data), 7)]
    assert await collect(Stream(pieces)) == [b"%d" % number for number in range(100)]


async def test_an_end_inside_a_message_is_lost_framing() -> None:
    with pytest.raises(FramingLost, match="in the middle"):
        await collect(Stream([frame(b"one"), b"Content-Length: 3\r\n\r\n12"]))


async def test_nobody_reads_far_ahead_of_what_is_handled() -> None:
    stream = Stream([frame(b"x")] * 1000)
    reading = bodies(stream)
    async with asyncio.timeout(PATIENCE):
        await anext(reading)
        for _ in range(100):
            await asyncio.sleep(0.001)
    assert stream.reads <= WAITING_CHUNKS + 2
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "lsp-reader"]
    await reading.aclose()
    await asyncio.to_thread(thread.join, PATIENCE)
    assert not thread.is_alive()
