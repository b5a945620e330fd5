"""Proposals on their way to the person and back: shown, answered, read back, and told to the model as it really is."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from llamagent_server.agent.ports import ReviewAnswer, ToolResult
from llamagent_server.agent.problems import problems_after
from llamagent_server.agent.repeats import FAILED_EDITS
from llamagent_server.agent.session import Session
from llamagent_server.agent.stopping import stop_turn
from llamagent_server.agent.turn import Stop, TurnState
from llamagent_server.agent.unbroken import postpone_cancel, seen_through
from llamagent_server.core.diffs import counts, unified
from llamagent_server.core.events import ChangedFile, EditProposed, EditResolved, Level, Notice
from llamagent_server.core.messages import ToolCall
from llamagent_server.core.proposals import FileChange, Outcome, Proposal, Replaced, Resolution, joined, together
from llamagent_server.core.unseen import shown

MADE = (Outcome.ACCEPTED, Outcome.MODIFIED)
NOT_APPLIED = (
    "The edit of {name} was not applied: {why}. Nothing was changed in it. The user did not reject it: read {name} "
    "again with read_file, then make the edit for what is there now."
)
UNDONE = "Together with the other edits of your reply this leaves {name} as it was. Nothing was changed in it."
TOGETHER = "This edit of {name} was reviewed together with the one before it: the result there says what became of it."


@dataclass(frozen=True, slots=True)
class Edit:
    """A call of the model, and what it would change."""

    call: ToolCall
    proposal: Proposal


async def review(session: Session, turn: TurnState, edits: Sequence[Edit]) -> list[ToolResult]:
    """Let the person decide on all `edits` at once; the results, one for each, say what is in the files afterwards."""
    proposal = joined(edit.proposal for edit in edits)
    found: dict[str, Resolution] = {}
    problems: dict[str, str] = {}
    if proposal.changes:
        found, made = await _reviewed(session, turn, tuple(edit.call.id for edit in edits), proposal)
        try:
            problems |= await problems_after(session, made) if made else {}
        except asyncio.CancelledError:
            postpone_cancel()  # what became of the edits is told all the same
    _count(session, turn, edits, found)
    told: set[str] = set()
    results = [_told_of(edit.proposal, found, told) for edit in edits]
    turn.edits_made += sum(result.ok for result in results)
    return _with_problems(edits, results, problems)


def _count(session: Session, turn: TurnState, edits: Sequence[Edit], found: Mapping[str, Resolution]) -> None:
    """Note what failed: the same file over and over ends somewhere, and what was read before may be no longer true."""
    for change in together(change for edit in edits for change in edit.proposal.changes):
        resolution = found.get(change.uri)
        if resolution is None or resolution.outcome is not Outcome.FAILED:
            turn.repeats.edit_found(change.path)
            continue
        turn.changes += 1
        if (times := turn.repeats.edit_failed(change.path)) >= FAILED_EDITS:
            stop_turn(session, turn, f"{times} edits of {change.path} in a row could not be made ({resolution.reason})")


def _with_problems(edits: Sequence[Edit], results: Sequence[ToolResult], problems: dict[str, str]) -> list[ToolResult]:
    """What the editor reports of a file stands in the result of its last edit."""
    told = list(results)
    for index, edit in reversed(list(enumerate(edits))):
        words = [words for change in edit.proposal.changes if (words := problems.pop(change.uri, None))]
        told[index] = replace(told[index], content="\n".join([told[index].content, *words]))
    return told


async def _reviewed(
    session: Session, turn: TurnState, calls: tuple[str, ...], proposal: Proposal
) -> tuple[dict[str, Resolution], list[FileChange]]:
    """What became of each file of the proposal, by its URI, and the changes that were really made."""
    review_id = session.ports.new_id("review")
    files = tuple(ChangedFile(c.uri, *counts(c.before, c.after), c.note or None) for c in proposal.changes)
    diff = "".join(unified(c.path, c.before, c.after) for c in proposal.changes)
    session.trace.emit(EditProposed(calls[0], calls, review_id, files, diff))
    answer = await session.ports.editor.review(review_id, proposal)
    whole = resolve(proposal, answer)
    session.trace.emit(EditResolved(calls[0], calls, review_id, whole.outcome, reason=whole.reason, diff=whole.diff))
    if whole.outcome in MADE:
        turn.changes += 1
        kept = replaced(proposal, answer)
        told = await seen_through(session.ports.checkpoints().remember(session.id, turn.id, kept))
        if told is not None:
            session.trace.emit(Notice(Level.WARNING, told))
    if answer.stop:
        turn.stop = Stop("You refused the edit and stopped the turn.", refused=True)
    found = {change.uri: _part(whole, proposal, answer, index) for index, change in enumerate(proposal.changes)}
    made = [
        replace(change, before=base, after=now or "")
        for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True)
        if found[change.uri].outcome in MADE
    ]
    return found, made


def _part(whole: Resolution, proposal: Proposal, answer: ReviewAnswer, index: int) -> Resolution:
    """What became of one file of a proposal that came out as `whole`."""
    here = slice(index, index + 1)
    part = replace(answer, base=answer.base[here], expected=answer.expected[here], now=answer.now[here])
    resolution = resolve(replace(proposal, changes=proposal.changes[here]), part)
    # Who took some of the files and left this one rejected it.
    left = resolution.outcome is Outcome.FAILED and not _failure(proposal.changes[here], answer)
    return Resolution(Outcome.REJECTED, answer.reason) if left and whole.outcome in MADE else resolution


def replaced(proposal: Proposal, answer: ReviewAnswer) -> tuple[Replaced, ...]:
    """What the accepted edit changed, file by file."""
    return tuple(
        Replaced(change.path, change.uri, _plain(base), _plain(now))
        for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True)
        if base != now
    )


def _plain(text: str | None) -> str | None:
    return None if text is None else text.removeprefix("\ufeff")


def resolve(proposal: Proposal, answer: ReviewAnswer) -> Resolution:
    """What became of the proposal: judged by the texts that are there, never by the editor's word alone."""
    changed = tuple(base != now for base, now in zip(answer.base, answer.now, strict=True))
    failure = _failure(proposal.changes, answer)
    unmade = Resolution(Outcome.FAILED, failure) if failure else Resolution(Outcome.REJECTED, answer.reason)
    if not any(changed):
        if answer.applied and not failure:
            return Resolution(Outcome.FAILED, answer.reason or "the editor said yes, but nothing changed")
        return unmade
    if answer.applied and tuple(answer.now) == tuple(answer.expected):
        return Resolution(Outcome.ACCEPTED, answer.reason)
    if not answer.applied and not _touched(proposal, answer):
        return unmade
    diff = "".join(
        unified(change.path, base, now or "")
        for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True)
        if base != now
    )
    reason = answer.reason if answer.applied else f"the editor said no, but the text changed ({answer.reason})"
    return Resolution(Outcome.MODIFIED, reason, diff)


