"""Tool calls from the model's words to their one result each: look up, validate, decide, run, settle."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from time import monotonic

from llamagent_server.agent.arguments import BadArguments, check
from llamagent_server.agent.context import Window, result_chars
from llamagent_server.agent.ports import ConsentDecision, Tool, ToolContext, ToolKind, ToolResult
from llamagent_server.agent.repeats import FAILED_EDITS, SAME_OUTPUTS
from llamagent_server.agent.review import Edit, review
from llamagent_server.agent.session import Session
from llamagent_server.agent.stopping import stop_turn, stopped
from llamagent_server.agent.turn import Stop, TurnState
from llamagent_server.core.events import CallForm, Decision, HarnessDecided, Level, Notice, ToolReturned, ToolStarted
from llamagent_server.core.messages import Origin, ToolCall, ToolMessage
from llamagent_server.core.policy import EDITS, READ_MODE, READS, REFUSED_BEFORE, Mode, Verdict, may_run
from llamagent_server.core.proposals import FileChange, Proposal, together

MAX_CALLS = 64  # of one reply
TOO_MANY = f"Not run: only the first {MAX_CALLS} calls of a reply are made. Ask again for what is still needed."
RECOVERED = "recovered from a call that was written as text"
AGAIN = "You made this same call just before; nothing has changed since, so this is the same result. Do something else."
AGAIN_EARLIER = (
    "You made this same call before; nothing has changed since, so this is the same result. What is still missing? "
    "Look elsewhere, or say it in your answer."
)
FAILED_AGAIN = (
    "This was edit {times} of {path} in a row that failed. Read the lines with read_file now and copy old_text from "
    "its result, shorter than before; or give the whole file to write_file."
)
ELSEWHERE = "Not run: another folder was opened meanwhile. Run it again if it is still wanted there."
SAME_OUTPUT = "(The same output as before, {times} times now. Change something before you run it again.)"


async def settle_all(session: Session, turn: TurnState, calls: Sequence[ToolCall]) -> None:
    """Answer the calls of one reply; those beyond MAX_CALLS are told that they were too many."""
    for batch in _batches(session, calls[:MAX_CALLS]):
        await settle(session, turn, batch)
    if beyond := calls[MAX_CALLS:]:
        words = f"the model asked for {len(calls)} calls at once; only the first {MAX_CALLS} are made"
        session.trace.emit(HarnessDecided(Decision.REFUSE, words))
        for call in beyond:
            finish(session, call, ToolResult(False, TOO_MANY))


def _batches(session: Session, calls: Sequence[ToolCall]) -> Iterator[tuple[ToolCall, ...]]:
    """`calls` as they are settled: edits in a row go to the person together, all others are done one by one."""
    edits = {tool.spec.name for tool in session.ports.tools if tool.kind is ToolKind.EDIT}
    for is_edit, group in groupby(calls, lambda call: call.name in edits):
        if is_edit:
            yield tuple(group)
        else:
            yield from ((call,) for call in group)


async def settle(session: Session, turn: TurnState, calls: Sequence[ToolCall]) -> None:
    """Answer a batch of `calls`, each with exactly one result, in their order, in the transcript and in the trace."""
    outcomes: list[tuple[ToolCall, ToolResult | Proposal, float]] = []
    for call in calls:
        begun = monotonic()
        pending = together(c for _, outcome, _ in outcomes if isinstance(outcome, Proposal) for c in outcome.changes)
        outcomes.append((call, await _outcome(session, turn, call, pending), begun))
    edits = [Edit(call, outcome) for call, outcome, _ in outcomes if isinstance(outcome, Proposal)]
    reviewed = iter(await review(session, turn, edits) if edits else ())
    for call, outcome, begun in outcomes:
        result = next(reviewed) if isinstance(outcome, Proposal) else outcome
        turn.repeats.keep(call, result)
        finish(session, call, result, seconds=monotonic() - begun)


def finish(session: Session, call: ToolCall, result: ToolResult, *, seconds: float = 0.0) -> None:
    """Write down the result of `call`."""
    session.add(ToolMessage(call.id, call.name, result.content))
    session.trace.emit(ToolReturned(call.id, call.name, result.ok, result.content, result.truncated, round(seconds, 3)))


async def _outcome(
    session: Session, turn: TurnState, call: ToolCall, pending: tuple[FileChange, ...]
) -> ToolResult | Proposal:
    if turn.stop is not None:
        _decide(session, call, Decision.STOP, "the turn was stopped before this call")
        return ToolResult(False, "Not run: the turn was stopped before this call.")
    tools = {tool.spec.name: tool for tool in session.ports.tools}
    tool = tools.get(call.name)
    # A command may say something else each time.
    repeats = tool is None or tool.kind is not ToolKind.COMMAND
    if repeats and (repeated := _repeated(session, turn, call)) is not None:
        return repeated
    if tool is None:
        return _refused(session, call, f"There is no tool {call.name!r}. The tools are: {', '.join(tools)}.")
    if call.problem is not None:
        return _refused(session, call, f"The arguments could not be read: {call.problem}")
    checked = check(tool.spec, call.arguments)
    if isinstance(checked, BadArguments):
        return _refused(session, call, checked.message)
    call = replace(call, arguments=checked.arguments)
    folder = session.ports.workspace.command_folder
    verdict = await _decided(session, turn, call, tool.kind, checked.repairs)
    if verdict.decision is Decision.REFUSE:
        return ToolResult(False, f"Refused: {verdict.reason}")
    if tool.kind is ToolKind.COMMAND:
        return await _command(session, turn, call, tool, folder, asks=verdict.decision is Decision.ASK)
    if tool.kind is ToolKind.EDIT:
        return await _edit(session, turn, call, tool, pending)
    return await _run(session, turn, call, tool)


def _repeated(session: Session, turn: TurnState, call: ToolCall) -> ToolResult | None:
    again = turn.repeats.again(call, (session.ports.workspace.generation, turn.changes, session.rewrites))
    if again is None:
        return None
    note = AGAIN if again.in_a_row > 1 else AGAIN_EARLIER
    if again.enough:
        words = f"{again.words}, with nothing changed between"
        _decide(session, call, Decision.STOP, words)
        turn.stop = stopped(words)
        return ToolResult(False, f"Not run again. {note}")
    before = "just before" if again.in_a_row > 1 else "before"
    _decide(session, call, Decision.NUDGE, f"the same call as {before}, with nothing changed between")
    return replace(again.result, content=f"{again.result.content}\n\n{note}")


async def _decided(
    session: Session, turn: TurnState, call: ToolCall, kind: ToolKind, repairs: Sequence[str]
) -> Verdict:
    verdict = _verdict(session, turn, call, kind)
    if kind is ToolKind.COMMAND and verdict.decision is not Decision.REFUSE:
        verdict = await _placed(session, verdict)
    path = call.arguments.get("path")
    if kind is not ToolKind.COMMAND and verdict.decision is not Decision.REFUSE and isinstance(path, str) and path:
        unseen = await session.ports.unseen(path)
        verdict = Verdict(Decision.REFUSE, unseen) if unseen else verdict
    notes = "; ".join(repairs)
    decision = Decision.REPAIR if notes and verdict.decision is Decision.ALLOW else verdict.decision
    reason = f"{verdict.reason} ({notes})" if notes else verdict.reason
    _decide(session, call, decision, reason, CallForm.REPAIRED if notes else None)
    if verdict is REFUSED_BEFORE and turn.repeats.asked_again(_command_of(call)) > 1:
        stop_turn(session, turn, "the model asked again and again for a command that you refused")
    return verdict


async def _edit(
    session: Session, turn: TurnState, call: ToolCall, tool: Tool, pending: tuple[FileChange, ...]
) -> ToolResult | Proposal:
    turn.edits_tried += 1
    outcome = await _run(session, turn, call, tool, pending=pending)
    if isinstance(outcome, Proposal):
        return outcome
    return _failed_edit(session, turn, call, outcome)


def _failed_edit(session: Session, turn: TurnState, call: ToolCall, result: ToolResult) -> ToolResult:
    """The result of an edit that could not be made; the same edit with small variations ends somewhere."""
    path = str(call.arguments.get("path"))
    times = turn.repeats.edit_failed(path)
    if times == 1:
        return result
    if times >= FAILED_EDITS:
        stop_turn(session, turn, f"the model tried {times} times in a row to edit {path}, and found no place for it")
    return replace(result, content=f"{result.content}\n\n{FAILED_AGAIN.format(times=times, path=path)}")


def _verdict(session: Session, turn: TurnState, call: ToolCall, kind: ToolKind) -> Verdict:
    if kind is ToolKind.READ:
        return READS
    if turn.mode is Mode.READ:
        return READ_MODE
    if kind is ToolKind.EDIT:
        return EDITS
    command = _command_of(call)
    # What cannot run is not asked for either.
    if (why := session.ports.workspace.no_commands) is not None:
        return Verdict(Decision.REFUSE, why)
    if not command.strip():
        return Verdict(Decision.REFUSE, "the command is empty")
    if turn.repeats.was_refused(command):
        return REFUSED_BEFORE
    if command in session.starved:
        return Verdict(Decision.ASK, "it had no network before, and only you can give it one")
    if (session.ports.workspace.command_folder, command) in session.allowed:
        return Verdict(Decision.ALLOW, "you allowed this command for the session")
    if may_run(command, turn.settings.allowed_commands):
        return Verdict(Decision.ALLOW, "it is one of your allowed commands")
    return Verdict(Decision.ASK, "a command needs your yes")


async def _placed(session: Session, verdict: Verdict) -> Verdict:
    """`verdict`, or the refusal of any command where none may run now."""
    place = await session.ports.command_place()
    if place.notice:
        session.trace.emit(Notice(Level.WARNING, place.notice))
    return Verdict(Decision.REFUSE, place.refusal) if place.refusal else verdict


def _command_of(call: ToolCall) -> str:
    return str(call.arguments.get("command", ""))


async def _command(
    session: Session, turn: TurnState, call: ToolCall, tool: Tool, folder: object, *, asks: bool
) -> ToolResult:
    """`folder`: where it was to run when that was decided; in another one it does not."""
    command = _command_of(call)
    network = False
    if asks:
        consent = await session.ports.editor.consent(call.id, command)
        if consent.decision is ConsentDecision.REFUSE:
            turn.repeats.refused(command)
            if consent.stop:
                turn.stop = Stop("You refused the command and stopped the turn.", refused=True)
            words = f' Their words: "{consent.reason}".' if consent.reason else ""
            return ToolResult(False, f"The user refused to run this command.{words} It did not run.")
        if consent.decision is ConsentDecision.ALWAYS:
            session.allowed.add((folder, command))
        network = consent.decision is ConsentDecision.RUN_WITH_NETWORK
    report = await session.ports.editor.save_edited()
    if session.ports.workspace.command_folder != folder:
        return ToolResult(False, ELSEWHERE)
    turn.changes += 1
    turn.commands_run += 1
    result = await _run(session, turn, call, tool, network=network)
    if isinstance(result, Proposal):
        raise TypeError(f"{call.name} is a command and gave a proposal")
    (session.starved.add if result.wants_network else session.starved.discard)(command)
    if report.unsaved:
        names = ", ".join(report.unsaved)
        result = replace(result, content=f"{result.content}\n(Not saved on disk yet, so not seen by it: {names})")
    return _same_output(session, turn, command, result)


def _same_output(session: Session, turn: TurnState, command: str, result: ToolResult) -> ToolResult:
    times = turn.repeats.ran(command, result.content, turn.edits_made)
    if times >= SAME_OUTPUTS:
        stop_turn(session, turn, f"the model ran `{command}` {times} times in a row, and it said the same each time")
    if times == 1:
        return result
    return replace(result, content=f"{result.content}\n{SAME_OUTPUT.format(times=times)}")


async def _run(
    session: Session,
    turn: TurnState,
    call: ToolCall,
    tool: Tool,
    *,
    network: bool = False,
    pending: tuple[FileChange, ...] = (),
) -> ToolResult | Proposal:
    session.trace.emit(ToolStarted(call.id, call.name))
    window = Window(turn.settings.num_ctx)
    left = window.prompt_limit - session.meter.estimate(session.messages, session.ports.specs)
    room = result_chars(left, turn.settings.num_ctx)
    return await tool.run(call.arguments, ToolContext(call.id, room, network, pending, session.meter.chars))


def _refused(session: Session, call: ToolCall, words: str) -> ToolResult:
    _decide(session, call, Decision.REFUSE, words, CallForm.MALFORMED)
    return ToolResult(False, words)


def _decide(session: Session, call: ToolCall, decision: Decision, reason: str, form: CallForm | None = None) -> None:
    if form is None and (call.respelled or call.origin is Origin.TEXT):
        form = CallForm.REPAIRED
    if call.origin is Origin.TEXT:
        decision = Decision.REPAIR if decision is Decision.ALLOW else decision
        reason = f"{reason} ({RECOVERED})"
    session.trace.emit(HarnessDecided(decision, reason, call.id, form))
