"""The gate: a proposal becomes a workspace edit that the person accepted, and what came of it is read back.

No answer, null, an error and a closed pipe are a no. The edit that is sent is made for the text that is there at that
moment, and the texts that are there afterwards count, not what the editor answers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lsprotocol import types

from llamagent_server.agent.ports import ReviewAnswer
from llamagent_server.agent.unbroken import seen_through
from llamagent_server.core.diffs import counts, unified
from llamagent_server.core.events import record
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.lsp import visible
from llamagent_server.lsp.client import Client
from llamagent_server.lsp.convert import Form, Planned, workspace_edit
from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.files import Files, Refused
from llamagent_server.lsp.protocol import StrictProtocol
from llamagent_server.lsp.questions import Questions
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.lsp.wire import REVIEW_CLOSED, ReviewClosed
from llamagent_server.lsp.words import words
from llamagent_server.workspace.uris import key

DIFF_LINES, DIFF_LINE_CHARS = 60, 400  # of a diff that is shown within the question


@dataclass(frozen=True, slots=True)
class _Said:
    """What the editor answered. `stop`, with a no: the person wants the turn to end here. `failures` says of which
    files, by the key of their URI, an edit could not be made and why; `failed`, why none could."""

    applied: bool
    reason: str | None
    stop: bool = False
    failed: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)


class Reviews:
    """All reviews of one connection."""

    def __init__(
        self, protocol: StrictProtocol, client: Client, files: Files, questions: Questions, shown: ShownFiles
    ) -> None:
        self._protocol = protocol
        self._client = client
        self._files = files
        self._questions = questions
        self._shown = shown
        self._words = words(client.locale)

    async def review(self, review_id: str, proposal: Proposal) -> ReviewAnswer:
        """The person's answer. When cancelled, the question is taken down in the editor first."""
        try:
            async with self._questions.one_at_a_time:
                return await self._decide(review_id, proposal)
        except asyncio.CancelledError:
            self._protocol.tell(REVIEW_CLOSED, record(ReviewClosed(review_id)))
            raise

    async def _decide(self, review_id: str, proposal: Proposal) -> ReviewAnswer:
        if not self._client.applies_edits:
            return await self._failed(proposal, "this editor cannot apply edits (workspace/applyEdit)")
        if not self._client.flags.review and not await self._accepted(proposal):
            return await self._no(proposal)
        try:
            planned = await self._files.plan(proposal.changes)
        except Refused as problem:
            return await self._failed(proposal, str(problem))
        said = await self._apply(review_id, proposal, planned)
        now = await seen_through(self._read_back(planned, applied=said.applied))
        base, expected = tuple(p.base for p in planned), tuple(p.after for p in planned)
        failures = _failures(proposal, said)
        return ReviewAnswer(said.applied, said.reason, base, expected, now, stop=said.stop, failures=failures)

    async def _no(self, proposal: Proposal) -> ReviewAnswer:
        there = await self._files.texts([change.uri for change in proposal.changes])
        return ReviewAnswer(False, None, there, tuple(_expected(change) for change in proposal.changes), there)

    async def _failed(self, proposal: Proposal, why: str) -> ReviewAnswer:
        failures = dict.fromkeys([change.uri for change in proposal.changes], why)
        return replace(await self._no(proposal), reason=why, failures=failures)

    # --- The question ----------------------------------------------------------------------------------------------

    async def _accepted(self, proposal: Proposal) -> bool:
        """Ask in the editor's own dialog, as often as the person wants to see the diff first."""
        message = self._words.edit.format(files=", ".join(map(self._counted, proposal.changes)))
        titles = [self._words.accept, self._words.reject, self._words.show_diff]
        while (chosen := await self._questions.choose(message, titles)) == self._words.show_diff:
            diff = "".join(unified(change.path, change.before, change.after) for change in proposal.changes)
            diff = visible.code(diff)
            if not await self._shown.show("proposal.diff", diff):
                message, titles = f"{message}\n{_shortened(diff)}", titles[:2]
        return chosen == self._words.accept

    def _counted(self, change: FileChange) -> str:
        added, removed = counts(change.before, change.after)
        note = f", {visible.line(self._protocol.say(change.note))}" if change.note else ""
        return f"{visible.line(change.path)} (+{added} −{removed}{note})"

    # --- The edit --------------------------------------------------------------------------------------------------

    async def _apply(self, review_id: str, proposal: Proposal, planned: Sequence[Planned]) -> _Said:
        reviews = self._client.flags.review
        form = Form(
            encoding=self._client.encoding,
            document_changes=self._client.document_changes,
            creates_files=self._client.creates_files,
            annotation=f"llamagent:{review_id}" if reviews or self._client.annotates else None,
            needs_confirmation=reviews,
        )
        label = visible.line(self._label(proposal))
        params = types.ApplyWorkspaceEditParams(workspace_edit(planned, label, form), label)
        try:
            said = await self._protocol.ask(types.WORKSPACE_APPLY_EDIT, params, _applied)
        except AskFailed as problem:
            return _Said(False, str(problem), failed=str(problem))
        if not reviews and not said.applied:  # the person has said yes
            return replace(said, failed=said.reason or "the editor did not apply it, and gave no reason")
        return said

    def _label(self, proposal: Proposal) -> str:
        """What the editor calls the edit, with what the person should know of it."""
        say = self._protocol.say
        notes = dict.fromkeys(say(change.note) for change in proposal.changes if change.note)
        summary = say(proposal.summary)
        return f"{summary} ({'; '.join(notes)})" if notes else summary

    async def _read_back(self, planned: Sequence[Planned], *, applied: bool) -> tuple[str | None, ...]:
        uris = [p.uri for p in planned]
        if applied:
            return await self._files.settled(uris, tuple(p.after for p in planned))
        if self._client.flags.review:  # the person said no before anything was changed
            return await self._files.texts(uris)
        return await self._files.settled(uris, None)


def _applied(value: object) -> _Said:
    """Only a plain true is a yes. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no ApplyWorkspaceEditResult")
    reason = value.get("failureReason")
    applied = value.get("applied") is True
    stop = not applied and value.get("stop") is True
    words = reason if isinstance(reason, str) and reason else None
    failed = value.get("failed")
    if isinstance(failed, dict):
        failures = {key(uri): str(why) for uri, why in failed.items() if why}
        return _Said(applied, words, stop=stop, failures=failures)
    return _Said(applied, words, stop=stop, failed=words or "the editor gave no reason" if failed is True else "")


def _failures(proposal: Proposal, said: _Said) -> dict[str, str]:
    """Why changes of the proposal could not be made, by their URIs."""
    uris = [change.uri for change in proposal.changes]
    return {uri: why for uri in uris if (why := said.failed or said.failures.get(key(uri), ""))}


def _expected(change: FileChange) -> str | None:
    return None if change.removes else change.after


def _shortened(diff: str) -> str:
    lines = diff.splitlines()
    near = [_cut(line) for line in lines[:DIFF_LINES]]
    rest = len(lines) - DIFF_LINES
    return "\n".join(near + ([f"… (+{rest})"] if rest > 0 else []))


def _cut(line: str) -> str:
    over = len(line) - DIFF_LINE_CHARS
    return f"{line[:DIFF_LINE_CHARS]}… (+{over})" if over > 0 else line
