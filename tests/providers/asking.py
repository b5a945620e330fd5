"""Asking a model server in tests: requests, and the outcome of one with what must hold for each."""

import asyncio
import threading
from contextlib import aclosing

from llamagent_server.agent.ports import ChatOptions, ChatRequest, Delta, Failure, Model, ModelEvent
from llamagent_server.core.events import Channel
from llamagent_server.core.messages import Message, Reply, SystemMessage, ToolSpec, UserMessage

MODEL = "qwen3.5:4b"
READ_FILE = ToolSpec(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
OPTIONS = ChatOptions(num_ctx=8192, num_predict=512, temperature=0.2)
TASK = (SystemMessage("You are a coding agent."), UserMessage("What does a.py do?"))


def request(
    *messages: Message,
    tools: tuple[ToolSpec, ...] = (READ_FILE,),
    options: ChatOptions = OPTIONS,
    model: str = MODEL,
) -> ChatRequest:
    return ChatRequest(model, messages or TASK, tools, options)


async def ask(model: Model, asked: ChatRequest | None = None) -> Reply | Failure:
    """The outcome of one request; what the deltas showed is what the outcome holds."""
    *deltas, outcome = [event async for event in model.chat(asked or request())]
    assert all(isinstance(delta, Delta) and delta.text for delta in deltas)
    assert isinstance(outcome, Reply | Failure)
    assert shown(deltas, Channel.CONTENT) == outcome.content
    if isinstance(outcome, Reply):
        assert shown(deltas, Channel.THINKING).strip() == outcome.thinking
    return outcome


async def reply(model: Model, asked: ChatRequest | None = None) -> Reply:
    outcome = await ask(model, asked)
    assert isinstance(outcome, Reply), outcome
    return outcome


async def failure(model: Model, asked: ChatRequest | None = None) -> Failure:
    outcome = await ask(model, asked)
    assert isinstance(outcome, Failure), outcome
    return outcome


async def first_event(model: Model, asked: ChatRequest | None = None) -> ModelEvent:
    """Take one event and close the iterator, as a consumer does that has seen enough."""
    async with aclosing(model.chat(asked or request())) as events:
        return await anext(events)


def shown(events: list[ModelEvent], channel: Channel) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta) and event.channel is channel)


def requesting() -> bool:
    """Whether a thread is at a request."""
    return "model-request" in {thread.name for thread in threading.enumerate()}


async def none_requesting() -> None:
    async with asyncio.timeout(10):
        while requesting():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
