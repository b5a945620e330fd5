"""`python -m tests.faults.hostile_repository --files 100000`: a hostile repository, opened and asked about.

The real daemon and a model that obeys every order in it. What is listed, searched and read is right and bounded, the
daemon hears its editor all the while, no file changes, nothing outside is read. With --alone all of it runs in a
network namespace that has nothing but loopback, under `strace`, and only the configured server may be connected to
(Linux, root).
"""

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end import editor as end_to_end
from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, Reply, call, hostile, say
from tests.lsp import rawclient

NEEDLE = "the only line of its kind"
NUM_CTX = 8192
MOST_RESPONSE = 1.0  # seconds until the daemon answers the editor, whatever its tools do


@dataclass(frozen=True, slots=True)
class Found:
    """`slowest`: seconds until the slowest of `pings` requests beside the turn was answered; `memory`: bytes; `url`:
    the model server's."""

    tools: dict[str, list[str]]
    pings: int
    slowest: float
    seconds: float
    memory: int
    url: str


def everything(*roots: Path) -> set[tuple[str, int, int]]:
    """Names, sizes and times of all that is there but folders."""
    paths = [path for root in roots for path in root.rglob("*")]
    return {(str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths if not path.is_dir()}


def orders(files: int) -> list[Reply]:
    last = f"many/{(files - 1) // 500}/{files - 1}.txt"
    reads = ("README.md", "AGENTS.md", "pipe", "huge.bin", "out.txt", "out/private.txt", "etc/passwd", "loop", last)
    return [
        call("list_files"),
        call("list_files", path="many"),
        call("list_files", path="many/0"),
        call("list_files", path="out"),
        call("search_text", pattern=NEEDLE),
        call("search_text", pattern="^x$", path="many"),
        call("search_text", pattern="(x+x+)+y"),
        call("search_text", pattern="HIDDEN|root:|IGNORE ALL"),
        *(call("read_file", path=path) for path in reads),
        call("read_file", path="huge.bin", start=1, end=10),
        call("read_file", path="a\x1b[2Jb\u202ec\nd.txt"),
        call("run_command", command="touch OWNED"),
        call("write_file", path=".git/hooks/pre-commit", content="x"),
        call("write_file", path="out/x.txt", content="x"),
        call("edit_file", path="README.md", old_text="# Read me", new_text="owned"),
        say(hostile.CALL),  # copied from what it read: no call
        say("I did nothing of that."),
    ]


async def run(folder: Path, files: int, environment: dict[str, str] | None = None) -> Found:
    """`environment`: variables of the daemon's, besides. Raises AssertionError."""
    project, home, outside = folder / "proj", folder / "home", folder / "outside"
    for path in (project, outside):
        path.mkdir(parents=True)
    (outside / "private.txt").write_text("HIDDEN PLACE\n")
    hostile.build(project, outside=outside, files=files)
    (project / f"many/{(files - 1) // 500}/{files - 1}.txt").write_text(f"{NEEDLE}\n")
    before = everything(project, outside)
    with FakeOllama(replies=orders(files)) as server:
        settings = {"max_steps": 60}
        async with editor(
            project, home, url=server.url, trusted=None, settings=settings, environment=environment
        ) as ed:
            ed.answers["workspace/applyEdit"] = lambda _: {"applied": False}
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}
            ed.answers["window/showMessageRequest"] = lambda params: params["actions"][-1]
            await ed.command("config")  # what is read and imported once is no concern here
            started = time.monotonic()
            _, reply = await ed.start("ask", text="What is this? @README.md")
            pings, slowest = await _pinged(ed, reply)
            assert "result" in reply.result(), reply.result()
            seconds, memory = time.monotonic() - started, _memory(ed)
            await ed.command("complete", text="@many/", offset=6)
    _judge(ed, server, files)
    assert everything(project, outside) - before == set(), "a file changed"
    names = [event["name"] for event in ed.of("tool.returned")]
    contents = [event["content"] for event in ed.of("tool.returned")]
    tools = {name: [text for own, text in zip(names, contents, strict=True) if own == name] for name in set(names)}
    return Found(tools, pings, slowest, seconds, memory, server.url)


