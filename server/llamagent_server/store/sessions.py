"""The stored conversations of one workspace: listed, begun, opened again, deleted.

They are kept in the project's `.llamagent/sessions`, or, where that may not or cannot be used, in the user's folder
under the project's name and a hash of its path.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from llamagent_server.agent.ports import Clock, Stored
from llamagent_server.core.messages import Json, JsonObject
from llamagent_server.errors import TRUST, BadArgument, Busy, RequestError, UnknownSession, Untrusted
from llamagent_server.store import journal, locks, places
from llamagent_server.store.copies import copied, moved
from llamagent_server.store.foreign import Foreign, read_foreign
from llamagent_server.store.journal import OURS, Beginning, FileJournal
from llamagent_server.store.leftovers import sweep
from llamagent_server.store.locks import Held
from llamagent_server.store.places import Place
from llamagent_server.store.project_files import IGNORE_ALL
from llamagent_server.store.summaries import Summary, Told, summarise, utc
from llamagent_server.store.traces import Trace, trace_of

FOLDER = "sessions"
THEIRS = ".json"  # the terminal agent's
MARK = ".mine"
# Of a longer journal the list reads the beginning only; one longer than the second is not opened.
LISTED_BYTES = 64 * 1024 * 1024
OPENED_BYTES = 512 * 1024 * 1024
MOST_LISTED = 1000

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One row of the list. `updated` is UTC, ISO 8601."""

    id: str
    title: str
    updated: str
    model: str
    messages: int
    damaged: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file of a conversation. `stamp` differs once it was written again."""

    place: Place
    id: str
    suffix: str
    stamp: tuple[int, int, int]

    @property
    def name(self) -> str:
        return self.id + self.suffix


class SessionStore:
    """Implements agent.ports.Store.

    `folder` is the workspace's first one, None where there is none. `trusted` says what the person thinks of it now:
    of one that they do not trust nothing is used; while they were not asked (None) new conversations are kept there,
    and only one's own are seen: a mark in the user's folder tells which these are.
    `problem` says why the folder is not used although it could be.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        trusted: Callable[[], bool | None],
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._trusted = trusted
        self._private = places.user_place(FOLDER, places.workspace_name(folder))
        self._project = places.project_place(folder) if folder is not None else None
        self._apart = folder is not None and places.is_wide(folder)  # of no project: what is there is gone on with here
        self.problem: str | None = None
        if self._project is not None and (reason := places.obstacle(self._project.below(FOLDER))) is not None:
            self._project = None
            self.problem = f"Conversations are kept in {self._private.path}: {reason}."
        self._seen: dict[Path, tuple[tuple[int, int, int], Summary, float]] = {}
        self._given: set[str] = set()
        self._copies: dict[str, str] = {}  # of conversations in use elsewhere: the copy's id, and the original's
        self._swept = False

    # --- Beginning and going on ------------------------------------------------------------------------------------

    def create(self, header: Callable[[str], dict[str, Json]]) -> FileJournal:
        """The journal of a new conversation, whose first line will be `header` of its id."""
        session = self._new_id()
        first = self._places[0]
        place = self._private if self._trusted() is False or not places.writable(first) else first
        beginning = Beginning((header(session),), lambda: self._begin(place, session))
        return FileJournal(session, place, session + OURS, beginning=beginning)

    def open(self, session: str) -> Stored:
        """A stored conversation, to be gone on with. Raises UnknownSession."""
        entry = self._opened(session)
        held, in_use = locks.take_if_any(entry.place, journal.lock_name(entry.id))
        try:
            data = self._read(entry, OPENED_BYTES)
            told = _told(entry, data)
        except UnknownSession:
            if held is not None:
                held.release()
            raise
        if in_use:
            return self._copy(entry, told)
        return self._open_theirs(entry, told, held) if entry.suffix == THEIRS else _open_ours(entry, data, held)

    def read(self, session: str) -> Told:
        """A stored conversation as it is now, whoever is writing to it. Raises UnknownSession."""
        entry = self._opened(session)
        return _told(entry, self._read(entry, OPENED_BYTES))

    def _opened(self, session: str) -> _Entry:
        entry = self._find(session)
        if entry.stamp[1] > OPENED_BYTES:
            raise UnknownSession(f"The conversation {session} is too large to be opened.")
        return entry

    def _copy(self, entry: _Entry, told: Told) -> Stored:
        """Of a conversation that another process is writing to: what is said here goes into a conversation of its own,
        which is stored with the first word."""
        session = self._new_id()
        title = f"{told.title} (copy)"
        records = (*copied(told.records, session), {"type": "title", "title": title})
        place = self._private if self._apart else entry.place
        beginning = Beginning(records, lambda: self._begin(place, session))
        self._copies[session] = entry.id
        problem = f"This conversation is in use in another window, so you go on in a copy of it: {title}."
        return Stored(FileJournal(session, place, session + OURS, beginning=beginning), records, title, problem)

    def _open_theirs(self, entry: _Entry, told: Told, held: Held | None) -> Stored:
        """What the terminal agent saved stays as it is: our journal begins with a copy of it."""
        place = self._private if self._apart else entry.place
        beginning = Beginning(tuple(told.records), lambda: self._make_folder(place))
        goes_on = FileJournal(entry.id, place, entry.id + OURS, beginning=beginning, held=held)
        return Stored(goes_on, told.records, title=told.title)

    def delete(self, session: str) -> None:
        """Raises UnknownSession; BadArgument for what another program keeps, Busy while another process uses it,
        RequestError where it cannot be done."""
        entry = self._find(session)
        if entry.suffix == THEIRS:
            raise BadArgument(
                f"The conversation {session} belongs to the llamagent terminal agent.", hint="Delete it there."
            )
        held, in_use = locks.take_if_any(entry.place, journal.lock_name(entry.id))
        if in_use:
            raise Busy(f"The conversation {session} is in use in another window.", hint="Close it there first.")
        try:
            places.remove(entry.place, entry.name)
        except OSError as error:
            raise RequestError(f"The conversation {session} cannot be deleted: {places.words(error)}.") from None
        finally:
            if held is not None:
                held.release()
        with contextlib.suppress(OSError):
            places.remove(self._private, session + MARK)

    def forget(self, session: str) -> None:
        """Delete a conversation that its person has cleared, if it is stored at all and can be deleted."""
        with contextlib.suppress(RequestError):
            self.delete(session)

    def trace(self, session: str) -> Trace:
        """Empty for a conversation that is not stored yet."""
        try:
            entry = self._find(session)
        except (UnknownSession, Untrusted):
            original = self._copies.get(session)
            return Trace() if original is None else moved(self.trace(original), session)
        if entry.suffix == THEIRS:
            return Trace()
        return trace_of(journal.parse(self._read(entry, OPENED_BYTES)).records)

    # --- Listing ---------------------------------------------------------------------------------------------------

    def sessions(self) -> tuple[StoredSession, ...]:
        """Newest first. What has no messages is not shown, but for what is damaged: that harms no other."""
        if not self._swept:
            self._swept = True
            for place in self._places:
                sweep(place, self._counts(place))
        found = [(entry, *self._summary(entry)) for entry in self._entries()[:MOST_LISTED]]
        shown = [(entry, told, updated) for entry, told, updated in found if told.messages or told.damaged]
        shown.sort(key=lambda row: (row[2], row[0].id), reverse=True)
        return tuple(
            StoredSession(entry.id, told.title, utc(updated), told.model, told.messages, told.damaged)
            for entry, told, updated in shown
        )

    def unseen(self) -> bool:
        """Whether the project has conversations that do not count."""
        return any(not self._counts(place)(entry.id) for place in self._places for entry in _files(place))

    def _summary(self, entry: _Entry) -> tuple[Summary, float]:
        path = entry.place.path / entry.name
        seen = self._seen.get(path)
        if seen is not None and seen[0] == entry.stamp:
            return seen[1:]
        updated = entry.stamp[0] / 1e9
        try:
            data = places.read(entry.place, entry.name, LISTED_BYTES)
        except OSError:
            return Summary(damaged=True), updated
        if entry.suffix == THEIRS:
            saved = read_foreign(data)
            told, updated = saved.summary, _updated(saved, entry)
        else:
            told = summarise(data)
        self._seen[path] = (entry.stamp, told, updated)
        return told, updated

    # --- Files -----------------------------------------------------------------------------------------------------

    @property
    def _places(self) -> tuple[Place, ...]:
        """Where conversations are."""
        if self._project is None:
            return (self._private,)
        project = self._project.below(FOLDER)
        return (self._private, project) if self._apart else (project, self._private)

    def _counts(self, place: Place) -> Callable[[str], bool]:
        """Whether what is stored there under an id may be used."""
        every = place == self._private or self._trusted() is True
        own = set() if every else self._given | self._marked()
        return lambda session: every or session in own

    def _marked(self) -> set[str]:
        """The conversations that were begun in the project by this user."""
        try:
            return {name.removesuffix(MARK) for name in places.names(self._private) if name.endswith(MARK)}
        except OSError:
            return set()

    def _entries(self) -> list[_Entry]:
        """One for each id, newest first: of two with the same id ours counts, and the project's before the user's."""
        found: dict[str, _Entry] = {}
        for place in self._places:
            counts = self._counts(place)
            for entry in sorted(_files(place), key=lambda entry: entry.suffix != OURS):
                if counts(entry.id):
                    found.setdefault(entry.id, entry)
        return sorted(found.values(), key=lambda entry: entry.stamp, reverse=True)

    def _find(self, session: str) -> _Entry:
        for place in self._places if _ID.fullmatch(session) else ():
            for suffix in (OURS, THEIRS) if self._counts(place)(session) else ():
                if (entry := _entry(place, session, suffix)) is not None:
                    return entry
        if any(entry.id == session for place in self._places for entry in _files(place)):
            raise Untrusted(f"The conversation {session} is the project's, and this folder is not trusted.", hint=TRUST)
        raise UnknownSession(f"There is no stored conversation {session!r}.", hint="List them with `sessions`.")

    def _read(self, entry: _Entry, max_bytes: int) -> bytes:
        try:
            return places.read(entry.place, entry.name, max_bytes)
        except OSError as error:
            raise UnknownSession(f"The conversation {entry.id} cannot be read: {places.words(error)}.") from None

    def _new_id(self) -> str:
        """Sortable by time, and safe as a file's name."""
        while True:
            session = f"{self._clock():%Y-%m-%dT%H-%M-%S}-{secrets.token_hex(2)}"
            stored = any(_entry(place, session, OURS) is not None for place in self._places)
            if session not in self._given and not stored:
                self._given.add(session)
                return session

    def _begin(self, place: Place, session: str) -> None:
        """Raises OSError where the folder cannot be made. Without its mark a conversation is seen only after trust."""
        self._make_folder(place)
        if place != self._private and self._trusted() is not True:
            with contextlib.suppress(OSError):
                places.make_folder(self._private)
                places.create(self._private, session + MARK)

    def _make_folder(self, place: Place) -> None:
        if self._project is not None and place == self._project.below(FOLDER):
            places.make_folder(self._project, mode=0o777)  # shared as the project is, but for the conversations
            with contextlib.suppress(FileExistsError):
                places.create(self._project, ".gitignore", IGNORE_ALL.encode(), mode=0o666)
        places.make_folder(place)


