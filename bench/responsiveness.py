"""Answers while a model streams, and how soon a cancel reaches the server: `python -m bench.responsiveness`.

The real daemon over real stdio; the scripted model server is a process of its own, so that it does not slow the client.
"""

import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bench.harness import Figure, measure_async, report
from bench.servers import started
from tests.end_to_end.editor import Editor, editor

RATES = (200, 1000)  # tokens a second
TIMES = 200
CANCELS = 20
LINE = "value = 'some words in a line of a file that is about one megabyte long'\n"
BIG = LINE * (1_000_000 // len(LINE))


def model_server(folder: Path, replies: list[dict[str, Any]]) -> AbstractContextManager[str]:
    """The address of a scripted Ollama that plays `replies`."""
    script, port = folder / "replies.jsonl", folder / "port"
    script.write_text("".join(json.dumps(reply) + "\n" for reply in replies), encoding="utf-8")
    flags = ("--script", str(script), "--port-file", str(port))
    return started("tests.fakes.fake_ollama", *flags, port_file=port)


def words(count: int) -> str:
    """No two alike: a reply that repeats itself would be cut off."""
    return "".join(f"word{number} " for number in range(count))


def disconnects(url: str) -> int:
    with urllib.request.urlopen(f"{url}/_fake") as answer:
        return int(json.load(answer)["disconnects"])


async def streaming(folder: Path, rate: int) -> list[Figure]:
    """Latencies while one long reply streams at `rate`."""
    endless = {"content": words(rate * 600), "delay": 1 / rate}
    with model_server(folder, [endless]) as url:
        async with editor(folder / "proj", folder / "home", url=url) as ed:
            await ed.open("big.py", BIG)
            await ed.start("ask", text="go")
            await ed.until(lambda: len(ed.of("model.delta")) > 10)

            async def changed() -> None:
                await ed.change("big.py", BIG)
                await ed.command("context")

            figures = [
                await measure_async(f"request at {rate}/s", "ms", lambda: ed.command("context"), times=TIMES),
                await measure_async(f"didChange of 1 MB at {rate}/s", "ms", changed, times=TIMES // 10),
            ]
            assert not ed.of("turn.ended"), "the reply was over before the measuring was"
            return figures


async def cancelled(folder: Path) -> Figure:
    """From `llamagent.cancel` at about the fifth token until the server sees that the client has left."""
    replies = [{"content": words(60_000), "delay": 0.01} for _ in range(CANCELS + 1)]
    with model_server(folder, replies) as url:
        async with editor(folder / "proj", folder / "home", url=url) as ed:
            values = [await _one_cancel(ed, url) for _ in range(CANCELS + 1)]
    return Figure("cancel to disconnect", "ms", tuple(values[1:]))


async def _one_cancel(ed: Editor, url: str) -> float:
    ed.events.clear()
    await ed.start("ask", text="go")
    await ed.until(lambda: bool(ed.of("model.delta")))
    before = disconnects(url)
    begun = time.perf_counter()
    await ed.command("cancel")
    while disconnects(url) == before:
        pass
    seconds = time.perf_counter() - begun
    await ed.until(lambda: bool(ed.of("turn.ended")))
    return seconds * 1e3


async def run() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "proj").mkdir()
        (folder / "proj/big.py").write_text(BIG, encoding="utf-8")
        figures = [figure for rate in RATES for figure in await streaming(folder, rate)]
        figures.append(await cancelled(folder))
    limits = {f"request at {rate}/s": 20.0 for rate in RATES} | {"cancel to disconnect": 200.0}
    return report("responsiveness", figures, limits=limits)


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
