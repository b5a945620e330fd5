"""Answers while a model streams or a tool searches, and how soon a cancel is heard: `python -m bench.responsiveness`.

While a reply streams at 200 and at 1,000 tokens a second, and while the model has 100,000 files searched again and
again: how long a request takes, how long one after a didChange of 1 MB, and the daemon's memory. The real daemon over
real stdio; the scripted model server is a process of its own, so that it does not slow the client.
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

from bench.clocked_server import MODEL
from bench.harness import Figure, measure_async, options, report
from bench.memory import forget_peak, peak_mb
from bench.projects import generate
from bench.servers import started
from tests.end_to_end.editor import Editor, editor

RATES = (200, 1000)  # tokens a second
TIMES = 1000
CANCELS = 20
SEARCHED = 100_000  # files
SEARCHES = 200  # more than are made in the time
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
            return await latencies(ed, f"at {rate}/s")


async def latencies(ed: Editor, when: str) -> list[Figure]:
    """Of requests in the middle of a turn that goes on."""
    forget_peak(ed.client.process.pid)

    async def changed() -> None:
        await ed.change("big.py", BIG)
        await ed.command("context")

    figures = [
        await measure_async(f"request {when}", "ms", lambda: ed.command("context"), times=TIMES),
        await measure_async(f"didChange of 1 MB {when}", "ms", changed, times=TIMES // 20),
        Figure(f"peak memory {when}", "MB", (peak_mb(ed.client.process.pid),)),
    ]
    assert not ed.of("turn.ended"), "the turn was over before the measuring was"
    return figures


async def searching(folder: Path) -> list[Figure]:
    """Latencies while the model has all files searched, each time for something else."""
    project = folder / "many"
    project.mkdir()
    generate(project, SEARCHED)
    (project / "big.py").write_text(BIG, encoding="utf-8")
    script, port = folder / "searches.jsonl", folder / "searches.port"
    script.write_text("".join(json.dumps(search(number)) + "\n" for number in range(SEARCHES)), encoding="utf-8")
    settings = {"model": MODEL, "max_steps": SEARCHES}
    with started("bench.clocked_server", str(script), str(port), port_file=port) as url:
        async with editor(project, folder / "home2", url=url, settings=settings) as ed:
            await ed.open("big.py", BIG)
            await ed.start("ask", text="go")
            await ed.until(lambda: bool(ed.of("tool.started")))
            when = f"while {SEARCHED:,} files are searched"
            found = await latencies(ed, when)
            return [*found, Figure(f"searches {when}", "", (float(len(ed.of("tool.returned"))),))]


def search(number: int) -> dict[str, Any]:
    call = {"function": {"name": "search_text", "arguments": {"pattern": f"return x . {number}$"}}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


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
        figures += await searching(folder)
        figures.append(await cancelled(folder))
    requests = [figure.name for figure in figures if figure.name.startswith("request")]
    limits = dict.fromkeys(requests, 20.0) | {"cancel to disconnect": 200.0}
    return report("responsiveness", figures, limits=limits)


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(asyncio.run(run()))
