"""One step's reply of the model, with room made before it, a few visible retries, and its place in the trace."""

from llamagent_server.agent.context import Window, gauge
from llamagent_server.agent.patience import Retries, pause, waiting_told
from llamagent_server.agent.ports import Delta, Failure
from llamagent_server.agent.request import Step, chat_request, read_reply, stream, watcher
from llamagent_server.agent.road import Road
from llamagent_server.agent.roads import learn_schema_road, road
from llamagent_server.agent.room import compact
from llamagent_server.agent.session import Session
from llamagent_server.agent.turn import TurnState
from llamagent_server.core.events import Decision, HarnessDecided, ModelReplied, ModelRequested
from llamagent_server.errors import ContextOverflow, ModelFailed, ModelLacksTools, UnreadableCall
from llamagent_server.settings import Settings


async def ask_model(session: Session, turn: TurnState) -> Step:
    """The model's next reply. Raises ModelError when there is none to be had."""
    attempt = 0
    compacted = unreadable = False
    retries = Retries(turn.settings.request_timeout)
    while True:
        attempt += 1
        outcome = await _request(session, turn, attempt)
        if isinstance(outcome, Step):
            return outcome
        match outcome.error:
            case ContextOverflow() if not compacted:
                compacted = True
                await _compact(session, turn, "the server says that the conversation does not fit", force=True)
            case ModelLacksTools() if road(session, turn.settings) is Road.NATIVE:
                await learn_schema_road(session, turn.settings, outcome.error.message)
            case UnreadableCall() if unreadable and road(session, turn.settings) is Road.NATIVE:
                await learn_schema_road(session, turn.settings, outcome.error.message)
            case ModelFailed() as error if (wait := retries.wait(error)) is not None:
                unreadable = isinstance(error, UnreadableCall)
                await pause(session, error, wait)
            case error:
                raise error


async def make_room(session: Session, turn: TurnState) -> None:
    """Compact before a request that would fill the window. Raises ContextOverflow when nothing is left to leave out."""
    window = Window(turn.settings.num_ctx)
    tokens = session.meter.estimate(session.messages, session.ports.specs)
    if session.meter.at_most(session.messages, session.ports.specs) > window.compact_at:
        await _compact(session, turn, f"about {tokens} of {window.num_ctx} tokens are used")


def emit_gauge(session: Session, settings: Settings) -> None:
    session.trace.emit(gauge(session.meter, Window(settings.num_ctx), session.messages, session.ports.specs))


async def _compact(session: Session, turn: TurnState, why: str, *, force: bool = False) -> None:
    session.trace.emit(HarnessDecided(Decision.COMPACT, why))
    async with waiting_told(session):
        retries = Retries(turn.settings.request_timeout)
        await compact(session, turn.settings, spend=turn.spend, force=force, retries=retries)


async def _request(session: Session, turn: TurnState, attempt: int) -> Step | Failure:
    settings, trace, specs = turn.settings, session.trace, session.ports.specs
    sent = session.messages
    estimate = session.meter.estimate(sent, specs)
    request_id = session.ports.new_id("request")
    trace.emit(ModelRequested(request_id, settings.model, estimate, attempt))
    watch = watcher(session, settings)
    async with waiting_told(session) as heard:

        def on_delta(delta: Delta) -> None:
            heard()
            watch(delta)

        outcome = await stream(session.ports.model(), chat_request(session, settings, sent), on_delta)
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
