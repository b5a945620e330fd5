"""The loop: ask the model, settle its calls, until it answers, a limit is reached or the person stops it."""

import asyncio
from time import monotonic

from llamagent_server.agent.asking import ask_model, emit_gauge, make_room
from llamagent_server.agent.ports import ToolResult
from llamagent_server.agent.request import Step, choose_road
from llamagent_server.agent.results import TurnResult
from llamagent_server.agent.room import require_room
from llamagent_server.agent.session import Session
from llamagent_server.agent.toolcalls import finish, settle
from llamagent_server.agent.turn import TurnState
from llamagent_server.core.events import (
    Decision,
    HarnessDecided,
    Level,
    Notice,
    StopReason,
    TurnEnded,
    TurnStarted,
)
from llamagent_server.core.messages import AssistantMessage, Finish, UserMessage
from llamagent_server.errors import LlamagentError, ModelFailed

EMPTY = "Your reply was empty. Call a tool, or answer in words."
CUT = "Your reply was cut because it was too long. Do it in smaller steps: one short tool call or a short answer."
MAX_NUDGES = 2


async def run_turn(session: Session, turn: TurnState, text: str, shown: str, files: tuple[str, ...]) -> TurnResult:
    """Run one turn on `text` (what the model gets; `shown` is what the person typed) to its end.

    Whatever happens, the conversation is well-formed afterwards and the last event of the turn is `turn.ended`.
    Raises LlamagentError when the turn failed; cancelled, it ends with `stop_reason` CANCELLED.
    """
    session.trace.turn, session.trace.step = turn.id, 0
    session.trace.emit(TurnStarted(shown, turn.settings.model, files))
    reason, answer, error = StopReason.ERROR, "", "an internal error; the log has more"
    try:
        await session.ports.prepare(lambda words: session.trace.emit(Notice(Level.WARNING, words)))
        turn.settings = session.ports.settings()
        require_room(session, turn.settings, text)
        session.add(UserMessage(text))
        await choose_road(session, turn.settings)
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
    nudges = 0
    while True:
        _join_steering(session, turn)
        await make_room(session, turn)
        turn.steps += 1
        session.trace.step = turn.steps
        step = await ask_model(session, turn)
        if (nudge := _nudge(step)) is not None:
            nudges += 1
            if nudges > MAX_NUDGES:
                raise ModelFailed(
                    "The model gave no usable reply three times in a row.",
                    hint="Say it in other words, or try another model.",
                    detail=nudge,
                )
            _keep_nudge(session, step, nudge)
        else:
            nudges = 0
            session.add(AssistantMessage(step.reply.content, step.reply.tool_calls, step.reply.thinking))
            for call in step.reply.tool_calls:
                await settle(session, turn, call)
            emit_gauge(session, turn.settings)
            if not step.reply.tool_calls and not turn.steering:
                return StopReason.ANSWERED, step.reply.content
        if (stop := _limit(turn)) is not None:
            return stop


def _nudge(step: Step) -> str | None:
    """What to tell the model when nothing can be made of its reply."""
    if step.problem is not None:
        return step.problem
    if step.reply.finish is Finish.LENGTH:
        return CUT
    if not step.reply.content.strip() and not step.reply.tool_calls:
        return EMPTY
    return None


def _keep_nudge(session: Session, step: Step, nudge: str) -> None:
    session.trace.emit(HarnessDecided(Decision.NUDGE, nudge))
    if step.reply.content.strip():
        session.add(AssistantMessage(step.reply.content, (), step.reply.thinking))
    session.add(UserMessage(nudge, task=False))


def _limit(turn: TurnState) -> tuple[StopReason, str] | None:
    limit = turn.settings.max_steps
    if turn.stop is not None:
        return (StopReason.REFUSED if turn.stop.refused else StopReason.STEP_LIMIT), turn.stop.words
    if turn.steps >= limit:
        return StopReason.STEP_LIMIT, f"Stopped after {limit} steps (max_steps). {_done(turn)} Ask again to go on."
    if turn.tokens >= turn.settings.max_tokens_per_turn:
        words = f"Stopped after {turn.tokens} tokens (max_tokens_per_turn). {_done(turn)} Ask again to go on."
        return StopReason.BUDGET, words
    return None


def _done(turn: TurnState) -> str:
    return f"Done so far: {turn.edits_made} of {turn.edits_tried} edits accepted, {turn.commands_run} commands run."


def _join_steering(session: Session, turn: TurnState) -> None:
    if turn.steering:
        words = "\n\n".join(turn.steering)
        turn.steering.clear()
        session.add(UserMessage(words))


def _close(session: Session, words: str) -> None:
    """Leave the conversation so that the next ask can follow: every call has a result, and the model spoke last."""
    for call in session.transcript.pending:
        finish(session, call, ToolResult(False, f"{words} This call was not finished."))
    if session.messages and not isinstance(session.messages[-1], AssistantMessage):
        session.add(AssistantMessage(words))


def _end(session: Session, turn: TurnState, reason: StopReason, answer: str, error: str | None) -> TurnResult:
    if reason is StopReason.ANSWERED and turn.edits_tried and not turn.edits_made:
        tried = "1 edit was" if turn.edits_tried == 1 else f"{turn.edits_tried} edits were"
        session.trace.emit(Notice(Level.WARNING, f"Nothing was changed: {tried} tried, and none was applied."))
    if (problem := session.journal.problem) is not None:
        session.trace.emit(Notice(Level.WARNING, problem))
    seconds = round(monotonic() - turn.begun, 3)
    session.trace.emit(TurnEnded(reason, answer, turn.steps, turn.usage, seconds, error))
    session.journal.sync()
    return TurnResult(answer, session.id, turn.id, reason, turn.steps, turn.usage)
