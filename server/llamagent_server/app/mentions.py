"""What the person mentions with `@` in a prompt, read as they see it: files, some of their lines, folders."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from llamagent_server.agent.context import UNCERTAIN, Window
from llamagent_server.agent.prompt import CUT, Attachment
from llamagent_server.agent.session import Session
from llamagent_server.core.diffs import split_lines
from llamagent_server.core.mentions import Mention, mentions
from llamagent_server.core.messages import SystemMessage, UserMessage
from llamagent_server.tools.listed import listed
from llamagent_server.workspace import Listing, PathProblem, ProblemKind, ProjectWorkspace

# Why the model may not see what is at a path, None where it may; it may ask the person.
MayNotSee: TypeAlias = Callable[[str], Awaitable[str | None]]

MOST = 20
FOLDER_CHARS = 4_000
ATTACHED_SHARE = 0.5  # of the room for a prompt, for what the person attaches: the rest is for the work
CHARS_PER_TOKEN = 3
LEAST_TOKENS = 50  # of a file, that its first lines are seen
AROUND = f"\n\n:\n```{CUT}\n```"  # what stands around each
PART_LINES = 400  # of a file that is too large to be read whole


@dataclass(frozen=True, slots=True)
class Unread:
    """A mention that gave nothing, and why, in words for the person and the model."""

    words: str


async def mentioned(
    text: str, workspace: ProjectWorkspace, may_not_see: MayNotSee
) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
    """What `text` mentions, and what is to be said of mentions that could not be read. The words may be somebody
    else's, of a comment for instance: what holds keys is read after the person's yes only."""
    found = mentions(text)
    read = await asyncio.gather(*(_read(mention, workspace, may_not_see) for mention in found[:MOST]))
    unread = [item.words for item in read if isinstance(item, Unread)]
    if len(found) > MOST:
        unread.append(f"Only the first {MOST} mentions were read; there are {len(found)}.")
    return tuple(item for item in read if isinstance(item, Attachment)), tuple(unread)


async def _read(mention: Mention, workspace: ProjectWorkspace, may_not_see: MayNotSee) -> Attachment | Unread:
    if await may_not_see(mention.path) is not None:
        return Unread(f"{mention.written} was not read: it may hold keys or passwords.")
    if mention.first is not None and mention.last is not None and mention.last < mention.first:
        return Unread(f"{mention.written} was not read: its last line is before its first.")
    snapshot = await workspace.read(mention.path)
    if not isinstance(snapshot, PathProblem):
        return _lines(mention, snapshot.path, split_lines(snapshot.text))
    if snapshot.kind is ProblemKind.TOO_LARGE:
        return await _part(mention, workspace)
    if mention.first is None:
        listing = await workspace.list(mention.path)
        if not isinstance(listing, PathProblem):
            return await _folder(listing, workspace)
    near = await workspace.alike(mention.path) if snapshot.kind is ProblemKind.MISSING else ()
    hint = f" Did you mean {', '.join(f'@{path}' for path in near)}?" if near else ""
    return Unread(f"{mention.written} was not read: {snapshot.message}{hint}")


def _lines(mention: Mention, path: str, lines: list[str]) -> Attachment | Unread:
    if mention.first is None:
        return Attachment(path, "".join(lines))
    if mention.first > len(lines):
        return Unread(f"{mention.written} was not read: {path} has only {len(lines)} lines.")
    return Attachment(path, "".join(lines[mention.first - 1 : mention.last]), first_line=mention.first)


async def _part(mention: Mention, workspace: ProjectWorkspace) -> Attachment | Unread:
    first = mention.first or 1
    last = min(mention.last or first + PART_LINES, first + PART_LINES)
    part = await workspace.read_lines(mention.path, first, last)
    if isinstance(part, PathProblem):
        return Unread(f"{mention.written} was not read: {part.message}")
    if not part.text:
        return Unread(f"{mention.written} was not read: {mention.path} has only {part.lines} lines.")
    return Attachment(mention.path, part.text, first_line=first)


async def _folder(listing: Listing, workspace: ProjectWorkspace) -> Attachment:
    lines, left_out = await listed(workspace, listing, FOLDER_CHARS)
    note = "" if listing.complete and not left_out else "\n[not all are listed; list_files shows more]"
    return Attachment(f"{listing.path}/ (its files)", "\n".join(lines) + note)


def attached_room(session: Session, num_ctx: int, told: str, attachments: Sequence[Attachment]) -> int:
    """How many characters may go along with `told`: as many as fit of the text that takes the most tokens, such as of
    numbers, beside what each request has."""
    meter, window = replace(session.meter, known_messages=0), Window(num_ctx)
    around = "".join("\n".join([AROUND, one.label, *one.diagnostics]) for one in attachments)
    alone = (SystemMessage(session.ports.system_prompt()), UserMessage(told + around))
    left = (window.compact_at - meter.at_most(alone, session.ports.specs)) / (1 + UNCERTAIN)
    tokens = max(LEAST_TOKENS, int(min(left, window.prompt_limit * ATTACHED_SHARE)))
    return min([tokens * CHARS_PER_TOKEN, *(meter.chars(one.text, tokens) for one in attachments if one.text)])
