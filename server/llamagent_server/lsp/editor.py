"""The agent's Editor port over the connection: reviews, consent, saving, notices."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from lsprotocol import types

from llamagent_server.agent.ports import Consent, ConsentDecision, Problem, ReviewAnswer, SaveReport
from llamagent_server.core.events import record
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.errors import BadArgument
from llamagent_server.lsp import visible
from llamagent_server.lsp.client import Client
from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.files import Files
from llamagent_server.lsp.problems import problem
from llamagent_server.lsp.protocol import StrictProtocol
from llamagent_server.lsp.questions import Questions
from llamagent_server.lsp.reviews import Reviews
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.lsp.wire import (
    CONSENT,
    DIAGNOSTICS,
    INPUT,
    REVIEW_CLOSED,
    SAVE,
    ConsentQuestion,
    ConsentReply,
    DiagnosticsReply,
    InputQuestion,
    InputReply,
    ReviewClosed,
    SaveReply,
    Uris,
    parse_known,
)
from llamagent_server.lsp.words import words
from llamagent_server.settings import SavePolicy
from llamagent_server.workspace.uris import key

SAVE_SECONDS = 30.0  # formatters and hooks may run when an editor saves

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the editor's part must know of the workspace. `command_place` is where commands run and how: a folder's
    path, whether it is sandboxed; without a sandbox the network can be reached."""

    files: Files
    save_policy: Callable[[], SavePolicy]
    command_place: Callable[[], Awaitable[tuple[str, bool]]]