def _told(entry: _Entry, data: bytes) -> Told:
    """Raises UnknownSession for a damaged conversation of the terminal agent."""
    if entry.suffix == OURS:
        replay = journal.parse(data)
        return Told(summarise(data).title, replay.records, replay.damaged)
    saved = read_foreign(data)
    if saved.summary.damaged:
        raise UnknownSession(f"The conversation {entry.id} cannot be read: its file is damaged.")
    header: JsonObject = {"type": "session", "version": 1, "id": entry.id, "created": utc(_updated(saved, entry))}
    return Told(saved.summary.title, ({**header, "model": saved.summary.model}, *saved.records))


def _open_ours(entry: _Entry, data: bytes, held: Held | None) -> Stored:
    replay = journal.parse(data)
    goes_on = FileJournal(entry.id, entry.place, entry.name, whole=replay.whole, held=held)
    return Stored(goes_on, replay.records, title=summarise(data).title, problem=replay.damaged)


def _files(place: Place) -> Iterator[_Entry]:
    try:
        found = places.statuses(place)
    except OSError:
        return
    for name, status in found.items():
        stem, _, extension = name.rpartition(".")
        if f".{extension}" in (OURS, THEIRS) and _ID.fullmatch(stem):
            yield _Entry(place, stem, f".{extension}", _stamp(status))


def _entry(place: Place, session: str, suffix: str) -> _Entry | None:
    try:
        return _Entry(place, session, suffix, _stamp(places.status(place, session + suffix)))
    except OSError:
        return None


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _updated(saved: Foreign, entry: _Entry) -> float:
    return entry.stamp[0] / 1e9 if saved.updated is None else saved.updated
