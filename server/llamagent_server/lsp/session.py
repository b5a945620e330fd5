"""What lives from a client's `initialize` to the end of its connection: its documents, its agent, its part in turns."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from llamagent_server.core.events import Event, record
from llamagent_server.core.messages import Json
from llamagent_server.errors import LlamagentError
from llamagent_server.lsp.client import Client, JsonMap, RootFolder
from llamagent_server.lsp.documents import Documents
from llamagent_server.lsp.editor import ConnectedEditor, Surroundings
from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.files import Files
from llamagent_server.lsp.progress import Progress
from llamagent_server.lsp.protocol import StrictProtocol
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.lsp.telling import Answers, Messages, TraceSender
from llamagent_server.lsp.wire import QUEUED, Queued, QueuedAsk
from llamagent_server.processes.threads import off_loop
from llamagent_server.settings import SavePolicy
from llamagent_server.store import temporary
from llamagent_server.workspace.confinement import Folder
from llamagent_server.workspace.uris import key, to_path

if TYPE_CHECKING:
    from llamagent_server.agent.turns import Turn
    from llamagent_server.app import App

SECTION = "llamagent"
CONFIGURATION_SECONDS = 2.0  # an ask waits this long for the editor's settings
CLOSE_SECONDS = 1.5

_log = logging.getLogger(__name__)


class EditorSession:
    """`overrides` are settings of the command line."""

    def __init__(self, protocol: StrictProtocol, client: Client, overrides: Mapping[str, Json]) -> None:
        self.protocol = protocol
        self.client = client
        self.documents = documents = Documents(client.encoding)
        self.progress = Progress(protocol, client)
        self.shown = ShownFiles(protocol, client)
        files = Files(documents, lambda: self._made_app().workspace)
        surroundings = Surroundings(files, self._save_policy, self._command_place)
        self.editor = ConnectedEditor(protocol, client, surroundings, self.shown)
        self.answers = Answers(protocol, client, self.shown)
        self._messages = None if client.flags.trace else Messages(protocol, client, self.shown)
        self._trace = TraceSender(protocol) if client.flags.trace else None
        self.asking = asyncio.Lock()  # what goes along is read while other asks wait, so that turns keep their order
        self._overrides = overrides
        self._initial: Mapping[str, Json] = _set(client.options.settings or {})
        self._settings = self._initial
        self._live: set[str] = set()  # the keys that the editor's live settings ever had
        self._configured = asyncio.Event()
        self._folders = client.folders
        self._app: App | None = None
        self._detached: set[asyncio.Task[None]] = set()

    # --- The agent -------------------------------------------------------------------------------------------------

    async def app(self) -> "App":
        """The agent, once the editor's settings are known or have not come for a while. Raises LlamagentError."""
        try:
            async with asyncio.timeout(CONFIGURATION_SECONDS):
                await self._configured.wait()
        except TimeoutError:
            _log.warning("the editor does not answer workspace/configuration")
            self._configured.set()
        return self._made_app()

    def _made_app(self) -> "App":
        if self._app is None:
            # Only now: the reply to `initialize` does not wait for what these import.
            from llamagent_server.app import App, Connection

            connection = Connection(
                folders=_folders(self._folders),
                settings=self._settings,
                overrides=self._overrides,
                trusted=self.client.options.trusted,
                locale=self.client.locale,
                editor=self.editor,
                buffers=self.documents,
                listener=self._listen,
                on_queue=self._queue_changed,
                say=self.editor.say,
                ask_trust=lambda folder, new: self.editor.ask_trust(str(folder.path), new),
                open_bar=self.progress.open_work,
                ask_download=self.editor.ask_download,
                ask_secret=self.editor.ask_secret,
            )
            self._app = App(connection)
            for document in self.documents.all():
                self._app.workspace.opened(document.uri)
        return self._app

    @property
    def made(self) -> "App | None":
        """The agent, if anything has needed it yet."""
        return self._app

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders of the workspace."""
        return tuple(folder.path for folder in _folders(self._folders))

    @property
    def trusted(self) -> bool | None:
        """What the editor or the person said of the workspace, as far as it is known by now."""
        return self._app.trusted if self._app is not None else self.client.options.trusted

    def _listen(self, event: Event) -> None:
        for listener in (self._trace, self._messages, self.progress):
            if listener is not None:
                listener(event)

    def _queue_changed(self, session: str, waiting: "tuple[Turn, ...]") -> None:
        queue = tuple(QueuedAsk(turn.id, turn.ask.shown) for turn in waiting)
        self.protocol.tell(QUEUED, record(Queued(session, queue)))

    def detach(self, turn: "Turn") -> None:
        """Nobody waits for the end of `turn`: its failure must be told, and its progress taken down."""
        if self._messages is not None:
            self._messages.detached.add(turn.id)
        self.go_on(self._until_over(turn))

    def go_on(self, work: Coroutine[None, None, None]) -> None:
        """Do `work` while nobody waits for it; it must not raise."""
        task = asyncio.get_running_loop().create_task(work)
        self._detached.add(task)
        task.add_done_callback(self._detached.discard)

    async def _until_over(self, turn: "Turn") -> None:
        try:
            await turn.result()
        except LlamagentError as failure:
            _log.info("a detached turn failed: %s", failure)
        finally:
            self.progress.forget(turn.id)

    def change_folders(self, *, added: Sequence[RootFolder], removed: Sequence[RootFolder]) -> None:
        gone = {key(folder.uri) for folder in (*removed, *added)}
        self._folders = (*(folder for folder in self._folders if key(folder.uri) not in gone), *added)
        if self._app is not None:
            self._app.set_folders(_folders(self._folders))

    # --- What the editor's part asks of the agent's ----------------------------------------------------------------

    def _save_policy(self) -> SavePolicy:
        return self._made_app().settings.save

    async def _command_place(self) -> tuple[str, bool]:
        app = self._made_app()
        folder = app.workspace.command_folder
        return str(folder) if folder else "", (await app.command_place()).sandboxed

    # --- Settings --------------------------------------------------------------------------------------------------

    async def initialized(self) -> None:
        """Ask for the editor's settings, and to be told when they change."""
        if self.client.registers_configuration:
            registration = types.Registration("llamagent-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION)
            await self._try(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams([registration]))
        # Many editors answer {} where nothing is set: that takes nothing back of what they sent with `initialize`.
        if settings := await self._pulled():
            self.set_settings(settings)
        self._configured.set()
        # Now rather than at the first ask: it notes what open files are like while they are as they were opened.
        await off_loop(lambda _: import_module("llamagent_server.app"), name="llamagent-import")
        app = self._made_app()
        if not self.client.flags.trace:
            app.tell_problems()
        await off_loop(lambda _: temporary.sweep(), name="llamagent-sweep")

    async def pull_settings(self) -> None:
        settings = await self._pulled()
        if settings is not None:
            self.set_settings(settings)

    async def _pulled(self) -> JsonMap | None:
        """The editor's settings as it answers when asked; None when it does not."""
        if not self.client.has_configuration:
            return None
        params = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        answer = await self._try(types.WORKSPACE_CONFIGURATION, params)
        ours = answer[0] if isinstance(answer, list) and answer else None
        return _set(cast(JsonMap, ours)) if isinstance(ours, dict) else None

    def set_settings(self, settings: JsonMap) -> None:
        """The editor's live settings in place of those it sent before.

        Those of `initialize` go on counting, key by key, until the live ones have once had the key: an editor whose
        person takes a line out of their settings means it, and one that sends only what it knows takes nothing back.
        """
        given = _set(settings)
        self._live |= given.keys()
        self._settings = {**{key: value for key, value in self._initial.items() if key not in self._live}, **given}
        if self._app is not None:
            self._app.set_editor_settings(self._settings)

    async def _try(self, method: str, params: object) -> object:
        try:
            return await self.protocol.ask(method, params, lambda value: value)
        except AskFailed as problem:
            _log.info("%s: %s", method, problem)
            return None

    # --- The end ---------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        self.shown.close()
        if self._app is not None:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._app.close()
            except TimeoutError:
                _log.warning("the agent did not end within %s s", CLOSE_SECONDS)
            self._app = None


def _folders(roots: Sequence[RootFolder]) -> tuple[Folder, ...]:
    """Those that are folders of this machine."""
    named = ((root, to_path(root.uri)) for root in roots)
    return tuple(Folder(root.name or path.name, path, root.uri) for root, path in named if path and path.is_absolute())


def _set(settings: JsonMap) -> JsonMap:
    """What the person set: null means not set."""
    return {key: value for key, value in settings.items() if value is not None}
