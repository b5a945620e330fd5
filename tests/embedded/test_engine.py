"""The embedded engine, the real one: what it answers, how it stops, and that it leaves nothing behind."""

import asyncio
import os
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import requests

from llamagent_server.agent import constrained
from llamagent_server.agent.ports import ChatOptions, ChatRequest, Delta, Failure
from llamagent_server.core.messages import (
    AssistantMessage,
    Finish,
    Message,
    SystemMessage,
    ToolCall,
    UserMessage,
)
from llamagent_server.errors import ContextOverflow, ModelFailed, ModelNotFound
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.embedded import WHAT, Embedded
from llamagent_server.providers.engine import EngineConfig, start_engine
from llamagent_server.settings import EMBEDDED_MODEL
from llamagent_terminal.demo import JOB
from tests.agent.doubles import spec
from tests.embedded.conftest import NUM_CTX, embedded
from tests.providers.asking import failure, reply

TOOLS = (
    spec("read_file", ["path"], path="string"),
    spec("run_command", ["command"], command="string"),
    spec("write_file", ["path", "content"], path="string", content="string"),
)
PATIENCE = 60.0


def request(*messages: Message, num_ctx: int = NUM_CTX, num_predict: int = 24, schema: Any = None) -> ChatRequest:
    return ChatRequest(EMBEDDED_MODEL, messages, (), ChatOptions(num_ctx, num_predict, temperature=0.0), schema)


HELLO = request(UserMessage("Say hello."))
ENDLESS = request(UserMessage("Count from one to a thousand in words, all of them."), num_predict=900)


async def yes(_: str) -> bool:
    return True


async def no(_: str) -> bool:
    return False


# --- Answers -------------------------------------------------------------------------------------------------------


async def test_it_answers(model: Embedded) -> None:
    said = await reply(model, HELLO)
    assert "hello" in said.content.lower()
    assert said.finish is Finish.STOP
    assert said.usage.prompt_tokens
    assert said.usage.completion_tokens


async def test_a_constrained_reply_is_a_call_that_fits_the_tool(model: Embedded) -> None:
    messages = constrained.as_messages((SystemMessage(""), UserMessage(JOB)), TOOLS)
    said = await reply(model, request(*messages, num_predict=100, schema=constrained.schema(TOOLS)))
    call = constrained.parse(said.content, TOOLS, lambda kind: kind)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments["path"]) == ("write_file", "hello.py")


async def test_the_length_limit_is_said(model: Embedded) -> None:
    said = await reply(model, request(UserMessage("Tell me a long story."), num_predict=3))
    assert said.finish is Finish.LENGTH
    assert said.usage.completion_tokens == 3


async def test_too_long_a_prompt_is_an_overflow_with_the_servers_count(model: Embedded) -> None:
    failed = await failure(model, request(UserMessage("word " * 2 * NUM_CTX)))
    assert isinstance(failed.error, ContextOverflow)
    assert failed.error.prompt_tokens is not None
    assert failed.error.prompt_tokens > NUM_CTX
    assert "hello" in (await reply(model, HELLO)).content.lower()


async def test_a_longer_conversation_reads_only_what_is_new(model: Embedded) -> None:
    first = (SystemMessage("You are kind. " * 20), UserMessage("Say hello."))
    said = await reply(model, request(*first))
    again = await reply(model, request(*first, AssistantMessage(said.content), UserMessage("Say it again.")))
    assert again.usage.prompt_tokens is not None
    assert again.usage.cached_prompt_tokens is not None
    assert said.usage.prompt_tokens is not None
    assert again.usage.cached_prompt_tokens >= said.usage.prompt_tokens - 8
    assert again.usage.prompt_tokens - again.usage.cached_prompt_tokens < 60


# --- Stopping ------------------------------------------------------------------------------------------------------


async def test_a_cancel_in_mid_stream_leaves_the_engine_idle(model: Embedded) -> None:
    async with aclosing(model.chat(ENDLESS)) as events:
        assert isinstance(await anext(events), Delta)
        assert processing(model)
    async with asyncio.timeout(PATIENCE):
        while processing(model):  # noqa: ASYNC110 - the engine tells nobody
            await asyncio.sleep(0.05)
    assert "hello" in (await reply(model, HELLO)).content.lower()


def processing(model: Embedded) -> bool:
    """Whether the engine works, as it says itself."""
    assert model._engine is not None
    headers = {"Authorization": f"Bearer {model._engine.key}"}
    (slot,) = requests.get(f"{model._engine.address}/slots", headers=headers, timeout=PATIENCE).json()
    return slot["is_processing"] is True


async def test_nobody_without_the_key_is_served(model: Embedded) -> None:
    await reply(model, HELLO)
    assert model._engine is not None
    assert model._engine.address.startswith("http://127.0.0.1:")
    for path in ("/v1/chat/completions", "/completion", "/tokenize"):
        answer = await asyncio.to_thread(
            requests.post, f"{model._engine.address}{path}", json={"prompt": "x"}, timeout=PATIENCE
        )
        assert answer.status_code == 401


