"""A step in a conversation of 10, 100 and 1,000 steps, and the daemon's memory: `python -m bench.long_conversation`.

One conversation of 75 turns of fourteen calls each goes on through all compactions that its window needs. A step is the
time from the end of a reply to the arrival of the next request, a compaction included where one falls into it.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from bench import steps
from bench.clocked_server import MODEL
from bench.harness import Figure, options, report
from bench.memory import resident_mb
from tests.end_to_end.editor import Editor, editor

TURNS = 75
# Of which turns the steps are looked at: around the 10th, the 100th and the 1,000th stored step.
LOOKED_AT = {"10": range(1), "100": range(5, 9), "1,000": range(68, 75)}
LINE = "value = 'some words in a line of a file that is about one megabyte long'\n"
BIG = LINE * (1_000_000 // len(LINE))
LIMITS = {"a step at 1,000 / at 100": 1.15, "idle": 80.0, "after 1,000 steps / at 100": 1.25}


async def conversation(ed: Editor, url: str) -> list[Figure]:
    pid = ed.client.process.pid
    warm = await ed.command("new")
    await ed.ask("Read all modules.", session=warm["session"])
    await ed.command("new")
    taken: dict[str, list[float]] = {name: [] for name in LOOKED_AT}
    memory: dict[str, float] = {}
    done = 0
    for turn in range(TURNS):
        steps.again(url)
        ed.events.clear()
        ed.messages.clear()
        result = await ed.ask("Read all modules.")
        assert result["stopReason"] == "answered", result
        done += steps.CALLS
        for name, turns in LOOKED_AT.items():
            if turn in turns:
                taken[name] += steps.between(steps.times(url))
                memory[name] = resident_mb(pid)
    median = {name: statistics.median(values) for name, values in taken.items()}
    return [
        *(Figure(f"a step at {name}", "ms", tuple(values)) for name, values in taken.items()),
        Figure("a step at 1,000 / at 100", "times", (median["1,000"] / median["100"],)),
        *(Figure(f"memory at {name} steps", "MB", (mb,)) for name, mb in memory.items()),
        Figure("after 1,000 steps / at 100", "times", (memory["1,000"] / memory["100"],)),
    ]


async def documents(ed: Editor) -> list[Figure]:
    pid = ed.client.process.pid
    found = [Figure("idle", "MB", (resident_mb(pid),))]
    for number in range(10):
        (ed.root / f"big{number}.py").write_text(BIG)
        await ed.open(f"big{number}.py", BIG)
        await ed.change(f"big{number}.py", BIG + "# changed\n")
        if number in (0, 9):
            await ed.command("context")
            found.append(Figure(f"{number + 1} open documents of 1 MB", "MB", (resident_mb(pid),)))
    return found


async def run() -> int:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        root = place / "project"
        root.mkdir()
        for number in range(steps.CALLS):
            (root / f"m{number}.py").write_text(f"value = {number}\n" * 20)
        with steps.server(place) as url:
            settings = {"model": MODEL, "num_ctx": 8192, "max_tokens_per_turn": 10_000_000}
            async with editor(root, place / "home", url=url, settings=settings) as ed:
                await ed.command("context")
                idle = Figure("idle", "MB", (resident_mb(ed.client.process.pid),))
                found = await conversation(ed, url)
            async with editor(root, place / "home", url=url, settings=settings) as ed:
                await ed.command("context")
                found += (await documents(ed))[1:]
    return report("long_conversation", [*found, idle], limits=LIMITS)


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(asyncio.run(run()))
