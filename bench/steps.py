"""What a step costs beside the model: `python -m bench.steps`.

Fourteen tool calls and an answer, from a model server that takes no time: through our daemon over LSP stdio, and
through the terminal agent `llamagent` 0.1.0. A step is the time from the end of a reply to the arrival of the next
request. The two take turns, so that what else the machine does falls on both; where there are two cores the server has
one and the agents the other (on Linux).
"""

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bench.clocked_server import MODEL
from bench.harness import Figure, options, report
from bench.peers import peer
from bench.servers import started
from tests.end_to_end.editor import Editor, editor

CALLS = 14
ROUNDS = 12
Times = list[tuple[int, int, int]]


def messages() -> list[dict[str, Any]]:
    calls = [{"function": {"name": "read_file", "arguments": {"path": f"m{number}.py"}}} for number in range(CALLS)]
    asking = [{"role": "assistant", "content": "", "tool_calls": [call]} for call in calls]
    return [*asking, {"role": "assistant", "content": "All is well."}]


def server(place: Path) -> AbstractContextManager[str]:
    script, port = place / "script.jsonl", place / "port"
    script.write_text("".join(json.dumps(message) + "\n" for message in messages()))
    return started("bench.clocked_server", str(script), str(port), port_file=port, apart=True)


def times(url: str) -> Times:
    with urllib.request.urlopen(f"{url}/times") as answer:
        return [(here, sent, size) for here, sent, size in json.load(answer)]


def again(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(f"{url}/again", data=b"", method="POST")):
        pass


def between(found: Times) -> list[float]:
    """Milliseconds from each reply to the next request."""
    return [(after[0] - before[1]) / 1e6 for before, after in itertools.pairwise(found)]


class Taken:
    """`first`: ms before the first request, `whole`: ms in all, `step`: ms of each step, for one of the two."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.whole: list[float] = []
        self.step: list[float] = []

    def add(self, found: Times, begun: int, ended: int) -> None:
        assert len(found) == CALLS + 1, f"{len(found)} requests"
        self.first.append((found[0][0] - begun) / 1e6)
        self.step += between(found)
        self.whole.append((ended - begun) / 1e6)


async def ours(ed: Editor, url: str, taken: Taken | None) -> None:
    again(url)
    await ed.command("new")
    begun = time.monotonic_ns()
    result = await ed.ask("Read all modules.")
    ended = time.monotonic_ns()
    assert result["answer"] == "All is well.", result
    if taken is not None:
        taken.add(times(url), begun, ended)


def theirs(program: str, project: Path, home: Path, url: str, taken: Taken | None) -> None:
    again(url)
    env = {**os.environ, "HOME": str(home), "OLLAMA_URL": url, "OLLAMA_MODEL": MODEL, "NO_COLOR": "1"}
    begun = time.monotonic_ns()
    subprocess.run([program, "Read all modules."], cwd=project, env=env, stdin=-3, stdout=-3, check=True)
    ended = time.monotonic_ns()
    if taken is not None:
        taken.add(times(url), begun, ended)


async def run() -> int:
    program = peer("llamagent")
    mine, other = Taken(), Taken()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        projects = {who: place / who for who in ("mine", "other")}
        for project in projects.values():
            project.mkdir()
            for number in range(CALLS):
                (project / f"m{number}.py").write_text(f"value = {number}\n" * 20)
        with server(place) as url:
            async with editor(projects["mine"], place / "home", url=url, settings={"model": MODEL}) as ed:
                for number in range(-1, ROUNDS):
                    await ours(ed, url, mine if number >= 0 else None)
                    theirs(program, projects["other"], place / "home2", url, other if number >= 0 else None)
    figures = [
        Figure("step, llamagent-server", "ms", tuple(mine.step)),
        Figure("step, terminal agent", "ms", tuple(other.step)),
        Figure("before the first request, llamagent-server", "ms", tuple(mine.first)),
        Figure("before the first request, terminal agent", "ms", tuple(other.first)),
        Figure("whole turn, llamagent-server", "ms", tuple(mine.whole)),
        Figure("whole turn, terminal agent", "ms", tuple(other.whole)),
    ]
    ratio = Figure("step, ours / theirs", "times", (figures[0].median / figures[1].median,))
    limits = {"step, ours / theirs": 1.0, "before the first request, llamagent-server": 5.0}
    return report("steps", [*figures, ratio], limits=limits)


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(asyncio.run(run()))