@pytest.mark.usefixtures("gguf")
async def test_another_context_length_starts_it_anew() -> None:
    model = embedded()
    await reply(model, HELLO)
    first = model._engine
    assert first is not None
    await reply(model, HELLO)
    assert model._engine is first
    await reply(model, request(UserMessage("Say hello."), num_ctx=2048))
    second = model._engine
    assert second is not None
    assert (second is first, second.config.num_ctx) == (False, 2048)
    await gone(first.address)
    await model.close()
    await gone(second.address)


async def gone(address: str) -> None:
    """Wait until nobody listens there any more."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await asyncio.to_thread(requests.get, f"{address}/health", timeout=PATIENCE)
            except requests.ConnectionError:
                return
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("gguf")
async def test_an_engine_that_dies_is_told_of_and_the_next_ask_works() -> None:
    model = embedded()
    async with aclosing(model.chat(ENDLESS)) as events:
        assert isinstance(await anext(events), Delta)
        assert model._engine is not None
        model._engine.end()
        *_, last = [event async for event in events]
    assert isinstance(last, Failure)
    assert isinstance(last.error, ModelFailed)
    assert last.error.retryable
    assert "starts anew" in str(last.error)
    assert "hello" in (await reply(model, HELLO)).content.lower()
    await model.close()


@pytest.mark.usefixtures("gguf")
async def test_closing_while_it_starts_leaves_nothing() -> None:
    model = embedded()
    asking = asyncio.create_task(reply(model, HELLO))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await model.close()
    assert model._engine is None


@pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: a job object does it on Windows")
async def test_it_does_not_outlive_a_daemon_that_is_killed(gguf: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from llamagent_server.processes.threads import Cancel;"
        "from llamagent_server.providers.engine import EngineConfig, start_engine;"
        f"print(start_engine(EngineConfig(Path({str(gguf)!r}), 512), Cancel()).address, flush=True); time.sleep(600)"
    )
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert daemon.stdout is not None
    address = (await daemon.stdout.readline()).decode().strip()
    assert (await asyncio.to_thread(requests.get, f"{address}/health", timeout=PATIENCE)).json() == {"status": "ok"}
    os.kill(daemon.pid, signal.SIGKILL)
    await daemon.wait()
    await gone(address)


# --- Files ---------------------------------------------------------------------------------------------------------


async def test_the_bundled_model_is_described_without_tools_and_without_a_start(gguf: Path) -> None:
    model = embedded(num_ctx=16384)
    info = await model.describe(EMBEDDED_MODEL)
    assert info.capabilities == {"completion"}
    assert (info.context_length, info.loaded_context, info.size) == (8192, 8192, gguf.stat().st_size)
    assert model._engine is None


async def test_a_file_of_ones_own_is_used(gguf: Path) -> None:
    model = embedded(str(gguf))
    info = await model.describe(str(gguf))
    assert (info.context_length, info.loaded_context) == (8192, NUM_CTX)
    assert [row.name for row in await model.list_models()] == [str(gguf)]
    assert "hello" in (await reply(model, HELLO)).content.lower()
    await model.close()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("qwen3.5:4b", None, "no model 'qwen3.5:4b'.*provider = \"ollama\""),
        ("model.gguf", None, "not a full path"),
        ("{folder}/none.gguf", None, "cannot be read"),
        ("{folder}/bad.gguf", b"PK\3\4", "no GGUF file"),
        ("{folder}/empty.gguf", b"", "no GGUF file"),
    ],
)
async def test_what_is_no_model_file_is_said(tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    model = embedded(name.format(folder=tmp_path))
    if content is not None:
        Path(name.format(folder=tmp_path)).write_bytes(content)
    for attempt in (model.prepare(yes), model.list_models(), model.describe(model._config.model)):
        with pytest.raises(ModelNotFound, match=words):
            await attempt
    assert isinstance((await failure(model, HELLO)).error, ModelNotFound)


async def test_a_file_that_only_begins_like_a_model_is_an_error_with_the_engines_words(
    gguf: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.gguf"
    with gguf.open("rb") as file:
        cut.write_bytes(file.read(100_000))
    with pytest.raises(ModelFailed, match="cannot load") as caught:
        start_engine(EngineConfig(cut, 512), Cancel())
    assert "failed to load model" in str(caught.value.detail)


async def test_nothing_is_fetched_without_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMAGENT_CACHE", str(tmp_path / "cache"))
    asked: list[str] = []

    async def refuse(what: str) -> bool:
        asked.append(what)
        return False

    with pytest.raises(ModelNotFound, match="without a yes"):
        await embedded().prepare(refuse)
    assert asked == [WHAT]
    assert "98 MB" in WHAT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("gguf")
async def test_nothing_is_asked_when_the_model_is_here() -> None:
    await embedded().prepare(no)
