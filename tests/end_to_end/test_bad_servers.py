"""Model servers that fail: each failure is told with what to do, and the next ask finds the conversation whole."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, Raw, Reply, fail, say
from tests.fakes.script import Item

GARBAGE = Raw([b"<html>a proxy speaks</html>\n"])
HUGE_LINE = Raw([b'{"message": {"content": "' + b"x" * 1_000_000] + [b"x" * 1_000_000] * 99)
ENDLESS = Raw(
    [b'{"message":{"role":"assistant","content":"%d and so on "},"done":false}\n' % number for number in range(100)],
    endless=True,
)
CUT = Reply("half of an", end="eof")
BROKEN = Reply("half of an", end="drop")


def breaking(bad: Item) -> Callable[[dict[str, Any]], Item]:
    """A model that answers `bad` to what begins with "break", as often as it is tried, and speaks well otherwise."""
    return lambda request: bad if request["messages"][-1]["content"].startswith("break") else say("fine")


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        (fail("unknown_model"), "model_not_found", "ollama pull qwen3.5:4b"),
        (fail("embedding"), "model_error", "chat model"),
        (fail("out_of_memory"), "model_error", "num_ctx"),
        (fail("load_terminated"), "model_error", "smaller model"),
        (fail("busy"), "model_error", "busy"),
        (fail("not_ollama"), "model_error", "url"),
        (CUT, "model_error", "again"),
        (BROKEN, "model_error", "again"),
        (GARBAGE, "model_error", "url"),
        (HUGE_LINE, "model_error", "a line longer than"),
        (ENDLESS, "model_error", "the reply was cut off"),
    ],
    ids=[
        "not pulled",
        "no chat",
        "memory",
        "killed",
        "503",
        "no Ollama",
        "cut",
        "broken",
        "garbage",
        "line",
        "endless",
    ],
)
async def test_a_failure_says_what_to_do_and_the_next_ask_is_answered(
    project: Path, home: Path, bad: Item, kind: str, words: str
) -> None:
    with FakeOllama(replies=itertools.repeat(breaking(bad))) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("hello")
            error = await ed.failing("ask", text="break it")
            assert (await ed.ask("and now?"))["answer"] == "fine"
    assert error["code"] == -32803
    assert error["data"]["kind"] == kind
    assert error["data"]["hint"]
    assert words in error["message"]
    assert ed.of("turn.ended")[1]["error"] == error["message"]
    roles = [message["role"] for message in server.requests[-1].json["messages"]]
    assert roles == ["system", *["user", "assistant"] * 2, "user"]
