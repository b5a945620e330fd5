"""A proposal on its way to the person and back: shown, answered, read back, and told to the model as it really is."""

from llamagent_server.agent.ports import ReviewAnswer, ToolResult
from llamagent_server.agent.session import Session
from llamagent_server.agent.turn import Stop, TurnState
from llamagent_server.core.diffs import counts, unified
from llamagent_server.core.events import ChangedFile, EditProposed, EditResolved
from llamagent_server.core.messages import ToolCall
from llamagent_server.core.proposals import FileChange, Outcome, Proposal, Resolution


async def review(session: Session, turn: TurnState, call: ToolCall, proposal: Proposal) -> ToolResult:
    """Let the person decide on `proposal`; the result says what is in the files afterwards."""
    review_id = session.ports.new_id("review")
    files = tuple(ChangedFile(c.uri, *counts(c.before, c.after)) for c in proposal.changes)
    diff = "".join(unified(c.path, c.before, c.after) for c in proposal.changes)
    session.trace.emit(EditProposed(call.id, review_id, files, diff))
    answer = await session.ports.editor.review(review_id, proposal)
    resolution = resolve(proposal, answer)
    session.trace.emit(
        EditResolved(call.id, review_id, resolution.outcome, reason=resolution.reason, diff=resolution.diff)
    )
    if resolution.outcome in (Outcome.ACCEPTED, Outcome.MODIFIED):
        turn.changes += 1
        turn.edits_made += 1
    if answer.stop:
        turn.stop = Stop("You refused the edit and stopped the turn.", refused=True)
    return _told(proposal, resolution)


def resolve(proposal: Proposal, answer: ReviewAnswer) -> Resolution:
    """What became of the proposal: judged by the texts that are there, never by the editor's word alone."""
    changed = tuple(base != now for base, now in zip(answer.base, answer.now, strict=True))
    if not any(changed):
        if answer.applied:
            return Resolution(Outcome.FAILED, answer.reason or "the editor said yes, but nothing changed")
        return Resolution(Outcome.REJECTED, answer.reason)
    if answer.applied and tuple(answer.now) == tuple(answer.expected):
        return Resolution(Outcome.ACCEPTED, answer.reason)
    if not answer.applied and not _touched(proposal, answer):
        return Resolution(Outcome.REJECTED, answer.reason)
    diff = "".join(
        unified(change.path, base, now or "")
        for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True)
        if base != now
    )
    reason = answer.reason if answer.applied else f"the editor said no, but the text changed ({answer.reason})"
    return Resolution(Outcome.MODIFIED, reason, diff)


def _touched(proposal: Proposal, answer: ReviewAnswer) -> bool:
    """Whether a text that changed although the answer was no holds any line that the proposal would have added: if
    not, the person merely typed meanwhile."""
    for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True):
        old = set((base or "").splitlines())
        added = {line for line in change.after.splitlines() if line.strip() and line not in old}
        if added & (set((now or "").splitlines()) - old):
            return True
    return False


def _told(proposal: Proposal, resolution: Resolution) -> ToolResult:
    names = ", ".join(change.path for change in proposal.changes)
    words = f' Their words: "{resolution.reason}".' if resolution.reason else ""
    match resolution.outcome:
        case Outcome.ACCEPTED:
            return ToolResult(True, f"{_done(proposal.changes)} The user accepted it.{_notes(proposal.changes)}")
        case Outcome.MODIFIED:
            return ToolResult(
                True, f"The user kept only a part or changed it.{words} What changed in {names}:\n{resolution.diff}"
            )
        case Outcome.REJECTED:
            return ToolResult(False, f"The user rejected this edit of {names}.{words} Nothing was changed.")
        case Outcome.FAILED:
            return ToolResult(False, f"The edit of {names} was not applied: {resolution.reason}. Nothing was changed.")


def _done(changes: tuple[FileChange, ...]) -> str:
    parts = []
    for change in changes:
        added, removed = counts(change.before, change.after)
        verb = "Created" if change.before is None else "Edited"
        parts.append(f"{verb} {change.path} (+{added} -{removed}).")
    return " ".join(parts)


def _notes(changes: tuple[FileChange, ...]) -> str:
    notes = [change.note for change in changes if change.note]
    return f" Note: {'; '.join(notes)}." if notes else ""