class ConnectedEditor:
    """One client's editor. Nothing here raises but CancelledError; `input` says what it does."""

    def __init__(
        self,
        protocol: StrictProtocol,
        client: Client,
        surroundings: Surroundings,
        shown: ShownFiles,
    ) -> None:
        self._protocol = protocol
        self._client = client
        self._surroundings = surroundings
        self._shown = shown
        self._questions = Questions(protocol)
        self._reviews = Reviews(protocol, client, surroundings.files, self._questions, shown)
        self._words = words(client.locale)
        self._edited: dict[str, FileChange] = {}  # accepted edits that the disk may not hold yet, by the URI's key

    @property
    def removes_files(self) -> bool:
        return self._client.deletes_files

    async def review(self, review_id: str, proposal: Proposal) -> ReviewAnswer:
        answer = await self._reviews.review(review_id, proposal)
        for change, base, now in zip(proposal.changes, answer.base, answer.now, strict=True):
            if base != now:
                self._edited[key(change.uri)] = change
        if answer.applied and self._surroundings.save_policy() is SavePolicy.ON_ACCEPT:
            await self._save()
        return answer

    # --- Commands --------------------------------------------------------------------------------------------------

    async def consent(self, call_id: str, command: str) -> Consent:
        """A question that is taken down is named by its call's id, as a review is by its own."""
        try:
            async with self._questions.one_at_a_time:
                if self._client.flags.consent:
                    return await self._consent_by_client(call_id, command)
                return await self._consent_by_dialog(command)
        except asyncio.CancelledError:
            self._protocol.tell(REVIEW_CLOSED, record(ReviewClosed(call_id)))
            raise

    async def _consent_by_client(self, call_id: str, command: str) -> Consent:
        cwd, sandboxed = await self._surroundings.command_place()
        question = ConsentQuestion(call_id, command, cwd, sandboxed, network=not sandboxed)
        try:
            reply = await self._protocol.ask(CONSENT, record(question), lambda value: parse_known(ConsentReply, value))
        except AskFailed as problem:
            return Consent(ConsentDecision.REFUSE, str(problem))
        decision = ConsentDecision(reply.decision)
        if decision is ConsentDecision.RUN and reply.network and sandboxed:
            decision = ConsentDecision.RUN_WITH_NETWORK
        return Consent(decision, reply.reason, stop=reply.stop)

    async def _consent_by_dialog(self, command: str) -> Consent:
        cwd, sandboxed = await self._surroundings.command_place()
        told = self._words
        choices = {told.run: ConsentDecision.RUN}
        if sandboxed:
            choices[told.run_with_network] = ConsentDecision.RUN_WITH_NETWORK
        choices |= {told.always: ConsentDecision.ALWAYS, told.refuse: ConsentDecision.REFUSE}
        chosen = await self._questions.choose(
            told.command.format(
                command=self._command(command),
                cwd=visible.line(cwd),
                how=told.sandboxed if sandboxed else told.not_sandboxed,
            ),
            tuple(choices),
        )
        return Consent(choices.get(chosen or "", ConsentDecision.REFUSE))

    def _command(self, command: str) -> str:
        """As a dialog shows it: of a very long one the beginning and the end, and where the whole stands."""
        whole = visible.command(command)
        left_out = visible.lines_too_many(whole)
        path = self._shown.write("command.txt", f"{whole[1:]}\n") if left_out else None
        if path is None:  # short enough, or there is nowhere else to look
            return whole
        return visible.shortened(whole, self._words.left_out.format(count=left_out, path=visible.line(str(path))))

    # --- Saving ----------------------------------------------------------------------------------------------------

    async def save_edited(self) -> SaveReport:
        before = await self._unsaved()
        if before and self._surroundings.save_policy() is not SavePolicy.NEVER:
            await self._save()
        after = await self._unsaved()
        saved = tuple(change.path for change in before if change not in after)
        return SaveReport(saved, tuple(change.path for change in after))

    def saved(self, uri: str) -> None:
        """The editor says that it saved a document: the word counts where we cannot read what is on disk."""
        self._edited.pop(key(uri), None)

    async def _save(self) -> None:
        uris = tuple(change.uri for change in await self._unsaved())
        if not uris or not self._client.flags.save:
            return
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                await self._protocol.ask(SAVE, record(Uris(uris)), lambda value: parse_known(SaveReply, value))
        except (AskFailed, TimeoutError) as problem:
            _log.warning("the editor did not save: %s", str(problem) or "no answer")

    async def _unsaved(self) -> tuple[FileChange, ...]:
        """Of the documents with accepted edits those that the disk does not hold."""
        for name, change in tuple(self._edited.items()):
            if await self._surroundings.files.on_disk(change.uri):
                self._edited.pop(name, None)
        return tuple(self._edited.values())

    # --- Problems that the editor knows of --------------------------------------------------------------------------

    async def problems(self, uris: Sequence[str]) -> Mapping[str, Sequence[Problem]]:
        if not self._client.flags.diagnostics:
            return {}
        try:
            reply = await self._protocol.ask(
                DIAGNOSTICS, record(Uris(tuple(uris))), lambda value: parse_known(DiagnosticsReply, value)
            )
        except AskFailed as failure:
            _log.info("the editor told no diagnostics: %s", failure)
            return {}
        found = {key(uri): diagnostics for uri, diagnostics in reply.diagnostics.items()}
        return {uri: tuple(filter(None, map(problem, found[key(uri)]))) for uri in uris if key(uri) in found}

    # --- Questions and notices beside a turn -----------------------------------------------------------------------

    async def ask_trust(self, folder: str, new: Sequence[str]) -> bool:
        """`new`: what is new in a folder that is trusted; nothing for one that nobody said anything about."""
        told = self._words
        form = told.trusting_again if new else told.trusting
        question = form.format(folder=visible.line(folder), what=", ".join(map(visible.line, new)))
        return await self._agreed(question, told.trust, told.not_now)

    async def ask_secret(self, path: str) -> bool:
        told = self._words
        return await self._agreed(told.secret.format(path=visible.line(path)), told.show_it, told.not_now)

    async def ask_download(self, what: str) -> bool:
        return await self._agreed(
            self._words.download.format(what=self._protocol.say(what)), self._words.yes, self._words.no
        )

    async def input(self, title: str) -> str:
        """Words that the person types, "" for none. Raises BadArgument where the client cannot be asked for any."""
        if not self._client.flags.prompt:
            raise BadArgument("This editor cannot be asked for a text.", hint="Write a comment: llamagent: your words.")
        question = record(InputQuestion(title, ""))
        try:
            reply = await self._protocol.ask(INPUT, question, lambda value: parse_known(InputReply, value))
        except AskFailed as problem:
            _log.warning("no text was given: %s", problem)
            return ""
        return (reply.text or "").strip()

    async def _agreed(self, message: str, yes: str, no: str) -> bool:
        async with self._questions.one_at_a_time:
            return await self._questions.choose(message, (yes, no)) == yes

    def say(self, text: str) -> None:
        """Show it in every editor; for what no trace can carry."""
        self.tell(types.MessageType.Warning, text)

    def tell(self, kind: types.MessageType, text: str) -> None:
        self._protocol.tell(types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(kind, self._protocol.say(text)))

    def notify(self, text: str, *, important: bool) -> None:
        """Clients with a trace see the same there."""
        if self._client.flags.trace:
            return
        if important:
            self.tell(types.MessageType.Warning, text)
        else:
            self._protocol.tell(types.WINDOW_LOG_MESSAGE, types.LogMessageParams(types.MessageType.Info, text))
