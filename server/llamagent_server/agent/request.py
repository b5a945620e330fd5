"""One request to the model: its fixed options, its stream, its reply read."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from llamagent_server.agent import constrained
from llamagent_server.agent.context import reply_room
from llamagent_server.agent.ports import ChatOptions, ChatRequest, Delta, Failure, Model
from llamagent_server.agent.road import Road
from llamagent_server.agent.roads import road
from llamagent_server.agent.session import Session
from llamagent_server.core.events import Channel, ModelDelta
from llamagent_server.core.messages import Message, Reply, ToolCall, ToolSpec
from llamagent_server.core.spelling import canonical
from llamagent_server.errors import ModelFailed
from llamagent_server.settings import Settings


@dataclass(frozen=True, slots=True)
class Step:
    """A reply in our terms. `problem`: it was meant as a call, but nothing can be made of it; the model is told."""

    reply: Reply
    problem: str | None = None


def chat_request(session: Session, settings: Settings, messages: tuple[Message, ...]) -> ChatRequest:
    """The request for `messages`: its options are the same in every request of a session."""
    options = ChatOptions(
        num_ctx=settings.num_ctx,
        num_predict=reply_room(settings.num_ctx),
        temperature=settings.temperature,
        think=settings.think,
        keep_alive=settings.keep_alive,
    )
    specs = session.ports.specs
    if road(session, settings) is Road.SCHEMA:
        plain = constrained.as_messages(messages, specs)
        return ChatRequest(settings.model, plain, (), options, schema=constrained.schema(specs))
    return ChatRequest(settings.model, messages, specs, options)


async def stream(model: Model, request: ChatRequest, on_delta: Callable[[Delta], object]) -> Reply | Failure:
    """The one Reply or Failure of a request; deltas go to `on_delta` as they arrive."""
    async with aclosing(model.chat(request)) as events:
        async for event in events:
            if isinstance(event, Delta):
                on_delta(event)
            else:
                return event
    return Failure(ModelFailed("The model's reply stopped without an end.", retryable=True))


def watcher(session: Session, settings: Settings) -> Callable[[Delta], None]:
    """Shows the deltas of a reply to the person; of a constrained reply only the answer's own text."""
    if road(session, settings) is Road.NATIVE:
        return lambda delta: session.trace.emit(ModelDelta(delta.channel, delta.text))
    answer = constrained.AnswerText()

    def watch(delta: Delta) -> None:
        text = answer.feed(delta.text) if delta.channel is Channel.CONTENT else delta.text
        if text:
            session.trace.emit(ModelDelta(delta.channel, text))

    return watch


def read_reply(session: Session, settings: Settings, reply: Reply) -> Step:
    """`reply` with its calls in our spelling, whichever road it came by."""
    if road(session, settings) is Road.SCHEMA:
        return _constrained(session.ports.specs, session.ports.new_id, reply)
    known = {spec.name: frozenset(_argument_names(spec)) for spec in session.ports.specs}
    calls = tuple(canonical(call, known) for call in reply.tool_calls)
    return Step(replace(reply, tool_calls=calls), problem=reply.problem)


def _constrained(specs: tuple[ToolSpec, ...], new_id: Callable[[str], str], reply: Reply) -> Step:
    match constrained.parse(reply.content, specs, new_id):
        case ToolCall() as call:
            return Step(replace(reply, content="", tool_calls=(call,)))
        case constrained.Answer(text=text):
            return Step(replace(reply, content=text))
        case constrained.Malformed(message=message):
            return Step(reply, problem=message)


def _argument_names(spec: ToolSpec) -> tuple[str, ...]:
    properties = spec.parameters.get("properties")
    return tuple(properties) if isinstance(properties, dict) else ()
