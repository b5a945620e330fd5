"""One editor's agent: every command of docs/PROTOCOL.md is one method; its result is a value of agent/results.py."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from llamagent_server.agent import results
from llamagent_server.agent.context import Window, gauge
from llamagent_server.agent.conversations import Conversation, Conversations
from llamagent_server.agent.prompt import Attachment, ask_text, fenced, system_prompt
from llamagent_server.agent.roads import fitted
from llamagent_server.agent.room import compact
from llamagent_server.agent.session import Ports, Session
from llamagent_server.agent.turn import Ask, nothing_spent
from llamagent_server.agent.turns import Turn
from llamagent_server.app import reports
from llamagent_server.app.asides import Aside, told
from llamagent_server.app.bars import OpenBar, shown
from llamagent_server.app.completion import Words, completions, wanted
from llamagent_server.app.connection import Connection
from llamagent_server.app.grounds import Grounds
from llamagent_server.app.mentions import attached_room
from llamagent_server.app.models import Models
from llamagent_server.app.pulling import pull
from llamagent_server.app.secret_files import SecretFiles
from llamagent_server.app.setting_up import set_up
from llamagent_server.app.undoing import NOTHING, NewWords, retried, retry_ask, rewind, taken_back, undone
from llamagent_server.core.events import StopReason, TurnUsage
from llamagent_server.core.exporting import Conversation as Exportable
from llamagent_server.core.exporting import document
from llamagent_server.core.messages import AssistantMessage, Json, UserMessage
from llamagent_server.core.policy import Mode
from llamagent_server.core.proposals import Outcome
from llamagent_server.errors import BadArgument, RequestError
from llamagent_server.processes.shell import ShellRunner
from llamagent_server.settings import Settings
from llamagent_server.store.roads import FileRoads
from llamagent_server.tools.base import make_tools
from llamagent_server.workspace import Folder, ProjectWorkspace

# Commands, by their short names in prompts too, whose argument is a name that can be completed.
TAKES_MODEL = frozenset({"model", "set_model"})
TAKES_SKILL = frozenset({"skill", "load_skill"})


class App:
    """Methods raise LlamagentError in words for the person."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._grounds = Grounds(connection, lambda: self.workspace)
        self.workspace = ProjectWorkspace(connection.folders, connection.buffers, ripgrep=self.settings.ripgrep)
        self._models = Models(lambda: self.settings)
        self.may_not_see = SecretFiles(self.workspace, connection.ask_secret).refusal
        runner = ShellRunner(lambda: self.settings, self.workspace.reach)
        self.command_place = runner.place
        self._ports = Ports(
            model=self._models.current,
            tools=make_tools(self.workspace, runner, self._grounds.skill_text),
            editor=connection.editor,
            checkpoints=self._grounds.checkpoints,
            workspace=self.workspace,
            settings=lambda: self.settings,
            clock=lambda: datetime.now(UTC),
            new_id=lambda kind: f"{kind}-{secrets.token_hex(6)}",
            system_prompt=self._system_prompt,
            prepare=self._prepare,
            command_place=runner.place,
            memory=FileRoads(),
            unseen=self.may_not_see,
        )
        self._conversations = Conversations(
            self._ports, self._grounds.store, connection.listener, connection.on_queue, connection.say
        )

    @property
    def settings(self) -> Settings:
        return self._grounds.loaded.settings

    @property
    def _fitted(self) -> Settings:
        return fitted(self._ports, self.settings)

    @property
    def trusted(self) -> bool | None:
        """Whether the workspace is trusted; None where nobody said."""
        return self._grounds.trusted

    def set_editor_settings(self, settings: Mapping[str, Json]) -> None:
        self._grounds.set_editor(settings)
        self.workspace.set_ripgrep(self.settings.ripgrep)

    def set_folders(self, folders: Sequence[Folder]) -> None:
        self.workspace.set_folders(folders)
        self._grounds.set_folders(tuple(folders))

    def tell_problems(self) -> None:
        """Say what is wrong with the settings before anything is asked, where no trace will."""
        self._grounds.tell_problems(lambda words: self._connection.editor.notify(words, important=True))

    async def close(self) -> None:
        """Stop everything that runs, in order: turns first, then the model's connection."""
        await self._conversations.close()
        await self._models.close()

    # --- Turns -----------------------------------------------------------------------------------------------------

    def start_turn(
        self,
        text: str,
        *,
        session: str | None = None,
        attachments: Sequence[Attachment] = (),
        mode: Mode = Mode.AGENT,
        steer: bool = False,
        unread: Sequence[str] = (),
    ) -> Turn:
        """Begin a turn, or queue it behind the one that runs; `unread` is said of what it mentions. Raises BadArgument,
        UnknownSession."""
        if not text.strip():
            raise BadArgument("There is nothing to ask: the text is empty.")
        conversation = self._conversations.to_ask_in(session)
        labels = tuple(attachment.label for attachment in attachments)
        told = "\n".join((text, *(f"[{words}]" for words in unread)))
        room = len(told)
        if attachments:
            room += attached_room(conversation.session, self._fitted.num_ctx, told, attachments)
        ask = Ask(ask_text(told, attachments, room), text, labels, mode, tuple(unread))
        return conversation.turns.steer(ask) if steer else conversation.turns.start(ask)

    async def retry(
        self, session: str | None, turn: str | None, words: NewWords | None, *, undo: bool
    ) -> Turn | results.TurnResult:
        """Begin a turn again, or with other words, from before it; the later ones are out of the conversation.

        With `undo` the way back from their edits is proposed first, and nothing else happens where that is refused.
        Raises BadArgument, Busy, UnknownSession; RequestError where there is no way back.
        """
        known = self._conversations.to_ask_in(session)
        known.idle()
        name = retried(known.session, turn, words)
        return await known.turns.alone(self._from_before(known, name, words, undo=undo))

    async def _from_before(
        self, known: Conversation, turn: str, words: NewWords | None, *, undo: bool
    ) -> Turn | results.TurnResult:
        notices: tuple[str, ...] = ()
        if undo:
            done = await taken_back(known.session, self._ports, self.workspace, turn)
            if done.outcome == Outcome.REJECTED:
                return results.TurnResult("", known.id, turn, StopReason.REFUSED, 0, TurnUsage())
            if done.outcome == Outcome.FAILED:
                raise RequestError(done.reason or "The edits were not undone.", hint="Retry without `undo`.")
            notices = (done.reason,) if done.reason and done.outcome != NOTHING else ()
        mark, text, named = known.session.turns[turn], words.text if words else "", words.named if words else ()
        room = attached_room(known.session, self._fitted.num_ctx, f"{text}\n{mark.text}", named)
        again = retry_ask(mark, words, notices, room)
        await rewind(known.session, self._ports, turn)
        return known.turns.put_first(again)

    async def undo_turn(self, session: str | None, turn: str | None) -> results.Undone:
        """Propose to take back what a turn changed: the named one, else the last that changed something."""
        known = self._known(session)
        known.idle()
        return await known.turns.alone(undone(known.session, self._ports, self.workspace, turn))

    def aside(self, typed: str, answer: str) -> Aside:
        """What a command answered that was typed as an ask: a turn without steps, told in the trace where none runs."""
        return told(self._known(None), self._ports, typed, answer)

    def place(self) -> tuple[str, str]:
        """The current conversation, and a new turn's name."""
        return self._known(None).id, self._ports.new_id("turn")

    async def cancel(self, session: str | None) -> results.Cancelled:
        if session is None and self._conversations.current is None:
            return results.Cancelled(False)
        return results.Cancelled(self._conversations.get(session).turns.cancel())

    async def unqueue(self, id: str) -> results.Cancelled:  # noqa: A002 - the argument's name on the wire
        return results.Cancelled(any(known.turns.unqueue(id) for known in self._conversations.all))

    async def _prepare(self, tell: Callable[[str], None]) -> None:
        await self._grounds.settle(tell)
        self.workspace.set_ripgrep(self.settings.ripgrep)
        await self._get_model()

    async def _get_model(self) -> None:
        """Raises ModelError."""
        ask = self._connection.ask_download
        await shown(self._connection.open_bar, lambda tell: self._models.prepare(ask, tell))

    def _system_prompt(self) -> str:
        return system_prompt(
            project=self.workspace.describe(),
            notes=self._grounds.notes,
            skills=[(skill.name, skill.description) for skill in self._grounds.skills()],
            locale=self._connection.locale,
        )

    # --- The conversation ------------------------------------------------------------------------------------------

    async def new(self) -> results.Fresh:
        return results.Fresh(self._conversations.begin().id)

    async def clear(self) -> results.Fresh:
        current = self._conversations.current
        if current is not None:
            current.idle().clear()
            self._conversations.forget(current.id)
            self._grounds.store().forget(current.id)
        fresh = await self.new()
        if current is not None:
            await self._grounds.checkpoints().forget(current.id)
        return fresh

    async def compact(self, session: str | None) -> results.Compacted:
        known = self._known(session)
        if len(known.idle().messages) < 2:
            raise BadArgument("There is nothing to compact yet: the conversation is empty.")
        return await known.turns.alone(self._compacted(known.session))

    async def _compacted(self, session: Session) -> results.Compacted:
        await self._get_model()
        done = await compact(session, self._fitted, spend=nothing_spent, force=True, prune=False)
        return results.Compacted(done.summary, done.tokens_before, done.tokens_after)

    async def context(self, session: str | None) -> results.ContextReport:
        known = self._known(session).session
        shown = gauge(known.meter, Window(self._fitted.num_ctx), known.messages, self._ports.specs)
        return results.ContextReport(
            shown.tokens, shown.num_ctx, shown.estimated, shown.parts, known.meter.known_tokens or None
        )

    async def load_skill(self, name: str, session: str | None) -> results.SkillLoaded:
        await self._grounds.settle()
        text = self._grounds.skill_text(name)
        described = next(skill.description for skill in self._grounds.skills() if skill.name == name.partition("/")[0])
        conversation = self._known(session).idle()
        conversation.add(UserMessage(f"Follow this skill from now on.\n\n{fenced(name, text)}", task=False))
        conversation.add(AssistantMessage(f"I have read the skill {name}."))
        return results.SkillLoaded(name, described, conversation.meter.text(text))

    async def skills(self) -> results.Skills:
        found = self._grounds.skills()
        return results.Skills(tuple(results.SkillInfo(s.name, s.description, s.source) for s in found))

    def _known(self, session: str | None) -> Conversation:
        return self._conversations.get(session)

    async def complete(self, text: str, offset: int, commands: Sequence[tuple[str, str]]) -> results.Completions:
        """The choices for the word before `offset` (code points); `commands` are the edge's, with their help."""
        want = wanted(text, offset)
        if want is None:
            return results.Completions(())
        files = await self.workspace.files() if want.kind == "file" else ()
        models = [row.name for row in (await self.models()).models] if want.kind in TAKES_MODEL else []
        skills = [skill.name for skill in self._grounds.skills()] if want.kind in TAKES_SKILL else []
        words = Words(commands, lambda _: (*models, *skills), files, self.workspace.open_paths())
        return completions(want, offset, words)

    # --- Settings --------------------------------------------------------------------------------------------------

    async def init(self) -> results.Initialized:
        folder = await self._grounds.settle_for_setting_up()
        done = await set_up(self.workspace, self._ports.editor, self._ports.new_id)
        await self._grounds.set_up(folder)
        return done

    async def config(self) -> results.ConfigReport:
        return reports.config_report(self._grounds.loaded, self._grounds.problems())

    async def models(self) -> results.Models:
        listed = await self._models.current().list_models()
        rows = reports.model_rows(listed, self.settings.model)
        return results.Models(rows, reports.proposed(self.settings.provider, listed))

    async def pull_model(self, name: str, *, open_bar: OpenBar | None = None) -> results.ModelPulled:
        """Have Ollama fetch a model, after a yes. Raises BadArgument, ModelError."""
        model, ask = self._models.current(), self._connection.ask_download
        await shown(open_bar or self._connection.open_bar, lambda tell: pull(model, name, ask, tell))
        return results.ModelPulled(name)

    async def set_model(self, value: str) -> results.Changed:
        changed = self._grounds.set_for_session("model", value)
        return replace(
            changed, note=reports.model_note(self.settings.provider, value, await self._models.listed_soon())
        )

    async def set_temperature(self, value: float) -> results.Changed:
        return self._grounds.set_for_session("temperature", value)

    async def set_num_ctx(self, value: int) -> results.Changed:
        changed = self._grounds.set_for_session("num_ctx", value)
        return replace(changed, note=reports.context_note(self.settings.provider, changed))

    async def allow(self, prefix: str | None, revoke: bool) -> results.Allowed:
        return self._grounds.allow(prefix, revoke=revoke)

    async def trust(self, folder: str, trusted: bool) -> results.TrustReport:
        return await self._grounds.trust(folder, trusted=trusted)

    # --- Stored conversations --------------------------------------------------------------------------------------

    async def sessions(self) -> results.Sessions:
        await self._grounds.settle(listing=True)
        current = self._conversations.current
        return results.Sessions(reports.session_rows(self._grounds.store().sessions(), current.id if current else None))

    async def export(self, session: str | None, format: str) -> results.Exported:  # noqa: A002 - its name on the wire
        current = self._conversations.current
        if session is None and (current is None or not current.session.messages):
            raise BadArgument("There is nothing to export yet: no conversation has begun.")
        name = session or self._known(None).id
        stored = self._grounds.store().read(name)
        known = Exportable(name, stored.title, stored.records)
        return results.Exported(document(known, format))

    async def resume(self, ref: int | str | None) -> results.SessionRef:
        rows = (await self.sessions()).sessions
        session = reports.other(rows) if ref is None else reports.meant([row.id for row in rows], ref)
        conversation = self._conversations.to_ask_in(session)
        row = await self._row(session)
        title = conversation.title or (row.title if row else conversation.session.title)
        return results.SessionRef(conversation.id, title, row.messages if row else 0)

    async def delete_session(self, ref: int | str) -> results.SessionRef:
        session = await self._id(ref)
        row = await self._row(session)
        self._conversations.forget(session)
        self._grounds.store().delete(session)
        await self._grounds.checkpoints().forget(session)
        return results.SessionRef(session, row.title if row else "", row.messages if row else 0)

    async def trace(self, session: str | None, since: int | None) -> results.StoredTrace:
        if session is None and self._conversations.current is None:
            return results.StoredTrace(())
        known = self._known(session)
        stored = self._grounds.store().trace(known.id)
        return results.StoredTrace(stored.after(-1 if since is None else since), stored.aside)

    async def _row(self, session: str) -> results.SessionRow | None:
        return next((row for row in (await self.sessions()).sessions if row.id == session), None)

    async def _id(self, ref: int | str) -> str:
        return reports.meant([row.id for row in (await self.sessions()).sessions], ref)
