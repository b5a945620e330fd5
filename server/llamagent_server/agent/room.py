"""Compaction at work: elide old results, else have the model summarise, else prune; never a loop, never a lost task."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from llamagent_server.agent.compaction import INSTRUCTION, PRUNED, rebuilt, strip_notes, summary_of
from llamagent_server.agent.context import ELIDE_TO, UNCERTAIN, Meter, Window, elide, message_bytes
from llamagent_server.agent.patience import Retries, pause
from llamagent_server.agent.request import chat_request, read_reply, stream
from llamagent_server.agent.session import Session
from llamagent_server.core.messages import Message, Reply, SystemMessage, ToolMessage, Usage, UserMessage
from llamagent_server.errors import (
    ContextOverflow,
    ModelError,
    ModelFailed,
    ModelLoading,
    ModelNotFound,
    ModelUnreachable,
)
from llamagent_server.settings import Settings

TOO_LONG_TO_KEEP = "(Your last step was too long to be kept. Take smaller steps. What came of it:)"
_SAID = 5  # results of such a step that are told
_SAID_CHARS = 200

Spend = Callable[[Usage, int, int], None]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction did; `summary` is empty where none could be had. Counts in tokens, estimated."""

    summary: str
    tokens_before: int
    tokens_after: int


async def compact(
    session: Session,
    settings: Settings,
    *,
    spend: Spend,
    force: bool = False,
    prune: bool = True,
    retries: Retries | None = None,
) -> Compaction:
    """Rewrite the conversation so that it takes much less room. With `force` a summary is made even where eliding old
    tool results would do; with `retries` a model that fails for now is waited for. Raises ContextOverflow when the task
    alone is too long; ModelError, with nothing rewritten, when the model is not there, or not yet, and without `prune`
    whenever no summary could be had."""
    window = Window(settings.num_ctx)
    specs = session.ports.specs
    before = session.meter.estimate(session.messages, specs)
    fresh = replace(session.meter, known_messages=0)
    slim = elide(session.messages)
    if not force and fresh.estimate(slim, specs) <= settings.num_ctx * ELIDE_TO:
        session.rewrite(slim)
        return Compaction("", before, fresh.estimate(slim, specs))
    summary = await _summary(session, settings, spend, retries)
    if isinstance(summary, ModelError):
        if not prune or isinstance(summary, ModelUnreachable | ModelNotFound | ModelLoading):
            raise summary
        summary = ""
    messages = _fitted(rebuilt(session.messages, summary or None), fresh, window, session)
    session.rewrite(messages)
    return Compaction(summary, before, fresh.estimate(messages, specs))


def require_room(session: Session, settings: Settings, text: str) -> None:
    """Raises ContextOverflow where `text` would not fit whatever else is left out: it never becomes a part of the
    conversation then, and nothing is lost to make room for it."""
    window = Window(settings.num_ctx)
    alone = (SystemMessage(session.ports.system_prompt()), UserMessage(text))
    if replace(session.meter, known_messages=0).estimate(alone, session.ports.specs) > window.compact_at:
        raise _too_long(window)


def _too_long(window: Window) -> ContextOverflow:
    return ContextOverflow(
        f"Your message is too long for a context window of {window.num_ctx} tokens.",
        hint="Send less of it, let the model read the file in parts, or raise num_ctx.",
    )


async def _summary(session: Session, settings: Settings, spend: Spend, retries: Retries | None) -> str | ModelError:
    window = Window(settings.num_ctx)
    instruction = UserMessage(INSTRUCTION, task=False)
    messages: tuple[Message, ...] = (*session.messages, instruction)
    if session.meter.estimate(messages, session.ports.specs) > window.prompt_limit:
        messages = (*elide(session.messages, keep=0), instruction)
    request = chat_request(session, settings, messages)
    while not isinstance(outcome := await stream(session.ports.model(), request, lambda _: None), Reply):
        error = outcome.error
        if retries is None or not isinstance(error, ModelFailed) or (wait := retries.wait(error)) is None:
            return error
        await pause(session, error, wait)
    spend(outcome.usage, session.meter.count(messages), session.meter.text(outcome.content))
    step = read_reply(session, settings, outcome)
    replaced = sum(map(message_bytes, session.messages[1:]))
    summary = None if step.problem else summary_of(step.reply, replaced)
    return summary or ModelFailed("The model gave no usable summary.", hint="Try again, or choose another model.")


def _fitted(messages: tuple[Message, ...], meter: Meter, window: Window, session: Session) -> tuple[Message, ...]:
    """`messages` with the newest results cut as far as needed."""
    excess = meter.at_most(messages, session.ports.specs) - window.compact_at
    if excess <= 0:
        return messages
    results = [message for message in messages if isinstance(message, ToolMessage)]
    room = sum(meter.text(message.content) for message in results) - round(excess / (1 + UNCERTAIN)) - 1
    if room < 100 * len(results) or not results:
        return _without_newest(messages, meter, window, session)
    each = room // len(results)
    return tuple(
        _cut(message, meter.chars(message.content, each)) if isinstance(message, ToolMessage) else message
        for message in messages
    )


def _without_newest(
    messages: tuple[Message, ...], meter: Meter, window: Window, session: Session
) -> tuple[Message, ...]:
    """`messages` up to the task, where the newest call itself fills the window: what came of it is said in words."""
    at = next(index for index, message in enumerate(messages) if isinstance(message, UserMessage))
    said = [f"{m.name}: {m.content[:_SAID_CHARS]}" for m in messages[at + 1 :] if isinstance(m, ToolMessage)]
    task = messages[at]
    note = "\n".join([TOO_LONG_TO_KEEP, *said[-_SAID:]])
    short = (*messages[:at], replace(task, content=f"{strip_notes(task.content)}\n\n{PRUNED}\n{note}"))
    if meter.estimate(short, session.ports.specs) > window.compact_at:
        raise _too_long(window)
    return short


def _cut(message: ToolMessage, chars: int) -> ToolMessage:
    if len(message.content) <= chars:
        return message
    return replace(message, content=message.content[:chars] + "\n[cut to save room; call again for the rest]")