def _failure(changes: Sequence[FileChange], answer: ReviewAnswer) -> str:
    """Why none of `changes` could be made; empty where the person said no to one of them, or all were made."""
    whys = [answer.failures.get(change.uri, "") for change in changes]
    return "; ".join(dict.fromkeys(whys)) if all(whys) else ""


def _touched(proposal: Proposal, answer: ReviewAnswer) -> bool:
    """Whether a text that changed although the answer was no holds any line that the proposal would have added: if
    not, the person merely typed meanwhile."""
    for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True):
        old = set((base or "").splitlines())
        added = {line for line in change.after.splitlines() if line.strip() and line not in old}
        if added & (set((now or "").splitlines()) - old):
            return True
    return False


def _told_of(proposal: Proposal, found: Mapping[str, Resolution], told: set[str]) -> ToolResult:
    """The result of one call. `told` are the files of which an earlier result has said what became of them."""
    results = []
    for change in proposal.changes:
        resolution = found.get(change.uri)
        if resolution is None:
            results.append(ToolResult(False, UNDONE.format(name=shown(change.path))))
        elif change.uri in told and resolution.outcome is not Outcome.ACCEPTED:
            results.append(ToolResult(resolution.outcome in MADE, TOGETHER.format(name=shown(change.path))))
        else:
            results.append(_told(change, resolution))
        told.add(change.uri)
    return ToolResult(all(result.ok for result in results), " ".join(result.content for result in results))


def _told(change: FileChange, resolution: Resolution) -> ToolResult:
    name = shown(change.path)
    words = f' Their words: "{resolution.reason}".' if resolution.reason else ""
    match resolution.outcome:
        case Outcome.ACCEPTED:
            added, removed = counts(change.before, change.after)
            verb = "Created" if change.before is None else "Edited"
            note = f" Note: {change.note}." if change.note else ""
            return ToolResult(True, f"{verb} {name} (+{added} -{removed}). The user accepted it.{note}")
        case Outcome.MODIFIED:
            return ToolResult(
                True, f"The user kept only a part or changed it.{words} What changed in {name}:\n{resolution.diff}"
            )
        case Outcome.REJECTED:
            return ToolResult(False, f"The user rejected this edit of {name}.{words} Nothing was changed in it.")
        case Outcome.FAILED:
            return ToolResult(False, NOT_APPLIED.format(name=name, why=resolution.reason))
