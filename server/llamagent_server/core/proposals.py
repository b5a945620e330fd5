"""An edit before the yes: pure data that a person reviews, and the person's answer."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

_SUMMARIES = 4  # that are named


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file's text before and after.

    `path` is relative to the workspace, with `/`. `before` is None for a file that does not exist yet. Both texts are
    exactly as the editor has them (line ends kept, no byte order mark). `version` is the document's version where the
    file is open, else None. `note` labels a match that needed tolerance ("" = exact). `removes`: the file goes away,
    and `after` is empty. `ours`: a file in our own folder of the project, which no tool may propose.
    """

    path: str
    uri: str
    before: str | None
    after: str
    version: int | None = None
    note: str = ""
    removes: bool = False
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """What an accepted edit changed in one file, as it was read back: its text before and after, None = no such file.

    `path` and `uri` as in FileChange; the texts without byte order mark.
    """

    path: str
    uri: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """`summary` is one line for the person, such as `edit src/app.py`."""

    summary: str
    changes: tuple[FileChange, ...]


def together(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """`changes` in their order, those of one file made one: each began with the text that the one before it gave."""
    files: dict[str, FileChange] = {}
    for change in changes:
        if (earlier := files.get(change.uri)) is not None:
            notes = dict.fromkeys(note for note in (earlier.note, change.note) if note)
            change = replace(earlier, after=change.after, note="; ".join(notes))
        files[change.uri] = change
    return tuple(files.values())


def joined(proposals: Iterable[Proposal]) -> Proposal:
    """All of `proposals` as one. A file that they leave as it was is no part of it."""
    every = tuple(proposals)
    changes = tuple(c for c in together(c for p in every for c in p.changes) if c.before != c.after)
    summaries = list(dict.fromkeys(proposal.summary for proposal in every))
    more = [f"and {len(summaries) - _SUMMARIES} more"] if len(summaries) > _SUMMARIES else []
    return Proposal(", ".join(summaries[:_SUMMARIES] + more), changes)


class Outcome(StrEnum):
    """`outcome` of `edit.resolved`."""

    ACCEPTED = "accepted"
    MODIFIED = "modified"
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a proposal, read back from the documents.

    `diff` is, where the outcome is `modified`, the unified diff from the text before to the text that is there now.
    """

    outcome: Outcome
    reason: str | None = None
    diff: str | None = None
