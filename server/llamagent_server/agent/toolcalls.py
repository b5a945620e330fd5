"""One tool call from the model's words to its one result: look up, validate, decide, run, settle."""

from dataclasses import replace
from time import monotonic

from llamagent_server.agent.arguments import BadArguments, Checked, check
from llamagent_server.agent.context import Window, result_chars
from llamagent_server.agent.ports import ConsentDecision, Tool, ToolContext, ToolKind, ToolResult
from llamagent_server.agent.review import review
from llamagent_server.agent.session import Session
from llamagent_server.agent.turn import Stop, TurnState
from llamagent_server.core.events import Decision, HarnessDecided, ToolReturned, ToolStarted
from llamagent_server.core.messages import Origin, ToolCall, ToolMessage
from llamagent_server.core.policy import EDITS, READ_MODE, READS, Mode, Verdict, may_run
from llamagent_server.core.proposals import Proposal

RECOVERED = "recovered from a call that was written as text"
AGAIN = "You made this same call just before; nothing has changed since, so this is the same result. Do something else."


async def settle(session: Session, turn: TurnState, call: ToolCall) -> None:
    """Answer `call` with exactly one result, in the transcript and in the trace."""
    begun = monotonic()
    result = await _result(session, turn, call)
    finish(session, call, result, seconds=monotonic() - begun)


def finish(session: Session, call: ToolCall, result: ToolResult, *, seconds: float = 0.0) -> None:
    """Write down the result of `call`."""
    session.add(ToolMessage(call.id, call.name, result.content))
    session.trace.emit(ToolReturned(call.id, call.name, result.ok, result.content, result.truncated, round(seconds, 3)))


async def _result(session: Session, turn: TurnState, call: ToolCall) -> ToolResult:
    if turn.stop is not None:
        _decide(session, call, Decision.STOP, "the turn was stopped before this call")
        return ToolResult(False, "Not run: the turn was stopped before this call.")
    tools = {tool.spec.name: tool for tool in session.ports.tools}
    tool = tools.get(call.name)
    if tool is None:
        return _refused(session, call, f"There is no tool {call.name!r}. The tools are: {', '.join(tools)}.")
    if call.problem is not None:
        return _refused(session, call, f"The arguments could not be read: {call.problem}")
    checked = check(tool.spec, call.arguments)
    if isinstance(checked, BadArguments):
        return _refused(session, call, checked.message)
    if tool.kind is not ToolKind.COMMAND and (repeated := _repeated(session, turn, call)) is not None:
        return repeated
    result = await _decided(session, turn, replace(call, arguments=checked.arguments), tool, checked)
    turn.repeats.result = result
    return result


def _repeated(session: Session, turn: TurnState, call: ToolCall) -> ToolResult | None:
    stamp = (session.ports.workspace.generation, turn.changes)
    times = turn.repeats.count(call, stamp)
    earlier = turn.repeats.result
    if times == 1 or earlier is None:
        return None
    if times == 2:
        _decide(session, call, Decision.NUDGE, "the same call as just before, with nothing changed between")
        return replace(earlier, content=f"{earlier.content}\n\n{AGAIN}")
    words = f"the model made the same call ({call.name}) {times} times in a row, with nothing changed between"
    _decide(session, call, Decision.STOP, words)
    turn.stop = Stop(f"Stopped: {words}. Say what it should do instead, or give it what it is missing.")
    return ToolResult(False, f"Not run again. {AGAIN}")


async def _decided(session: Session, turn: TurnState, call: ToolCall, tool: Tool, checked: Checked) -> ToolResult:
    verdict = _verdict(session, turn, call, tool.kind)
    notes = "; ".join(checked.repairs)
    decision = Decision.REPAIR if notes and verdict.decision is Decision.ALLOW else verdict.decision
    _decide(session, call, decision, f"{verdict.reason} ({notes})" if notes else verdict.reason)
    if verdict.decision is Decision.REFUSE:
        return ToolResult(False, f"Refused: {verdict.reason}")
    if tool.kind is ToolKind.COMMAND:
        return await _command(session, turn, call, tool, asks=verdict.decision is Decision.ASK)
    if tool.kind is ToolKind.EDIT:
        turn.edits_tried += 1
    outcome = await _run(session, turn, call, tool)
    return await review(session, turn, call, outcome) if isinstance(outcome, Proposal) else outcome


def _verdict(session: Session, turn: TurnState, call: ToolCall, kind: ToolKind) -> Verdict:
    if kind is ToolKind.READ:
        return READS
    if turn.mode is Mode.READ:
        return READ_MODE
    if kind is ToolKind.EDIT:
        return EDITS
    command = str(call.arguments.get("command", ""))
    if command in session.allowed:
        return Verdict(Decision.ALLOW, "you allowed this command for the session")
    if may_run(command, turn.settings.allowed_commands):
        return Verdict(Decision.ALLOW, "it is one of your allowed commands")
    return Verdict(Decision.ASK, "a command needs your yes")


async def _command(session: Session, turn: TurnState, call: ToolCall, tool: Tool, *, asks: bool) -> ToolResult:
    command = str(call.arguments.get("command", ""))
    network = False
    if asks:
        consent = await session.ports.editor.consent(call.id, command)
        if consent.decision is ConsentDecision.REFUSE:
            if consent.stop:
                turn.stop = Stop("You refused the command and stopped the turn.", refused=True)
            words = f' Their words: "{consent.reason}".' if consent.reason else ""
            return ToolResult(False, f"The user refused to run this command.{words} It did not run.")
        if consent.decision is ConsentDecision.ALWAYS:
            session.allowed.add(command)
        network = consent.decision is ConsentDecision.RUN_WITH_NETWORK
    report = await session.ports.editor.save_edited()
    turn.changes += 1
    turn.commands_run += 1
    result = await _run(session, turn, call, tool, network=network)
    if isinstance(result, Proposal):
        raise TypeError(f"{call.name} is a command and gave a proposal")
    if report.unsaved:
        names = ", ".join(report.unsaved)
        result = replace(result, content=f"{result.content}\n(Not saved on disk yet, so not seen by it: {names})")
    return result


async def _run(
    session: Session, turn: TurnState, call: ToolCall, tool: Tool, *, network: bool = False
) -> ToolResult | Proposal:
    session.trace.emit(ToolStarted(call.id, call.name))
    window = Window(turn.settings.num_ctx)
    left = window.prompt_limit - session.meter.estimate(session.messages, session.ports.specs)
    room = result_chars(session.meter, left, turn.settings.num_ctx)
    return await tool.run(call.arguments, ToolContext(call.id, room, network=network))


def _refused(session: Session, call: ToolCall, words: str) -> ToolResult:
    _decide(session, call, Decision.REFUSE, words)
    return ToolResult(False, words)


def _decide(session: Session, call: ToolCall, decision: Decision, reason: str) -> None:
    if call.origin is Origin.TEXT:
        decision = Decision.REPAIR if decision is Decision.ALLOW else decision
        reason = f"{reason} ({RECOVERED})"
    session.trace.emit(HarnessDecided(decision, reason, call=call.id))
