"""A session whose daemon is killed at any moment goes on without a lost step. About 3 s a moment."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, say

STEPS = [call("read_file", path=f"{number}.txt") for number in range(3)]
# The moment after which it is killed: how many results of tools the person has seen, and whether an edit waits.
MOMENTS = ["started", "1", "2", "3", "edit waits", "ended"]


def reached(ed: Editor, moment: str, events: list[dict[str, Any]]) -> bool:
    """`events` are those of the turn that is to be killed."""
    kinds = [event["kind"] for event in events]
    match moment:
        case "started":
            return "model.requested" in kinds
        case "edit waits":
            return bool(ed.asked("workspace/applyEdit"))
        case "ended":
            return "turn.ended" in kinds
        case number:
            return kinds.count("tool.returned") >= int(number)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_every_step_that_was_seen_is_there_again(project: Path, home: Path, moment: str) -> None:
    for number in range(3):
        (project / f"{number}.txt").write_text(f"text {number}\n")
    first = say("slow words to begin with", hold_after=1) if moment == "started" else STEPS[0]
    edit = call("edit_file", path="0.txt", old_text="text", new_text="TEXT")
    with FakeOllama(replies=[say("before"), first, *STEPS[1:], edit, say("done")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("hello")
            before = len(ed.events)
            if moment == "edit waits":
                ed.answers["workspace/applyEdit"] = lambda _: asyncio.Event().wait()
            await ed.start("ask", text="read them")
            await ed.until(lambda: reached(ed, moment, ed.events[before:]))
            os.kill(ed.client.process.pid, signal.SIGKILL)
            await ed.client.process.wait()
            seen = [event for event in ed.events if event["kind"] != "model.delta"]
    with FakeOllama(replies=[say("gone on")]) as server:
        async with editor(project, home, url=server.url) as ed:
            (row,) = (await ed.command("sessions"))["sessions"]
            assert "damaged" not in row
            await ed.command("resume", ref=1)
            stored = (await ed.command("trace"))["events"]
            assert stored[: len(seen)] == seen
            assert (await ed.ask("go on"))["answer"] == "gone on"
    sent = server.requests[-1].json["messages"]
    contents = [message["content"] for message in sent]
    assert [*contents[1:4], contents[-1]] == ["hello", "before", "read them", "go on"]
    results = [event["content"] for event in seen if event["kind"] == "tool.returned"]
    assert [message["content"] for message in sent if message["role"] == "tool"][: len(results)] == results
    calls = sum(len(message.get("tool_calls") or []) for message in sent)
    assert calls == sum(message["role"] == "tool" for message in sent)
