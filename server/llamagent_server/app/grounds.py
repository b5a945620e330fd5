"""What the user and a trusted workspace bring along: settings, notes, skills, allowed commands, stored conversations.

A workspace that nobody trusted brings nothing; of a trusted one counts what its person saw (store.brought), unless
their editor vouches for it.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from llamagent_server.agent.results import Allowed, Changed, TrustReport
from llamagent_server.app.connection import Connection
from llamagent_server.core.messages import Json
from llamagent_server.errors import TRUST, BadArgument, RequestError, Untrusted
from llamagent_server.processes.environment import own_programs
from llamagent_server.processes.there import is_folder
from llamagent_server.processes.threads import off_loop
from llamagent_server.setting_rules import can_be_allowed
from llamagent_server.settings import validate_one
from llamagent_server.settings_load import Loaded, Problem, Scope, Sources, allowing, load
from llamagent_server.store import brought
from llamagent_server.store.brought import Brought, Seen
from llamagent_server.store.checkpoints import FileCheckpoints
from llamagent_server.store.config_files import read_config_files
from llamagent_server.store.places import is_wide, real, user_folder
from llamagent_server.store.sessions import SessionStore
from llamagent_server.store.skills import NEW, Shelf, Skill, read_skills, skills_brought
from llamagent_server.store.trust import TrustStore
from llamagent_server.workspace import Folder, ProjectWorkspace, Snapshot

NOTES = "AGENTS.md"
WIDE = "{folder} is your home folder, or holds it: the model may read all that is in it. Open a project's folder."
NOTES_CHARS = 4000
ALLOWED = "allowed_commands"
OLDER = ".llamagent/sessions"
RULES = (NOTES, ".llamagent/config.toml", ".llamagent/server.toml", ".llamagent/skills", ".agents/skills")


class Grounds:
    """The first folder is the one whose `.llamagent/` counts. `workspace` may come into being after this does."""

    def __init__(self, connection: Connection, workspace: Callable[[], ProjectWorkspace]) -> None:
        self._connection = connection
        self._workspace = workspace
        self._trust = TrustStore()
        self._folder = _first(connection.folders)
        self._answer: bool | None = None  # to the trust question, in this connection
        self._asking = asyncio.Lock()
        self._brought: tuple[Brought, ...] = ()  # when it was last looked at
        self._declined: set[str] = set()  # digests that the person said no to, in this connection
        self._notes_problem: str | None = None
        self._editor = connection.settings
        self._session: dict[str, Json] = {}
        self._told: set[str] = set()
        self._store = self._made_store()
        self._checkpoints = self._made_checkpoints()
        self.notes = ""
        self.loaded: Loaded = self._load()

    # --- Trust -----------------------------------------------------------------------------------------------------

    @property
    def trusted(self) -> bool | None:
        """None: nobody said."""
        if self._connection.trusted is not None:
            return self._connection.trusted
        if self._folder is None or self._answer is not None:
            return self._answer
        return self._trust.is_trusted(self._folder.path)

    @property
    def _trusted_folder(self) -> Path | None:
        return self._folder.path if self._folder is not None and self.trusted else None

    async def settle(self, tell: Callable[[str], None] | None = None, *, listing: bool = False) -> None:
        """Ask for trust where the workspace brings something and nobody said; `tell` what does not count, once.

        Stored conversations matter only to who is `listing` them.
        """
        async with self._asking:
            offered, notes = await self._settled(listing=listing)
        self.reload()
        self._take_notes(notes)
        if tell is None:
            return
        if offered and not self.trusted:
            self._tell_once(tell, f"This folder is not trusted, so these do not count: {', '.join(offered)}.")
        self.tell_problems(tell)

    async def _settled(self, *, listing: bool) -> tuple[list[str], str]:
        """What the folder offers, and its notes, once its person was asked; begun anew where another folder was opened
        meanwhile, for an answer is about the folder that the question named."""
        while True:
            folder, offered = self._folder, self._offered(listing=listing)
            notes = await self._read_notes()
            looked = await self._look(notes)
            if self._folder == folder:
                self._brought = looked
                if self.trusted is None and folder is not None and offered:
                    await self._settle_trust(folder, looked)
                else:
                    await self._settle_changes(folder, looked)
            if self._folder == folder:
                return offered, notes

    async def _settle_trust(self, folder: Folder, looked: tuple[Brought, ...]) -> None:
        answer = await self._connection.ask_trust(folder, ())
        if answer:
            self._trust.set_trusted(folder.path, True, brought.digests(looked))
        if self._folder == folder:
            self._answer = answer

    async def _settle_changes(self, folder: Folder | None, looked: tuple[Brought, ...]) -> None:
        """Ask about what a trusted folder brings and its person has not seen."""
        if folder is None or self._connection.trusted is not None or not self.trusted:
            return
        seen = self._trust.seen(folder.path)
        if seen is None:  # trusted before it was remembered what for
            self._trust.see(folder.path, brought.digests(looked))
            return
        new = [item for item in looked if item.digest not in seen | self._declined]
        if new:
            if await self._connection.ask_trust(folder, brought.labels(new)):
                self._trust.see(folder.path, brought.digests(new))
            elif self._folder == folder:
                self._declined.update(brought.digests(new))

    def _seen(self) -> Seen:
        """Whether something that the folder brings counts, where the folder is trusted."""
        if self._folder is None or self._connection.trusted is not None:
            return brought.every
        seen = self._trust.seen(self._folder.path)
        return brought.every if seen is None else lambda item: item.digest in seen

    async def _look(self, notes: str) -> tuple[Brought, ...]:
        folder = self._folder
        return () if folder is None else await off_loop(lambda _: _brought(folder.path, notes))

    def tell_problems(self, tell: Callable[[str], None]) -> None:
        """`tell` what was not told yet."""
        for problem in self.problems():
            self._tell_once(tell, problem)

    def problems(self) -> tuple[str, ...]:
        """What does not count, and why, in words for the person."""
        told = (self._trust.problem, self._store.problem, self._notes_problem)
        found = (*map(str, self.loaded.problems), *told, *self._shelf().problems)
        wide = self._folder is not None and is_wide(self._folder.path)
        first = (WIDE.format(folder=self._folder.path),) if wide and self._folder else ()
        return (*first, *(problem for problem in found if problem))

    async def settle_for_setting_up(self) -> Folder:
        """The folder to set up. Raises RequestError where none is open, Untrusted where it is not trusted."""
        await self.settle()
        if self._folder is None:
            raise RequestError("No folder is open, so there is no project to set up.", hint="Open a folder first.")
        if self.trusted is False:
            raise Untrusted("This folder is not trusted, so what `init` makes would not count.", hint=TRUST)
        return self._folder

    async def set_up(self, folder: Folder) -> None:
        """What came since `folder` was last looked at is the person's own, while it is the one that is open."""
        before = self._brought
        looked = await self._look(await self._read_notes())
        if self._folder != folder:
            return
        self._brought = looked
        if self._connection.trusted is None:
            own = [item for item in looked if item not in before]
            self._trust.see(folder.path, brought.digests(own))

    async def trust(self, folder: str, *, trusted: bool) -> TrustReport:
        """Remember the person's word on a folder, and on what it brings now. Raises BadArgument."""
        path = Path(folder)
        if not path.is_absolute() or not is_folder(path):
            raise BadArgument(f"{folder} is no folder.", hint="Name the folder by its full path.")
        seen = None
        if self._folder is not None and real(path) == real(self._folder.path):
            self._brought = await self._look(await self._read_notes(trusting=trusted))
            seen = brought.digests(self._brought)
        self._trust.set_trusted(path, trusted, seen)
        self._answer = None
        self.reload()
        return TrustReport(str(path), trusted)

    def _offered(self, *, listing: bool) -> list[str]:
        """What the workspace would bring. Of the home folder, `.llamagent` is the user's own and counts anyway."""
        folder = self._folder
        own = folder is not None and (folder.path / ".llamagent").resolve() == user_folder().resolve()
        rules = (NOTES,) if own else RULES
        offered = [name for name in rules if folder is not None and os.path.lexists(folder.path / name)]
        return [*offered, OLDER] if listing and self._store.unseen() else offered

    def _tell_once(self, tell: Callable[[str], None], words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            tell(words)

    # --- Settings --------------------------------------------------------------------------------------------------

    def reload(self) -> None:
        self.loaded = self._load()

    def set_editor(self, settings: Mapping[str, Json]) -> None:
        self._editor = settings
        self.reload()

    def set_folders(self, folders: tuple[Folder, ...]) -> None:
        if _first(folders) != self._folder:
            self._session.pop(ALLOWED, None)  # said of the folder that was open
        self._folder = _first(folders)
        self._answer = None
        self._store = self._made_store()
        self._checkpoints = self._made_checkpoints()
        self.reload()

    def set_for_session(self, key: str, value: Json) -> Changed:
        """Change a setting until the connection ends. Raises BadSetting."""
        validate_one(key, value)
        previous = getattr(self.loaded.settings, key)
        self._session[key] = value
        self.reload()
        return Changed(getattr(self.loaded.settings, key), previous)

    def allow(self, prefix: str | None, *, revoke: bool) -> Allowed:
        """Commands that begin so run without asking until the connection ends. Raises BadArgument, BadSetting."""
        allowed = self.loaded.settings.allowed_commands
        if prefix is not None:
            words = " ".join(prefix.split())
            if not revoke and not can_be_allowed(words):
                raise BadArgument(
                    "An allowed command is made of plain words, without quotes and without what a shell acts on.",
                    hint="Such a command asks each time.",
                )
            kept = [known for known in allowed if known != words]
            self.set_for_session(ALLOWED, list(kept if revoke else [*kept, words]))
        return Allowed(self.loaded.settings.allowed_commands)

    def _load(self) -> Loaded:
        files, problems = read_config_files(user_folder(), self._trusted_folder)
        seen = self._seen()
        loaded = load(
            Sources(
                files=files,
                environ=os.environ,
                editor=self._editor,
                command_line=self._connection.overrides,
                session=self._session,
                problems=problems,
                seen=lambda key, value: seen(brought.of_setting(key, value)),
            )
        )
        return loaded if self._session.get(ALLOWED) is not None else self._asking_again(loaded)

    def _asking_again(self, loaded: Loaded) -> Loaded:
        """`git status` is no word of its own where the folder decides what git is: allowed commands ask there too,
        until the person trusts it. What they allow in this very connection stands."""
        if not loaded.settings.allowed_commands or self._folder is None or self.trusted:
            return loaded
        programs = own_programs(self._folder.path, os.environ)
        if programs is None and self.trusted is None:
            return loaded
        why = "is not trusted" if programs is None else f"is not trusted and decides what they run ({programs})"
        told = Problem(loaded.origins[ALLOWED], f"Allowed commands ask in this folder, which {why}.", key=ALLOWED)
        settings = replace(loaded.settings, allowed_commands=())
        return replace(loaded, settings=settings, problems=(*loaded.problems, told))

    # --- Notes, skills, conversations ------------------------------------------------------------------------------

    async def _read_notes(self, *, trusting: bool = False) -> str:
        """The AGENTS.md of the folder as the editor shows it, as far as a prompt has room for it. Of a folder that is
        not trusted it is read only for who is about to trust it."""
        if self._folder is None or (self.trusted is False and not trusting):
            return ""
        workspace = self._workspace()
        several = len(workspace.folders) > 1
        found = await workspace.read(f"{workspace.folders[0].name}/{NOTES}" if several else NOTES)
        text = found.text.strip() if isinstance(found, Snapshot) else ""
        return text if len(text) <= NOTES_CHARS else f"{text[:NOTES_CHARS]}\n[cut here; read {NOTES} for the rest]"

    def _take_notes(self, text: str) -> None:
        counts = not text or self._seen()(brought.of_notes(text))
        self.notes = text if self.trusted and counts else ""
        self._notes_problem = f"{NOTES} {NEW}." if self.trusted and not counts else None

    def skills(self) -> tuple[Skill, ...]:
        return tuple(self._shelf().skills.values())

    def skill_text(self, name: str) -> str:
        """Raises UnknownSkill; Untrusted for one of a project that the person does not trust, or has not seen."""
        shelf = self._shelf()
        if name not in shelf.skills and name in self._distrusted_skills():
            raise Untrusted(f"The skill {name} is the project's, and this folder is not trusted.", hint=TRUST)
        return shelf.text(name)

    def _distrusted_skills(self) -> Collection[str]:
        return read_skills(self._folder.path).skills if self._folder is not None and not self.trusted else ()

    def _shelf(self) -> Shelf:
        return read_skills(self._trusted_folder, self._seen())

    def store(self) -> SessionStore:
        return self._store

    def checkpoints(self) -> FileCheckpoints:
        return self._checkpoints

    def _made_checkpoints(self) -> FileCheckpoints:
        return FileCheckpoints(self._folder.path if self._folder else None)

    def _made_store(self) -> SessionStore:
        return SessionStore(self._folder.path if self._folder else None, trusted=self._trusted_to_keep)

    def _trusted_to_keep(self) -> bool | None:
        """What the store may take the folder for: while the question of trust is open, it is not trusted."""
        return False if self.trusted is None and self._offered(listing=False) else self.trusted


def _first(folders: tuple[Folder, ...]) -> Folder | None:
    return folders[0] if folders else None


def _brought(folder: Path, notes: str) -> tuple[Brought, ...]:
    """What of a folder counts only as its person saw it, what could run first. Blocking."""
    files, _ = read_config_files(user_folder(), folder)
    values = (pair for file in files if file.scope is Scope.WORKSPACE for pair in allowing(file))
    told = (brought.of_notes(notes),) if notes else ()
    return (*(brought.of_setting(*pair) for pair in values), *told, *skills_brought(folder))