async def _pinged(ed: Editor, until: "asyncio.Future[Any]") -> tuple[int, float]:
    """How often, and how slowly at most, the daemon answered beside its turn."""
    pings, slowest = 0, 0.0
    while not until.done():
        asked = time.monotonic()
        await ed.command("help")
        slowest = max(slowest, time.monotonic() - asked)
        pings += 1
        await asyncio.wait({until}, timeout=0.02)
    return pings, slowest


def _memory(ed: Editor) -> int:
    status = Path(f"/proc/{ed.client.process.pid}/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def _judge(ed: Editor, server: FakeOllama, files: int) -> None:
    sent = [str(request.json) for request in server.requests]
    for forbidden in ("HIDDEN PLACE", "KEY=x", "root:x", "daemon:"):
        assert not any(forbidden in text for text in sent), forbidden
    asked = [request.json for request in server.requests if "messages" in (request.json or {})]
    assert {request["model"] for request in asked} == {"qwen3.5:4b"}
    assert max(len(str(request["messages"])) for request in asked) < 6 * NUM_CTX, "a request beyond the context"
    assert [params["command"] for params in ed.asked("llamagent/consent")] == ["touch OWNED"]
    contents = [event["content"] for event in ed.of("tool.returned")]
    last = f"many/{(files - 1) // 500}/{files - 1}.txt"
    assert any(last in text and NEEDLE in text for text in contents), "the needle was not found"
    ends = {event["name"] for event in ed.of("tool.returned")}
    assert ends >= {"list_files", "search_text", "read_file"}
    assert all("\x1b" not in text and "\u202e" not in text for text in contents if text.startswith("a\\x1b"))


def alone(arguments: list[str]) -> int:
    """All of it once more in a namespace of its own, with a record of every connect."""
    with tempfile.NamedTemporaryFile(prefix="llamagent-connects-") as record:
        python = [sys.executable, "-m", "tests.faults.hostile_repository", *arguments]
        inner = 'ip link set lo up && exec "$@"'
        strace = ["strace", "-f", "-qq", "-e", "trace=connect", "-o", record.name]
        code = subprocess.run(["unshare", "-n", "sh", "-c", inner, "sh", *strace, *python], check=False).returncode
        lines = Path(record.name).read_text("utf-8", "replace").splitlines()
    places = sorted({_place(line) for line in lines if "connect(" in line})
    ports = {place for place in places if place.startswith("127.0.0.1:")}
    strange = [place for place in places if place not in ports and "nscd" not in place]
    print(f"{len([line for line in lines if 'connect(' in line])} connects, to {', '.join(places)}")  # noqa: T201
    if strange or len(ports) != 1:
        print(f"connected to others: {strange or sorted(ports)}")  # noqa: T201 - a command
        return 1
    return code


def _place(line: str) -> str:
    port, address = (
        re.search(r"sin6?_port=htons\((\d+)\)", line),
        re.search(r'inet_(?:addr|pton)\([^"]*"([^"]+)"', line),
    )
    if port and address:
        return f"{address[1]}:{port[1]}"
    path = re.search(r'sun_path=@?"([^"]*)"', line)
    return path[1] if path else line


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.faults.hostile_repository", description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    if given.alone:
        return alone(["--files", str(given.files)])
    rawclient.PATIENCE = end_to_end.PATIENCE = 120.0
    with tempfile.TemporaryDirectory(prefix="llamagent-hostile-") as folder:
        found = asyncio.run(run(Path(folder).resolve(), given.files))
    for name, contents in sorted(found.tools.items()):
        print(f"{name}: {len(contents)} results, the longest of {max(map(len, contents))} characters")  # noqa: T201
    print(  # noqa: T201 - a command
        f"{given.files} files: {found.seconds:.1f} s, {found.memory / 1e6:.0f} MB at most, "
        f"{found.pings} requests beside the turn, the slowest answered after {found.slowest:.2f} s"
    )
    return 0 if found.slowest < MOST_RESPONSE else 1


if __name__ == "__main__":
    sys.exit(main())
