"""The loop: ask the model, settle its calls, until it answers, a limit is reached or the person stops it."""

import asyncio
from time import monotonic

from llamagent_server.agent.asking import ask_model, emit_gauge, make_room
from llamagent_server.agent.nudges import Nudge, joined, nudge_for
from llamagent_server.agent.ports import ToolResult
from llamagent_server.agent.request import Step
from llamagent_server.agent.results import TurnResult
from llamagent_server.agent.road import Road
from llamagent_server.agent.roads import choose_road, fitted, learn_schema_road, road
from llamagent_server.agent.room import require_room
from llamagent_server.agent.session import Session
from llamagent_server.agent.stalling import Stall, stall_in
from llamagent_server.agent.stopping import stop_turn
from llamagent_server.agent.toolcalls import finish, settle_all
from llamagent_server.agent.turn import Ask, TurnState, together
from llamagent_server.core.events import (
    Decision,
    HarnessDecided,
    Level,
    Notice,
    StopReason,
    TurnEnded,
    TurnStarted,
    TurnSteered,
)
from llamagent_server.core.messages import AssistantMessage, UserMessage
from llamagent_server.errors import LlamagentError, ModelFailed

MAX_NUDGES = 2
MAX_STALLS = 1


async def run_turn(session: Session, turn: TurnState, ask: Ask) -> TurnResult:
    """Run one turn on `ask` to its end.

    Whatever happens, the conversation is well-formed afterwards and the last event of the turn is `turn.ended`.
    Raises LlamagentError when the turn failed; cancelled, it ends with `stop_reason` CANCELLED.
    """
    session.trace.turn, session.trace.step = turn.id, 0
    session.begin(turn.id, turn.mode.value, (ask.text, ask.shown, ask.files))
    session.trace.emit(TurnStarted(ask.shown, turn.settings.model, ask.files))
    _trace_notices(session, ask)
    for said in turn.steering:
        trace_steering(session, said)
    reason, answer, error = StopReason.ERROR, "", "an internal error; the log has more"
    try:
        await session.ports.prepare(lambda words: session.trace.emit(Notice(Level.WARNING, words)))
        settings = session.ports.settings()
        await choose_road(session, settings)
        turn.settings = fitted(session.ports, settings)
        require_room(session, turn.settings, ask.text)
        session.add(UserMessage(ask.text))
        reason, answer = await _steps(session, turn)
        error = ""
        _close(session, f"[{answer}]")
    except asyncio.CancelledError:
        reason, error = StopReason.CANCELLED, ""
        _close(session, "[stopped by the user]")
    except LlamagentError as failure:
        error = str(failure)
        _close(session, f"[no reply: {failure.message}]")
        raise
    finally:
        _close(session, "[no reply: an internal error]")
        result = _end(session, turn, reason, answer, error or None)
    return result


async def _steps(session: Session, turn: TurnState) -> tuple[StopReason, str]:
    nudges, said = 0, ""
    while True:
        _join_steering(session, turn)
        await make_room(session, turn)
        turn.steps += 1
        session.trace.step = turn.steps
        step = await ask_model(session, turn)
        if (nudge := nudge_for(step)) is not None:
            nudges += 1
            said = joined(said, step.reply.content) if nudge.goes_on else said
            if nudges > MAX_NUDGES:
                return _enough(session, step, nudge, said)
            _keep_nudge(session, step, nudge.text)
            if nudge.lost and nudges == MAX_NUDGES and road(session, turn.settings) is Road.NATIVE:
                why = f"{turn.settings.model} wrote nothing usable twice in a row"
                await learn_schema_road(session, turn.settings, why)
        elif not turn.steering and (stall := stall_in(session, step.reply)) is not None:
            _stalled(session, turn, step, stall)
        else:
            session.add(AssistantMessage(step.reply.content, step.reply.tool_calls, step.reply.thinking))
            await settle_all(session, turn, step.reply.tool_calls)
            emit_gauge(session, turn.settings)
            if not step.reply.tool_calls and not turn.steering:
                return StopReason.ANSWERED, joined(said, step.reply.content)
            nudges, said = 0, ""
        if (stop := _limit(turn)) is not None:
            return stop


