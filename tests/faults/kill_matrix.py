"""`python -m tests.faults.kill_matrix --runs 200`: the daemon is killed at a random point of a turn, again and again.

Each run is a project of its own with a real daemon and an editor double. After the kill: every file is whole (before or
after the edit), nothing that was started still runs, the conversation is listed undamaged and gone on with, the answer
about trust that the editor got is remembered, and nothing is left behind once the next daemon has ended in order. A run
is repeated by its seed: --seed N --runs 1.
"""

import argparse
import asyncio
import hashlib
import itertools
import json
import random
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.end_to_end import editor as end_to_end
from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, Reply, call, say
from tests.lsp import rawclient

BEFORE, AFTER = "x = 1\ny = 1\n", "x = 2\ny = 1\n"
SCENARIOS = ("ask", "edit", "reject", "command", "compact")
HORIZON = 1.2  # seconds in which a turn of these takes place, and the kill with it


async def run(seed: int, folder: Path) -> str:
    """One run; what was killed in the middle of what. Raises AssertionError."""
    chance = random.Random(seed)
    scenario = SCENARIOS[seed % len(SCENARIOS)]
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    (project / "a.py").write_text(BEFORE)
    sleeper = f"sleep 61.{seed:06}"
    with FakeOllama(replies=itertools.repeat(lambda asked: _answer(asked, scenario, sleeper))) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:
            accepted, trusted = await _until_killed(ed, project, scenario, chance.uniform(0, HORIZON))
        text = (project / "a.py").read_text()
        assert text in (BEFORE, AFTER), text
        assert text == (AFTER if accepted else BEFORE)
        async with asyncio.timeout(10):
            while _running(sleeper):  # noqa: ASYNC110 - a stranger's end is no event here
                await asyncio.sleep(0.02)
        messages = await _goes_on(project, home, server, trusted=trusted)
    if accepted and scenario == "edit" and any(message.get("tool_calls") for message in messages):
        results = [message["content"] for message in messages if message["role"] == "tool"]
        assert results, "a call without its result"
    left = [path.name for path in (*project.rglob("*"), *home.rglob("*")) if path.suffix in (".lock", ".tmp")]
    assert left == [], left
    _whole_texts(home / "checkpoints")
    return scenario


def _whole_texts(checkpoints: Path) -> None:
    """Every text that an undo would need is what its name says."""
    for line in itertools.chain.from_iterable(path.open() for path in checkpoints.glob("*/*.jsonl")):
        try:
            row = json.loads(line)
        except ValueError:  # empty, or cut off by the kill
            continue
        for name in filter(None, (row.get("before"), row.get("after"))):
            assert hashlib.sha256((checkpoints / "texts" / name).read_bytes()).hexdigest() == name, row


def _answer(asked: dict[str, Any], scenario: str, sleeper: str) -> Reply:
    last = asked["messages"][-1]
    if last["role"] != "user" or "again" in last["content"] or scenario in ("ask", "compact"):
        return say("It is done, as you have said, word by word.", delay=0.02)
    if scenario == "command":
        return call("run_command", command=sleeper)
    return call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")


async def _until_killed(ed: Editor, project: Path, scenario: str, seconds: float) -> tuple[bool, bool]:
    """Whether the editor made the edit, and whether it was told that its trust is remembered."""
    trusted = (await ed.command("trust", folder=str(project), trusted=True))["trusted"]
    ed.answers["llamagent/consent"] = lambda _: {"decision": "run"}
    if scenario == "reject":
        ed.answers["workspace/applyEdit"] = lambda _: {"applied": False}
    if scenario == "compact":
        await ed.ask("hello")
    await ed.start("compact" if scenario == "compact" else "ask", **({} if scenario == "compact" else {"text": "go"}))
    await asyncio.sleep(seconds)  # the fault itself: any moment of the turn
    ed.client.process.kill()
    await ed.client.wait()
    with suppress(asyncio.CancelledError, BrokenPipeError, ConnectionError):
        await ed._reader
    for task in tuple(ed._tasks):  # an edit that had arrived is made; its answer reaches nobody
        with suppress(BrokenPipeError, ConnectionError):
            await task
    return (project / "a.py").read_text() == AFTER, trusted


async def _goes_on(project: Path, home: Path, server: FakeOllama, *, trusted: bool) -> list[dict[str, Any]]:
    """The messages of the first request after the conversation was resumed."""
    remembered = json.loads((home / "trust.json").read_text())["folders"]
    assert not trusted or [entry["trusted"] for entry in remembered.values()] == [True]
    async with editor(project, home, url=server.url, trusted=None) as ed:
        rows = (await ed.command("sessions"))["sessions"]
        assert not any(row.get("damaged") for row in rows), rows
        if rows:
            await ed.command("resume", ref=1)
        seen = len(server.requests)
        assert (await ed.ask("again"))["stopReason"] == "answered"
        assert not ed.asked("window/showMessageRequest"), "trust was asked again"
        sent = next(request.json for request in server.requests[seen:] if "messages" in (request.json or {}))
        _well_formed(sent["messages"])
        shutdown = ed.expect(ed.client._ids + 1)
        ed.client._ids += 1
        await ed.client.send({"jsonrpc": "2.0", "id": ed.client._ids, "method": "shutdown", "params": None})
        await shutdown
        await ed.client.notify("exit")
        assert await ed.client.wait() == 0
    messages: list[dict[str, Any]] = sent["messages"]
    return messages


def _well_formed(messages: list[dict[str, Any]]) -> None:
    pending: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            pending.remove(message["tool_call_id"])
        else:
            assert not pending, messages
            pending = [made["id"] for made in message.get("tool_calls") or []]
    assert not pending and [message["role"] for message in messages].count("system") == 1


def _running(command: str) -> list[str]:
    """The processes with these words in their command line; Linux only."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if command in words:
                found.append(words)
    return found


async def matrix(seeds: range, at_once: int) -> int:
    """How many runs failed."""
    places, failed = asyncio.Semaphore(at_once), 0

    async def one(seed: int) -> None:
        nonlocal failed
        async with places:
            with tempfile.TemporaryDirectory(prefix="llamagent-kill-") as folder:
                try:
                    print(f"seed {seed}: {await run(seed, Path(folder).resolve())}, whole", flush=True)  # noqa: T201
                except (AssertionError, TimeoutError, OSError, EOFError, ValueError, KeyError) as fault:
                    failed += 1
                    print(f"seed {seed}: {type(fault).__name__}: {fault}", flush=True)  # noqa: T201 - a command

    await asyncio.gather(*map(one, seeds))
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.faults.kill_matrix", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=3)
    arguments = parser.parse_args()
    rawclient.PATIENCE = end_to_end.PATIENCE = 90.0  # many daemons start at once
    failed = asyncio.run(matrix(range(arguments.seed, arguments.seed + arguments.runs), arguments.at_once))
    print(f"{arguments.runs} runs from seed {arguments.seed}: {failed} failed")  # noqa: T201 - a command
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
