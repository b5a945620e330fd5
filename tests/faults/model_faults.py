"""`python -m tests.faults.model_faults --runs 500`: a proxy before the model server cuts, delays, corrupts and floods.

Each run is one ask through the faulty proxy and one through it in order, in one conversation of one daemon. Each turn
ends with a stop reason or with an error whose kind is known, the next one works, and at the end the daemon has no more
threads and descriptors than before. --seed N repeats the same faults.
"""

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from llamagent_server.agent.conversations import MAX_OPEN
from llamagent_server.errors import ErrorKind
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

    async def __aenter__(self) -> "Proxy":
        self._served = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._served is not None
        self._served.close()

    @property
    def url(self) -> str:
        assert self._served is not None
        return f"http://127.0.0.1:{self._served.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        chance = self.chance
        try:
            if chance is not None and chance.random() < 0.1:
                return
            upstream, up = await asyncio.open_connection("127.0.0.1", self._to)
            pump = asyncio.create_task(_pass_on(reader, up))
            try:
                await _answer(upstream, writer, chance)
            finally:
                pump.cancel()
                up.close()
        except (ConnectionError, asyncio.CancelledError):
            return  # either side is gone, or the test is over
        finally:
            writer.close()


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
            before = _held(ed)
            begun = 1  # conversations: each holds its lock while it is open
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
            after_all = _held(ed)
            locks = min(begun, MAX_OPEN)
            assert after_all[0] <= before[0] + 3 and after_all[1] <= before[1] + 3 + locks, (before, after_all)
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


def _held(ed: Editor) -> tuple[int, int]:
    """Threads and descriptors of the daemon; Linux only."""
    process = Path(f"/proc/{ed.client.process.pid}")
    return len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))


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
