"""One step's reply of the model, with room made before it, a few visible retries, and its place in the trace."""

import asyncio

from llamagent_server.agent.context import Window, gauge
from llamagent_server.agent.ports import Failure
from llamagent_server.agent.request import Step, chat_request, read_reply, road, stream, take_schema_road, watcher
from llamagent_server.agent.room import compact
from llamagent_server.agent.session import Road, Session
from llamagent_server.agent.turn import TurnState
from llamagent_server.core.events import Decision, HarnessDecided, Level, ModelReplied, ModelRequested, Notice
from llamagent_server.errors import ContextOverflow, ModelFailed, ModelLacksTools
from llamagent_server.settings import Settings

RETRY_SECONDS = (0.5, 2.0)


async def ask_model(session: Session, turn: TurnState) -> Step:
    """The model's next reply. Raises ModelError when there is none to be had."""
    attempt = retries = 0
    compacted = False
    while True:
        attempt += 1
        outcome = await _request(session, turn, attempt)
        if isinstance(outcome, Step):
            return outcome
        match outcome.error:
            case ContextOverflow() if not compacted:
                compacted = True
                _say_compacting(session, "the server says that the conversation does not fit")
                await compact(session, turn.settings, spend=turn.spend, force=True)
            case ModelLacksTools() if road(session, turn.settings) is Road.NATIVE:
                take_schema_road(session, turn.settings, outcome.error.message)
            case ModelFailed(retryable=True) if retries < len(RETRY_SECONDS):
                wait = RETRY_SECONDS[retries]
                retries += 1
                session.trace.emit(Notice(Level.WARNING, f"{outcome.error.message} Trying again in {wait} s."))
                await asyncio.sleep(wait)
            case error:
                raise error


async def make_room(session: Session, turn: TurnState) -> None:
    """Compact before a request that would fill the window. Raises ContextOverflow when nothing is left to leave out."""
    window = Window(turn.settings.num_ctx)
    tokens = session.meter.estimate(session.messages, session.ports.specs)
    if tokens > window.compact_at:
        _say_compacting(session, f"about {tokens} of {window.num_ctx} tokens are used")
        await compact(session, turn.settings, spend=turn.spend)


def emit_gauge(session: Session, settings: Settings) -> None:
    session.trace.emit(gauge(session.meter, Window(settings.num_ctx), session.messages, session.ports.specs))


def _say_compacting(session: Session, why: str) -> None:
    session.trace.emit(HarnessDecided(Decision.COMPACT, why))


async def _request(session: Session, turn: TurnState, attempt: int) -> Step | Failure:
    settings, trace, specs = turn.settings, session.trace, session.ports.specs
    sent = session.messages
    estimate = session.meter.estimate(sent, specs)
    request_id = session.ports.new_id("request")
    trace.emit(ModelRequested(request_id, settings.model, estimate, attempt))
    outcome = await stream(session.ports.model(), chat_request(session, settings, sent), watcher(session, settings))
    trace.flush()
    if isinstance(outcome, Failure):
        return outcome
    step = read_reply(session, settings, outcome)
    reply = step.reply
    turn.spend(reply.usage, estimate, session.meter.text(outcome.content + outcome.thinking))
    session.meter.observe(sent, specs, outcome)
    trace.emit(
        ModelReplied(
            request_id,
            settings.model,
            reply.content,
            reply.tool_calls,
            reply.usage,
            reply.latency,
            reply.finish.value,
            reply.thinking or None,
        )
    )
    return step
