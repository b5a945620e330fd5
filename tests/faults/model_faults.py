"""`python -m tests.faults.model_faults --runs 500`: a proxy before the model server cuts, delays, corrupts and floods.

Each run is one ask through the faulty proxy and one through it in order, in one conversation of one daemon. Each turn
ends with a stop reason or with an error whose kind is known, the next one works, and at the end the daemon holds the
lock of each open conversation and no thread or descriptor more than before. --seed N repeats the same faults.
"""

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llamagent_server.agent.conversations import MAX_OPEN
from llamagent_server.errors import ErrorKind
from llamagent_server.processes.threads import MAX_IDLE
from tests.end_to_end import editor as end_to_end
from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, Reply, call, say
from tests.lsp import rawclient

FAULTS = ("cut", "stall", "corrupt", "flood", "drop")
STOPS = ("answered", "step_limit", "budget", "cancelled", "refused")
STALL_SECONDS = 5.0
FLOOD = b"x" * 65536
SETTINGS = {"request_timeout": 4, "max_steps": 4}


class Proxy:
    """Between the daemon and a server at `port`; `chance` None lets everything pass."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.chance: random.Random | None = None
        self._served: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Proxy":
        self._served = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._served is not None
        self._served.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections)

    @property
    def url(self) -> str:
        assert self._served is not None
        return f"http://127.0.0.1:{self._served.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if self.chance is None or self.chance.random() >= 0.1:
                await self._join(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            return  # either side is gone, or the test is over
        finally:
            writer.close()
            self._connections.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one side ends: then the other is hung up on too."""
        upstream, up = await asyncio.open_connection("127.0.0.1", self._to)
        ways = [
            asyncio.create_task(_pass_on(reader, up)),
            asyncio.create_task(_answer(upstream, writer, self.chance)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            up.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random | None) -> None:
    fault = chance.choice(FAULTS) if chance is not None else None
    at = chance.randrange(900) if chance is not None else 0
    seen = 0
    while data := await reader.read(256):
        if chance is not None and fault is not None and seen <= at < seen + len(data):
            data = await _spoiled(fault, data, at - seen, writer, chance)
        seen += len(data)
        writer.write(data)
        await writer.drain()
        if fault in ("cut", "drop") and seen > at:
            if fault == "drop":
                writer.transport.abort()
            return


async def _spoiled(fault: str, data: bytes, at: int, writer: asyncio.StreamWriter, chance: random.Random) -> bytes:
    if fault == "stall":
        await asyncio.sleep(chance.uniform(0, STALL_SECONDS))  # the fault itself
    if fault == "corrupt":
        spoiled = bytes(chance.randrange(256) for _ in range(chance.randint(1, 8)))
        return data[:at] + spoiled + data[at + len(spoiled) :]
    if fault == "flood":
        for _ in range(chance.randint(1, 100)):
            writer.write(FLOOD)
            await writer.drain()
    return data[: at + 1] if fault in ("cut", "drop") else data


def _replies(asked: dict[str, Any]) -> Reply:
    last = asked["messages"][-1]
    if last["role"] == "user" and last["content"].endswith("list"):
        return call("list_files")
    return say("Here are some words of an answer, one after the other.")


async def runs(count: int, seed: int, folder: Path) -> dict[str, int]:
    """How the faulty turns ended. Raises AssertionError with the seed of the run that did not end as it must."""
    (folder / "project").mkdir()
    ends: dict[str, int] = {}
    with FakeOllama(replies=itertools.repeat(_replies)) as server:
        async with (
            Proxy(int(server.url.rpartition(":")[2])) as proxy,
            editor(folder / "project", folder / "home", url=proxy.url, settings=SETTINGS) as ed,
        ):
            assert (await ed.ask("hello"))["stopReason"] == "answered"
            begun = 1  # conversations: each holds its lock while it is open
            before = await _held(ed, begun, None)
            for number in range(seed, seed + count):
                proxy.chance = random.Random(number)
                end = await _one(ed, number)
                proxy.chance = None
                ends[end] = ends.get(end, 0) + 1
                after = await ed.ask("and now?")
                assert after["stopReason"] == "answered", (number, after)
                if number % 25 == 0:
                    await ed.command("new")
                    begun += 1
            await ed.ask("the last one")
            await _held(ed, begun, before)
    return ends


async def _one(ed: Editor, number: int) -> str:
    _, future = await ed.start("ask", text="please list")
    async with asyncio.timeout(120):
        reply = await future
    if "error" in reply:
        kind = reply["error"]["data"]["kind"]
        assert kind in tuple(ErrorKind) and reply["error"]["message"], (number, reply)
        return str(kind)
    assert reply["result"]["stopReason"] in STOPS, (number, reply)
    return str(reply["result"]["stopReason"])


@dataclass(frozen=True)
class Held:
    """What a daemon holds: its threads, the locks of conversations, what its other descriptors lead to; Linux only."""

    threads: int
    locks: tuple[str, ...]
    others: tuple[str, ...]


async def _held(ed: Editor, begun: int, before: Held | None) -> Held:
    """Once it is at rest: one lock for each conversation, and no more besides than `before`. Raises AssertionError."""
    with suppress(TimeoutError):
        async with asyncio.timeout(10):  # a thread or a socket ends a moment after its turn
            while not _at_rest(_look(ed), begun, before):  # noqa: ASYNC110 - another process gives no event
                await asyncio.sleep(0.05)
    held = _look(ed)
    assert _at_rest(held, begun, before), (begun, before, held)
    return held


def _at_rest(held: Held, begun: int, before: Held | None) -> bool:
    if len(held.locks) != min(begun, MAX_OPEN) or len(set(held.locks)) != len(held.locks):
        return False
    # Threads that are done wait for work, up to MAX_IDLE of them; one does since the first ask.
    return before is None or (
        held.threads < before.threads + MAX_IDLE and Counter(held.others) <= Counter(before.others)
    )


def _look(ed: Editor) -> Held:
    process = Path(f"/proc/{ed.client.process.pid}")
    led = []
    for path in (process / "fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            led.append(str(path.readlink()))
    locks = tuple(name for name in led if "/.llamagent/sessions/" in name and name.endswith(".lock"))
    return Held(len(list((process / "task").iterdir())), locks, tuple(name for name in led if name not in locks))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.faults.model_faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rawclient.PATIENCE = end_to_end.PATIENCE = 60.0
    with tempfile.TemporaryDirectory(prefix="llamagent-model-") as folder:
        ends = asyncio.run(runs(arguments.runs, arguments.seed, Path(folder).resolve()))
    print(f"{arguments.runs} runs from seed {arguments.seed}: {ends}")  # noqa: T201 - a command
    return 0


if __name__ == "__main__":
    sys.exit(main())
