"""The way back from what a turn changed, around what the person has changed since."""

from collections.abc import Sequence
from dataclasses import dataclass

from llamagent_server.core.diffs import rebase
from llamagent_server.core.proposals import Replaced


@dataclass(frozen=True, slots=True)
class WayBack:
    """The text that the file would have; None: it would not be there."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why nobody can say what the way back is; completes "the file ..."."""

    reason: str


def way_back(steps: Sequence[Replaced], current: str | None) -> WayBack | Conflict:
    """Undo `steps` of one file, the last one first, on the text that it has now (None: it is not there).

    A step that somebody has undone already is passed over.
    """
    if steps and current == steps[0].before:
        return WayBack(current)
    text = current
    for step in reversed(steps):
        if text == step.after:
            text = step.before
        elif text != step.before:
            undone = _undone(step, text)
            if isinstance(undone, Conflict):
                return undone
            text = undone
    return WayBack(text)


def _undone(step: Replaced, text: str | None) -> str | Conflict:
    if text is None:
        return Conflict("is not there any more")
    if step.before is None:
        return Conflict("was created by it and changed since")
    if step.after is None:
        return Conflict("is there again")
    merged = rebase(step.after, step.before, text)
    return Conflict("was changed since, in the same lines") if merged is None else merged
