"""Listing and searching 10,000 and 100,000 files: `python -m bench.projects [--files 10000 100000]`.

The daemon's own tools, asked for by a scripted model, with ripgrep and without it (our own search program), against
`rg` as a person types it and the listing of the terminal agent `llamagent` 0.1.0. Ours is what the trace says of the
tool, in whole milliseconds, and beside it the whole step, from the end of the model's reply to the arrival of the next
request. All take turns in each round.
"""

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import steps
from bench.clocked_server import MODEL
from bench.harness import Figure, options, report
from bench.memory import forget_peak, peak_mb
from bench.peers import peer
from bench.servers import started
from llamagent_server.workspace.engines import Ripgrep, find_engine
from tests.end_to_end import editor as editors

COUNTS = (10_000, 100_000)
ROUNDS = 7
SMALL = 20_000
ROUNDS_OF_SMALL = 25  # a listing of some milliseconds is now one and now two of the scheduler's turns
PER_FOLDER = 100
NEEDLE = "needle_in_the_haystack"
LIMIT = 2.0  # times ripgrep
WITHOUT_RIPGREP = (
    sys.executable,
    "-c",
    "import sys; from llamagent_server.workspace import engines, project;"
    "project.find_engine = lambda _: engines.Walker();"
    "from llamagent_server.cli import main; sys.exit(main(['serve', '--stdio']))",
)
# Lists the folder each time it is sent a line, and says how long that took.
THEIRS = (
    "import sys, time; from pathlib import Path; from llamagent.tools import ToolContext, list_files\n"
    "context = ToolContext(Path(sys.argv[1]), [], lambda _: False)\n"
    "for _ in sys.stdin:\n"
    "    begun = time.perf_counter(); list_files(context, '.')\n"
    "    print(time.perf_counter() - begun, flush=True)\n"
)
CALLS = {
    "list_files": {"name": "list_files", "arguments": {"path": "."}},
    "search_text": {"name": "search_text", "arguments": {"pattern": NEEDLE}},
}


def generate(folder: Path, count: int) -> None:
    """`count` files of some 500 bytes, a hundred in a folder, the needle in every thousandth, and a .gitignore."""
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    for number in range(count):
        place = folder / f"area{number // (PER_FOLDER * 40)}" / f"part{number // PER_FOLDER}"
        if number % PER_FOLDER == 0:
            place.mkdir(parents=True)
        text = "".join(f"def function_{number}_{line}(x):\n    return x + {line}\n" for line in range(10))
        (place / f"module{number}.py").write_text(text + (f"# {NEEDLE}\n" if number % 1000 == 0 else ""))


@dataclass
class Asked:
    """A daemon and its model server, which asks for the tools in turn."""

    ed: editors.Editor
    url: str

    async def take(self) -> dict[str, float]:
        """Milliseconds of each tool, and of the step with it."""
        steps.again(self.url)
        found = {}
        for tool in CALLS:
            await self.ed.command("new")
            self.ed.events.clear()
            await self.ed.ask("Look.")
            (returned,) = self.ed.of("tool.returned")
            assert returned["ok"] and returned["name"] == tool, returned
            found[tool] = returned["seconds"] * 1e3
        whole = steps.between(steps.times(self.url))[::2]
        return found | {f"{tool}, whole step": taken for tool, taken in zip(CALLS, whole, strict=True)}


@contextlib.asynccontextmanager
async def daemon(project: Path, place: Path, command: Sequence[str]) -> AsyncIterator[Asked]:
    place.mkdir()
    script, port = place / "script.jsonl", place / "port"
    answer = {"role": "assistant", "content": "Seen."}
    says = [
        message
        for call in CALLS.values()
        for message in ({"role": "assistant", "content": "", "tool_calls": [{"function": call}]}, answer)
    ]
    script.write_text("".join(json.dumps(message) + "\n" for message in says))
    usual = editors.SERVE
    editors.SERVE = tuple(command)
    try:
        with started("bench.clocked_server", str(script), str(port), port_file=port) as url:
            async with editors.editor(project, place / "home", url=url, settings={"model": MODEL}) as ed:
                yield Asked(ed, url)
    finally:
        editors.SERVE = usual


@contextlib.contextmanager
def terminal_agent(project: Path) -> Iterator[Callable[[], float]]:
    """Milliseconds of its `list_files`."""
    process = subprocess.Popen(
        [peer("python"), "-c", THEIRS, str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    reads, writes = process.stdout, process.stdin
    assert reads is not None and writes is not None

    def take() -> float:
        writes.write("\n")
        writes.flush()
        return float(reads.readline()) * 1e3

    try:
        yield take
    finally:
        process.kill()
        process.wait()


def by_hand(rg: str, project: Path, *arguments: str) -> float:
    begun = time.perf_counter()
    subprocess.run([rg, *arguments], cwd=project, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1e3


async def project(count: int, place: Path) -> list[Figure]:
    folder = place / "project"
    folder.mkdir()
    generate(folder, count)
    engine = find_engine("")
    if not isinstance(engine, Ripgrep):
        raise SystemExit("There is no ripgrep here to compare with: install it (Debian: ripgrep), or `make venv`.")
    rg = engine.program
    taken: dict[str, list[float]] = {}
    peaks: dict[str, float] = {}
    with terminal_agent(folder) as theirs:
        async with (
            daemon(folder, place / "with", editors.SERVE) as ours,
            daemon(folder, place / "without", WITHOUT_RIPGREP) as walker,
        ):
            both = {"llamagent-server": ours, "without ripgrep": walker}
            for number in range(-1, ROUNDS_OF_SMALL if count <= SMALL else ROUNDS):
                once = {"list, rg": by_hand(rg, folder, "--files"), "list, terminal agent": theirs()}
                once["search, rg"] = by_hand(rg, folder, "--line-number", NEEDLE)
                for who, asked in both.items():
                    steps_of = await asked.take()
                    for tool, name in (("list_files", "list"), ("search_text", "search")):
                        once[f"{name}, {who}"] = steps_of[tool]
                        once[f"{name}, {who}, whole step"] = steps_of[f"{tool}, whole step"]
                if number < 0:  # the first round warms the disk's cache
                    for asked in both.values():
                        forget_peak(asked.ed.client.process.pid)
                    continue
                for name, milliseconds in once.items():
                    taken.setdefault(name, []).append(milliseconds)
            for who, asked in both.items():
                peaks[who] = peak_mb(asked.ed.client.process.pid)
    return [*figures(count, taken), *(Figure(f"{count:,}: peak, {who}", "MB", (mb,)) for who, mb in peaks.items())]


def figures(count: int, taken: dict[str, list[float]]) -> list[Figure]:
    found = [Figure(f"{count:,}: {name}", "ms", tuple(values)) for name, values in sorted(taken.items())]
    for what in ("list", "search"):
        for who in ("llamagent-server", "without ripgrep"):
            pairs = zip(taken[f"{what}, {who}"], taken[f"{what}, rg"], strict=True)
            ratio = statistics.median([ours / floor for ours, floor in pairs])
            found.append(Figure(f"{count:,}: {what}, {who} / rg", "times", (ratio,)))
    return found


async def run(counts: Sequence[int]) -> int:
    found: list[Figure] = []
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            found += await project(count, Path(name).resolve())
    limits: dict[str, Any] = {figure.name: LIMIT for figure in found if figure.name.endswith("llamagent-server / rg")}
    return report("projects", found, limits=limits)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=COUNTS)
    return asyncio.run(run(parser.parse_args().files))


if __name__ == "__main__":
    sys.exit(main())
