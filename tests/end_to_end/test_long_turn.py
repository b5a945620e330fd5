"""A turn of forty steps in a small window, against a server that truncates silently as Ollama does by default.

The task is in every request, nothing is ever dropped, and the gauge is near the server's own count. Ten seconds.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from llamagent_server import core
from llamagent_server.agent.compaction import INSTRUCTION
from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, call, say
from tests.fakes.script import Item

TASK = "Mark every module as seen, and say at the end which ones you changed."
STEPS = 40
# Real code: what a tokenizer makes of it is what the estimates are for.
SOURCES = sorted(Path(core.__file__).parent.glob("[a-z]*.py"))[: STEPS // 4]
TOKEN = re.compile(r" ?[A-Za-z]{1,6}|\d| ?[^\sA-Za-z\d]{1,2}|\s+")


class Truncating(FakeOllama):
    """A build that knows no `truncate`: what does not fit is dropped from the front, and nobody is told. Its tokens are
    about those of a real tokenizer on code."""

    def _fitted(self, asked: dict[str, Any]) -> Any:
        return super()._fitted({**asked, "truncate": True})

    def _tokens(self, asked: dict[str, Any], messages: list[dict[str, Any]]) -> int:
        texts = [str(message["content"]) for message in messages]
        calls = [json.dumps(made["function"]) for message in messages for made in message.get("tool_calls") or []]
        tools = [json.dumps(tool) for tool in asked.get("tools") or []]
        return 6 * len(messages) + sum(len(TOKEN.findall(text)) for text in (*texts, *calls, *tools))


def step(number: int) -> Item:
    source = SOURCES[number // 4]
    first = source.read_text("utf-8").splitlines()[0]
    match number % 4:
        case 0:
            return call("read_file", path=source.name)
        case 1:
            return call("search_text", pattern="def ", path=source.name)
        case 2:
            return call("edit_file", path=source.name, old_text=first, new_text=f"# Seen.\n{first}")
        case _:
            return call("read_file", path=source.name, start=1, end=30)


def model() -> Any:
    """Does the steps in their order; a request for a summary gets one."""
    steps = iter([*map(step, range(STEPS)), say("All ten.")])

    def reply(asked: dict[str, Any]) -> Item:
        if asked["messages"][-1]["content"] == INSTRUCTION:
            return say("The modules are read and edited one after the other, each was marked as seen. " * 6)
        return next(steps)

    return reply


@pytest.mark.parametrize("num_ctx", [2048, 8192])
async def test_forty_steps_keep_the_task_and_the_budget(project: Path, home: Path, num_ctx: int) -> None:
    for source in SOURCES:
        shutil.copy(source, project)
    settings = {"num_ctx": num_ctx, "max_steps": STEPS + 1, "max_tokens_per_turn": 10_000_000}
    with Truncating(replies=[model()] * 200) as server:
        async with editor(project, home, url=server.url, settings=settings) as ed:
            result = await ed.ask(TASK)
            texts = [ed.text(source.name) for source in SOURCES]
    assert (result["answer"], result["steps"]) == ("All ten.", STEPS + 1)
    assert all(text.startswith("# Seen.\n") for text in texts)
    assert any(event["decision"] == "compact" for event in ed.of("harness.decided"))
    assert server.reloads == 0
    counts = []
    for request, seen in zip(server.requests, server.prompts, strict=True):
        asked = request.json
        assert seen == asked["messages"], "the server dropped something"
        assert any(message["role"] == "user" and TASK in message["content"] for message in seen)
        tokens = server._tokens(asked, seen)
        summary = seen[-1]["content"] == INSTRUCTION
        assert tokens + (0 if summary else asked["options"]["num_predict"]) <= num_ctx
        if not summary:
            counts.append(tokens)
    estimates = [event["promptTokensEstimate"] for event in ed.of("model.requested")]
    gauges = [event["tokens"] for event in ed.of("context.gauge")]
    assert len(counts) == len(estimates) == STEPS + 1
    assert [pair for pair in zip(estimates, counts, strict=True) if off(*pair) > 0.15] == []
    # The gauge after a step is of what the next request sends, where nothing is compacted between.
    after = [
        (gauge, count)
        for gauge, count, estimate in zip(gauges, counts[1:], estimates[1:], strict=False)
        if gauge == estimate
    ]
    assert len(after) > STEPS // 2
    assert [pair for pair in after if off(*pair) > 0.15] == []


def off(estimate: int, count: int) -> float:
    return abs(estimate - count) / count
