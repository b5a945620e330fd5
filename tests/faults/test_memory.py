"""What a daemon holds is bounded: by what is open, not by how often it was changed, read, searched or asked about."""

import gc
import re
import sys
import threading
from pathlib import Path

import pytest

from llamagent_server.lsp.documents import MAX_DOCUMENT
from llamagent_server.processes.threads import MAX_IDLE, Lane
from llamagent_server.workspace.freshness import LOOKS_AT_ONCE
from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, say

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: /proc tells what a process holds")
MB = 1_000_000


def held(ed: Editor, what: str = "VmRSS") -> int:
    """Bytes of the daemon (or a number of threads)."""
    status = Path(f"/proc/{ed.client.process.pid}/status").read_text()
    found = re.search(rf"^{what}:\s+(\d+)", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * (1024 if what.startswith("Vm") else 1)


async def settled(ed: Editor) -> None:
    """All that was sent has been read."""
    await ed.command("help")


async def test_a_thousand_open_documents_cost_what_is_in_them_and_all_tools_work(
    tmp_path: Path,
) -> None:
    project = tmp_path / "proj"
    project.mkdir()
    text = "".join(f"line {number} of a document\n" for number in range(400))  # about 10 KB
    for number in range(1000):
        (project / f"d{number}.py").write_text(text)
    wanted = [
        call("search_text", pattern="only here"),
        call("list_files"),
        call("read_file", path="d999.py"),
        call("edit_file", path="d500.py", old_text="line 7 of", new_text="line seven of"),
        say("ok"),
    ]
    with FakeOllama(replies=[say("ok"), *wanted]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.ask("hello")
            before = held(ed)
            for number in range(1000):
                await ed.open(f"d{number}.py")
            await settled(ed)
            await ed.change("d7.py", f"{text}only here\n")
            await ed.ask("go")
            after, threads = held(ed), held(ed, "Threads")
            returned = [event["content"] for event in ed.of("tool.returned")]
    assert "d7.py" in returned[0] and "d999.py" in returned[2] and "line seven of" in ed.text("d500.py")
    assert threads <= 8 + LOOKS_AT_ONCE + MAX_IDLE
    assert after - before < 3 * 1000 * len(text), f"{(after - before) / MB:.0f} MB"


async def test_ten_megabytes_that_are_edited_again_and_again_are_kept_once(tmp_path: Path) -> None:
    project = tmp_path / "proj"
    project.mkdir()
    text = "0123456789abcdef\n" * (MAX_DOCUMENT // 17 - 100)
    (project / "big.txt").write_text(text)
    with FakeOllama(replies=[say("ok"), call("read_file", path="big.txt"), say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.ask("hello")
            before = held(ed)
            await ed.open("big.txt")
            for version in range(2, 60):
                place = {"line": version * 100, "character": 3}
                change = {"range": {"start": place, "end": place}, "text": "typed"}
                head = {"uri": ed.uri("big.txt"), "version": version}
                await ed.client.notify("textDocument/didChange", {"textDocument": head, "contentChanges": [change]})
            await ed.ask("go")
            after = held(ed)
            shown = ed.of("tool.returned")[0]["content"]
    assert "0123456789abcdef" in shown
    assert after - before < 12 * len(text), f"{(after - before) / MB:.0f} MB"


async def test_a_document_beyond_the_bound_is_refused_with_words_and_its_memory_is_given_back(tmp_path: Path) -> None:
    project = tmp_path / "proj"
    project.mkdir()
    (project / "big.txt").write_text("small on disk\n")
    with FakeOllama(replies=[say("ok"), call("read_file", path="big.txt"), say("ok")]) as server:
        async with editor(project, tmp_path / "home", url=server.url) as ed:
            await ed.ask("hello")
            before = held(ed)
            for _ in range(10):
                await ed.open("big.txt", "x" * 40 * MB)
            await ed.ask("go")
            after = held(ed)
    assert "too large: more than 10 million characters" in ed.of("tool.returned")[0]["content"]
    assert after - before < 60 * MB, f"{(after - before) / MB:.0f} MB"


async def test_a_long_conversation_costs_its_words(tmp_path: Path) -> None:
    project = tmp_path / "proj"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n" * 400)
    turns = 60
    many = 3 * (turns + 20)  # summaries take some of them
    replies = [reply for _ in range(many) for reply in (call("read_file", path="a.py"), say("word " * 400))]
    with FakeOllama(replies=replies) as server:
        async with editor(project, tmp_path / "home", url=server.url, settings={"num_ctx": 4096}) as ed:
            for _ in range(20):
                await ed.ask("go")
            before = held(ed)
            for _ in range(turns):
                await ed.ask("go")
            after = held(ed)
            journal = sum(path.stat().st_size for path in project.rglob("*.jsonl"))
    assert journal > turns * 2000
    assert after - before < 5 * MB + 3 * journal, f"{(after - before) / MB:.1f} MB for {journal / MB:.1f} MB of words"


def test_a_lane_is_no_wider_than_it_is_and_does_all_of_its_work() -> None:
    lane, lock, together, most = Lane(3), threading.Lock(), 0, 0
    go = threading.Event()

    def work(number: int) -> int:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        go.wait(10)
        with lock:
            together -= 1
        return number

    futures = [lane.start(lambda number=number: work(number), "test-lane") for number in range(50)]  # type: ignore[misc]
    go.set()
    assert [future.result(10) for future in futures] == list(range(50)) and most <= 3
    gc.collect()
    failing = lane.start(lambda: 1 // 0, "test-lane")
    with pytest.raises(ZeroDivisionError):
        failing.result(10)
    assert lane.start(lambda: "after", "test-lane").result(10) == "after"
