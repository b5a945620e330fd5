"""An edit before the yes: pure data that a person reviews, and the person's answer."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file's text before and after.

    `path` is relative to the workspace, with `/`. `before` is None for a file that does not exist yet. Both texts are
    exactly as the editor has them (line ends kept, no byte order mark). `version` is the document's version where the
    file is open, else None. `note` labels a match that needed tolerance ("" = exact).
    """

    path: str
    uri: str
    before: str | None
    after: str
    version: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """`summary` is one line for the person, such as `edit src/app.py`."""

    summary: str
    changes: tuple[FileChange, ...]


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