def _enough(session: Session, step: Step, nudge: Nudge, said: str) -> tuple[StopReason, str]:
    """After too many nudges: the parts of an answer are an answer. Raises ModelFailed where there is none."""
    if nudge.goes_on:
        session.add(AssistantMessage(step.reply.content, (), step.reply.thinking))
        session.trace.emit(Notice(Level.WARNING, "The answer is longer than the model can give; its end is missing."))
        return StopReason.ANSWERED, said
    raise ModelFailed("The model gave no usable reply three times in a row.", hint=nudge.hint, detail=nudge.text)


def _stalled(session: Session, turn: TurnState, step: Step, stall: Stall) -> None:
    """The model talks instead of working: told once in a turn, then stopped."""
    turn.stalls += 1
    if turn.stalls > MAX_STALLS:
        session.add(AssistantMessage(step.reply.content, (), step.reply.thinking))
        stop_turn(session, turn, stall.words)
    else:
        _keep_nudge(session, step, stall.nudge)


def _keep_nudge(session: Session, step: Step, nudge: str) -> None:
    session.trace.emit(HarnessDecided(Decision.NUDGE, nudge))
    if step.reply.content.strip():
        session.add(AssistantMessage(step.reply.content, (), step.reply.thinking))
    session.add(UserMessage(nudge, task=False))


def _limit(turn: TurnState) -> tuple[StopReason, str] | None:
    limit = turn.settings.max_steps
    if turn.stop is not None:
        if turn.stop.refused:
            return StopReason.REFUSED, turn.stop.words
        return StopReason.STEP_LIMIT, f"{turn.stop.words} {_done(turn)}"
    if turn.steps >= limit:
        return StopReason.STEP_LIMIT, f"Stopped after {limit} steps (max_steps). {_done(turn)} Ask again to go on."
    if turn.tokens >= turn.settings.max_tokens_per_turn:
        words = f"Stopped after {turn.tokens} tokens (max_tokens_per_turn). {_done(turn)} Ask again to go on."
        return StopReason.BUDGET, words
    return None


def _done(turn: TurnState) -> str:
    return f"Done so far: {turn.edits_made} of {turn.edits_tried} edits accepted, {turn.commands_run} commands run."


def trace_steering(session: Session, said: Ask) -> None:
    """What was said to the running turn is seen at once, long before the model gets it."""
    session.trace.emit(TurnSteered(said.shown, said.files))
    _trace_notices(session, said)


def _trace_notices(session: Session, ask: Ask) -> None:
    for words in ask.notices:
        session.trace.emit(Notice(Level.WARNING, words))


def _join_steering(session: Session, turn: TurnState) -> None:
    if turn.steering:
        said = together(turn.steering, turn.mode)
        turn.steering.clear()
        session.add(UserMessage(said.text))


def _close(session: Session, words: str) -> None:
    """Leave the conversation so that the next ask can follow: every call has a result, and the model spoke last."""
    for call in session.transcript.pending:
        finish(session, call, ToolResult(False, f"{words} This call was not finished."))
    if session.messages and not isinstance(session.messages[-1], AssistantMessage):
        session.add(AssistantMessage(words))


def _end(session: Session, turn: TurnState, reason: StopReason, answer: str, error: str | None) -> TurnResult:
    if reason is StopReason.ANSWERED and turn.edits_tried and not turn.edits_made:
        one = "Nothing was changed: 1 edit was tried, and none was applied."
        several = f"Nothing was changed: {turn.edits_tried} edits were tried, and none was applied."
        session.trace.emit(Notice(Level.WARNING, one if turn.edits_tried == 1 else several))
    if (problem := session.journal.problem) is not None:
        session.trace.emit(Notice(Level.WARNING, problem))
    seconds = round(monotonic() - turn.begun, 3)
    session.trace.emit(TurnEnded(reason, answer, turn.steps, turn.usage, seconds, error))
    session.journal.sync()
    return TurnResult(answer, session.id, turn.id, reason, turn.steps, turn.usage)
