"""The way back from turns: proposed as one edit through the same gate, around what the person changed since."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from llamagent_server.agent.prompt import Attachment, ask_text
from llamagent_server.agent.results import Undone
from llamagent_server.agent.review import MADE, resolve
from llamagent_server.agent.session import Ports, Session
from llamagent_server.agent.turn import Ask
from llamagent_server.agent.unbroken import seen_through
from llamagent_server.core.messages import AssistantMessage, UserMessage
from llamagent_server.core.policy import Mode
from llamagent_server.core.proposals import FileChange, Outcome, Proposal, Replaced
from llamagent_server.core.records import TurnMark
from llamagent_server.core.wayback import Conflict, way_back
from llamagent_server.errors import BadArgument
from llamagent_server.workspace import NewFile, PathProblem, ProjectWorkspace

NOTHING = "nothing"
_LOST = "What the turn replaced is not kept any more: the oldest go first when there is too much of it."
_REMOVED = "the file is removed"


@dataclass(frozen=True, slots=True)
class _Plan:
    """`changes` are proposed; `said` are the reasons why files stay as they are."""

    changes: tuple[FileChange, ...]
    said: tuple[str, ...]


async def undone(session: Session, ports: Ports, workspace: ProjectWorkspace, turn: str | None) -> Undone:
    """`undo` of one turn: the named one, else the last that changed something."""
    if turn is None:
        changed = await ports.checkpoints().turns(session.id)
        if not changed:
            return Undone((), NOTHING, "No turn of this conversation has changed a file.")
        turn = changed[-1]
    return await undo(session, ports, workspace, (turn,))


async def undo(session: Session, ports: Ports, workspace: ProjectWorkspace, turns: Sequence[str]) -> Undone:
    """Propose to take back what `turns` changed. The person's answer decides; nothing is tried twice."""
    kept = await ports.checkpoints().of(session.id, turns)
    if kept is None:
        return Undone((), Outcome.FAILED.value, _LOST)
    plan = await _plan(workspace, kept, removes=ports.editor.removes_files)
    said = " ".join(plan.said) or None
    if not plan.changes:
        return Undone((), Outcome.FAILED.value if said else NOTHING, said or "There is nothing to undo.")
    proposal = Proposal(f"undo: {', '.join(change.path for change in plan.changes)}", plan.changes)
    answer = await ports.editor.review(ports.new_id("review"), proposal)
    resolution = resolve(proposal, answer)
    if resolution.outcome in MADE:
        states = zip(plan.changes, answer.base, answer.now, strict=True)
        paths = [change.path for change, base, now in states if base != now]
        await seen_through(ports.checkpoints().undone(session.id, turns, paths))
        _tell_model(session, paths)
    reasons = " ".join(words for words in (resolution.reason, said) if words)
    return Undone(tuple(change.uri for change in plan.changes), resolution.outcome.value, reasons or None)


async def taken_back(session: Session, ports: Ports, workspace: ProjectWorkspace, turn: str) -> Undone:
    """Propose to take back what `turn` and those after it changed."""
    names = list(session.turns)
    later = names[names.index(turn) :]
    changed = tuple(name for name in await ports.checkpoints().turns(session.id) if name in later)
    return await undo(session, ports, workspace, changed)


async def rewind(session: Session, ports: Ports, turn: str) -> None:
    """Go back to before `turn`. That edits of earlier turns were undone stays true, whenever the person did that."""
    noted = await ports.checkpoints().ways_back(session.id)
    session.rewind(turn)
    told = Counter(message.content for message in session.messages if isinstance(message, UserMessage))
    for turns, paths in noted:
        if session.turns.keys().isdisjoint(turns):
            continue
        words = _undone(paths)
        if told[words]:
            told[words] -= 1
        else:
            _tell_model(session, paths)


@dataclass(frozen=True, slots=True)
class NewWords:
    """What the person says instead, what it mentions, and what is to be said of mentions that could not be read."""

    text: str
    named: Sequence[Attachment] = ()
    unread: Sequence[str] = ()


def retried(session: Session, turn: str | None, words: NewWords | None) -> str:
    """Which turn is meant; None: the last one. Raises BadArgument."""
    if words is not None and not words.text.strip():
        raise BadArgument("There is nothing to ask: the text is empty.")
    if not session.turns:
        raise BadArgument("There is nothing to do again: this conversation has no turn yet.")
    if turn is None:
        return next(reversed(session.turns))
    if turn not in session.turns:
        raise BadArgument(f"There is no turn {turn!r} in this conversation.", hint="Its trace names them.")
    return turn


def retry_ask(mark: TurnMark, words: NewWords | None, notices: tuple[str, ...], room: int) -> Ask:
    """The ask of a turn again, with the person's new words if there are any. What went along goes along again; what
    the new words mention takes at most `room` characters."""
    mode = Mode(mark.mode) if mark.mode in tuple(Mode) else Mode.AGENT
    if words is None:
        return Ask(mark.text or mark.shown, mark.shown, mark.files, mode, notices)
    attached = mark.text.removeprefix(mark.shown) if mark.text.startswith(mark.shown) else ""
    new = [one for one in words.named if one.label not in mark.files]
    told = "\n".join((words.text, *(f"[{line}]" for line in words.unread))) + attached
    files = (*mark.files, *(one.label for one in new))
    return Ask(ask_text(told, new, room + len(told)), words.text, files, mode, (*notices, *words.unread))


async def _plan(workspace: ProjectWorkspace, kept: Sequence[Replaced], *, removes: bool) -> _Plan:
    changes: list[FileChange] = []
    said: list[str] = []
    by_uri: dict[str, list[Replaced]] = {}
    for one in kept:
        by_uri.setdefault(one.uri, []).append(one)
    for steps in by_uri.values():
        match await _change(workspace, steps, removes=removes):
            case FileChange() as change:
                changes.append(change)
            case str() as words:
                said.append(words)
    return _Plan(tuple(changes), tuple(said))


async def _change(workspace: ProjectWorkspace, steps: Sequence[Replaced], *, removes: bool) -> FileChange | str | None:
    """The change of one file; why there is none; None where it is as it was."""
    path, uri = steps[0].path, steps[0].uri
    found = await workspace.read_for_edit(uri)
    if isinstance(found, PathProblem):
        return found.message
    current, version = (None, None) if isinstance(found, NewFile) else (found.text, found.version)
    if not isinstance(found, NewFile) and found.conflict is not None:
        return f"{path}: {found.conflict}."
    back = way_back(steps, current)
    if isinstance(back, Conflict):
        return f"{path} {back.reason}, so it stays as it is."
    if back.text == current:
        return None
    if back.text is not None:
        return FileChange(path, found.uri, current, back.text, version)
    if not removes:
        return f"{path} was created by it, and this editor cannot remove files for llamagent: remove it yourself."
    return FileChange(path, found.uri, current, "", version, note=_REMOVED, removes=True)


def _tell_model(session: Session, paths: Sequence[str]) -> None:
    """Else it would go on as if its edits were there."""
    session.add(UserMessage(_undone(paths), task=False))
    session.add(AssistantMessage(f"Understood: {', '.join(paths)} is as it was before."))


def _undone(paths: Sequence[str]) -> str:
    return f"I have undone earlier changes of yours in {', '.join(paths)}. Read a file again before you edit it."
