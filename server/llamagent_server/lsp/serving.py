"""One client from its first byte to its last: the messages in, the replies out, and an orderly end whatever happens."""

import asyncio
import logging
import os
import signal
from contextlib import aclosing, suppress

from llamagent_server.lsp.framing import FramingLost
from llamagent_server.lsp.handlers import register
from llamagent_server.lsp.process import Watched
from llamagent_server.lsp.protocol import Phase
from llamagent_server.lsp.server import Daemon, Start
from llamagent_server.lsp.transport import Channel, Outbox, bodies

PARENT_SECONDS = 1.0  # between two looks at the editor's process
HELLO_SECONDS = 10.0
LAST_WORDS_SECONDS = 0.5
_STARTER = os.getppid()  # as early as can be: it may be gone by the time that we serve

_log = logging.getLogger(__name__)


class Ending:
    """How a connection ends: the first reason counts."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._code: asyncio.Future[int] = self._loop.create_future()

    def end(self, code: int, why: str) -> None:
        if not self._code.done():
            _log.log(logging.WARNING if code else logging.INFO, "the connection ends (%s): %s", code, why)
            self._code.set_result(code)

    def end_from_thread(self, code: int, why: str) -> None:
        self._loop.call_soon_threadsafe(self.end, code, why)

    def end_by_signal(self, number: signal.Signals) -> None:
        self.end(128 + number, f"told to stop ({number.name})")

    async def wait(self) -> int:
        return await asyncio.shield(self._code)


async def serve_client(channel: Channel, start: Start, ending: Ending) -> int:
    """Serve until the client or `ending` ends it; the exit code."""
    daemon = Daemon(start, ending.end)
    register(daemon)
    outbox = Outbox(channel, lambda why: ending.end_from_thread(1, why))
    daemon.protocol.send = lambda frame, for_show: outbox.put(frame, for_show=for_show)
    # Who must show a token may be on another machine: there is no process to watch, but somebody to be wary of.
    watch = _watch_parent if start.token is None else _await_hello
    tasks = [asyncio.create_task(_read(channel, daemon, ending)), asyncio.create_task(watch(daemon, ending))]
    code = await ending.wait()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await daemon.close()
    daemon.protocol.disconnect()
    await asyncio.get_running_loop().run_in_executor(None, outbox.close, LAST_WORDS_SECONDS)
    channel.close()
    return code


async def _read(channel: Channel, daemon: Daemon, ending: Ending) -> None:
    try:
        async with aclosing(bodies(channel)) as incoming:
            async for body in incoming:
                daemon.protocol.receive(body)
                # A request's first step comes before the next message, so that it sees the documents as they were.
                await asyncio.sleep(0)
    except FramingLost as problem:
        ending.end(1, f"lost the beginning of the next message: {problem}")
        return
    ending.end(0 if daemon.protocol.phase is Phase.SHUTDOWN else 1, "the client closed the connection")


async def _watch_parent(daemon: Daemon, ending: Ending) -> None:
    """Editors that are killed cannot say goodbye, and another process may hold our pipes open."""
    await _greeted_or_orphaned(daemon)
    if not daemon.greeted.is_set():
        await _await_hello(daemon, ending)
    pid = daemon.client.process_id if daemon.client else None
    if pid is None:
        return
    parent = Watched(pid)
    try:
        if not parent.alive():
            _log.info("the editor's process %s cannot be seen from here", pid)
            return
        while parent.alive():  # noqa: ASYNC110 - not every system can tell of a stranger's end
            await asyncio.sleep(PARENT_SECONDS)
        ending.end(1, "the editor's process is gone")
    finally:
        parent.close()


async def _greeted_or_orphaned(daemon: Daemon) -> None:
    """An editor that dies before it says who it is leaves us to another parent, where the system has such a thing."""
    while not daemon.greeted.is_set() and os.getppid() == _STARTER:
        with suppress(TimeoutError):
            async with asyncio.timeout(PARENT_SECONDS):
                await daemon.greeted.wait()


async def _await_hello(daemon: Daemon, ending: Ending) -> None:
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            await daemon.greeted.wait()
    except TimeoutError:
        ending.end(1, f"no valid initialize within {HELLO_SECONDS} s")
