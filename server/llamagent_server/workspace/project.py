"""The workspace as everyone else sees it: resolve, read, list and search, with open documents over the disk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from llamagent_server.core.unseen import shown
from llamagent_server.processes.box import Reach
from llamagent_server.processes.threads import Cancel, off_loop
from llamagent_server.workspace import confirming, disk, guarded, searching, snapshots
from llamagent_server.workspace.buffers import Buffers
from llamagent_server.workspace.confinement import Folder, PathProblem, ProblemKind, Purpose, Resolved, resolve
from llamagent_server.workspace.confinement import unique_names as named
from llamagent_server.workspace.confirming import Parts
from llamagent_server.workspace.decoding import Part
from llamagent_server.workspace.engines import Engine, find_engine
from llamagent_server.workspace.freshness import Freshness, Seen, same_text
from llamagent_server.workspace.searching import Scope
from llamagent_server.workspace.snapshots import NewFile, Snapshot, Source, View

_MOST_ALIKE = 3


@dataclass(frozen=True, slots=True)
class Listing:
    """Paths of the files below the folder `path`. Where `path` stands for several folders: their names with "/"."""

    path: str
    files: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class FoundLine:
    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """Hits by path and line; `literal` and `stopped` as in `searching.Hits`. `any_case`: only in another case there
    are some."""

    found: tuple[FoundLine, ...]
    literal: str = ""
    stopped: str = ""
    any_case: bool = False


class ProjectWorkspace:
    """The folders that are open in one editor. Nothing outside them is ever opened; blocking work is off the loop."""

    def __init__(self, folders: Sequence[Folder], buffers: Buffers, *, ripgrep: str = "") -> None:
        self._folders = named(folders)
        self._buffers = buffers
        self._ripgrep = ripgrep
        self._engine: Engine | None = None
        self._freshness = Freshness(self._look)

    # --- What the connection tells -----------------------------------------------------------------------------------

    @property
    def folders(self) -> tuple[Folder, ...]:
        return self._folders

    def set_folders(self, folders: Sequence[Folder]) -> None:
        self._folders = named(folders)

    def set_ripgrep(self, program: str) -> None:
        """Another path of ripgrep ("" = look for one)."""
        if program != self._ripgrep:
            self._ripgrep, self._engine = program, None

    def use_engine(self, engine: Engine) -> None:
        """List and search with this program, whatever is installed."""
        self._engine = engine

    def opened(self, uri: str) -> None:
        """Note that a document was opened; as soon as it is among the buffers."""
        document = self._buffers.get(uri)
        if document is not None and not document.problem and snapshots.is_work(uri):
            self._freshness.opened(document)

    def saved(self, uri: str) -> None:
        document = self._buffers.get(uri)
        if document is not None and not document.problem and snapshots.is_work(uri):
            self._freshness.saved(document)

    def closed(self, uri: str) -> None:
        self._freshness.closed(uri)

    # --- What the agent and its tools ask ----------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        return self._buffers.generation

    @property
    def command_folder(self) -> Path | None:
        """Where commands run: the first folder."""
        return self._folders[0].path if self._folders else None

    @property
    def no_commands(self) -> str | None:
        return None if self._folders else "no folder is open, so there is nowhere to run a command"

    async def reach(self, history: bool) -> Reach:
        """What a sandboxed command may write; `history`: it is one of git's that add to a repository's."""
        folders = [folder.path for folder in self._folders]
        return await off_loop(lambda _: guarded.reach(folders, history=history))

    def describe(self) -> str:
        if not self._folders:
            return "No folder is open: only files that are open in the editor can be read and edited."
        names = ", ".join(shown(folder.name) for folder in self._folders)
        if len(self._folders) == 1:
            return f"The project folder is {names}. Paths are relative to it."
        return f"The project has several folders: {names}. A path begins with the folder's name."

    async def resolve(self, path: str, purpose: Purpose) -> Resolved | PathProblem:
        folders = self._folders
        return await off_loop(lambda _: resolve(path, purpose, folders))

    async def read(self, path: str, *, max_bytes: int = disk.READ_BYTES) -> Snapshot | PathProblem:
        """The text of a file (`path` may be a URI): the open document's, else the disk's; the disk's, too, where the
        document has no unsaved changes and the file is newer."""
        view = self._view()
        return await off_loop(lambda _: snapshots.read(view, self._freshness, path, max_bytes))

    async def read_for_edit(self, path: str, *, ours: bool = False) -> Snapshot | NewFile | PathProblem:
        """As `read`, for a file that is to be written: where none is, the place for it; protected files are refused.
        `ours`: one in our own folder, and no other."""
        view, purpose = self._view(), Purpose.SET_UP if ours else Purpose.WRITE
        return await off_loop(lambda _: snapshots.for_edit(view, self._freshness, path, purpose))

    async def read_lines(self, path: str, start: int, end: int) -> Part | PathProblem:
        """Some lines of a file of any size, from disk (1-based, `end` included)."""
        folders = self._folders

        def work(_: Cancel) -> Part | PathProblem:
            place = resolve(path, Purpose.READ, folders)
            return place if isinstance(place, PathProblem) else disk.read_lines(place, start, end)

        return await off_loop(work)

    def open_paths(self) -> tuple[str, ...]:
        """The files of the project that are open in the editor."""
        places = (resolve(document.uri, Purpose.READ, self._folders) for document in self._view().documents)
        return tuple(place.path for place in places if isinstance(place, Resolved))

    def unfiled(self, path: str) -> Path | None:
        """The file, by no link, of the open document that `path` names where no folder is open."""
        document = self._view().without_folder(path)
        return snapshots.real_path(document) if document is not None else None

    async def files(self) -> tuple[str, ...]:
        """All files of all folders, ignored ones left out."""
        several = len(self._folders) > 1
        listings = [await self.list(folder.name if several else ".") for folder in self._folders]
        return tuple(path for listing in listings if isinstance(listing, Listing) for path in listing.files)

    async def list(self, path: str) -> Listing | PathProblem:
        """The files below a folder, ignored ones left out."""
        view = self._view()
        return await off_loop(lambda cancel: self._list(view, path, cancel))

    async def absent(self, listing: Listing, paths: Sequence[str]) -> frozenset[str]:
        """Those of `paths`, files of `listing` or folders that hold such, that are not there: its program may have been
        led out of the workspace, or they are gone."""
        view = self._view()
        return await off_loop(lambda _: _absent(view, listing.path, paths))

    async def search(self, pattern: str, path: str) -> Search | PathProblem:
        """The lines that match `pattern` below a folder, or in a file; where there is none, those in another case."""
        view = self._view()
        return await off_loop(lambda cancel: self._search(view, pattern, path, cancel))

    async def alike(self, path: str) -> tuple[str, ...]:
        """A few files with the name that `path` ends with, for somebody who has the folder wrong."""
        name = path.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
        view = self._view()
        return await off_loop(lambda cancel: self._alike(view, name, cancel)) if name else ()

    # --- Off the loop ------------------------------------------------------------------------------------------------

    def _view(self) -> View:
        documents = (document for document in self._buffers.all() if snapshots.is_work(document.uri))
        return View(self._folders, tuple(documents))

    def _look(self, uri: str) -> Seen | None:
        place = resolve(uri, Purpose.READ, self._folders)
        if isinstance(place, PathProblem) or (stamp := disk.stamp_of(place)) is None:
            return None
        found = disk.read(place, disk.EDIT_BYTES)
        return Seen(stamp, None) if isinstance(found, PathProblem) else Seen(found.stamp, found.text)

    def _search_engine(self) -> Engine:
        if self._engine is None:
            self._engine = find_engine(self._ripgrep)
        return self._engine

    def _list(self, view: View, path: str, cancel: Cancel) -> Listing | PathProblem:
        unfiled = tuple(snapshots.names_without_folder(view))
        if len(view.folders) != 1 and _is_top(path):
            return Listing(".", (*(f"{folder.name}/" for folder in view.folders), *unfiled), complete=True)
        place = resolve(path, Purpose.LIST, view.folders)
        if isinstance(place, PathProblem):
            return place
        try:
            with searching.in_time(cancel) as limited:
                files = searching.list_files(self._search_engine(), self._scope(view, place, limited), limited)
        except OSError as error:
            return _no_engine(error)
        names = tuple([place.prefix + path for path in files.paths]) if place.prefix else files.paths
        return Listing(place.path, names + (unfiled if not place.parts else ()), files.complete)

    def _alike(self, view: View, name: str, cancel: Cancel) -> tuple[str, ...]:
        found: list[str] = []
        for top in [f"{folder.name}/" for folder in view.folders] if len(view.folders) > 1 else ["."]:
            listing = self._list(view, top, cancel)
            if isinstance(listing, Listing):
                alike = [file for file in listing.files if file.rpartition("/")[2].casefold() == name][:_MOST_ALIKE]
                absent = _absent(view, listing.path, alike)
                found += [file for file in alike if file not in absent]
        return tuple(found[:_MOST_ALIKE])

    def _search(self, view: View, pattern: str, path: str, cancel: Cancel) -> Search | PathProblem:
        places = self._places(view, path)
        if isinstance(places, PathProblem):
            return places
        try:
            with searching.in_time(cancel) as limited:
                search = self._search_places(view, places, pattern, limited)
                if searching.minds_case(pattern) and not (search.found or search.literal or search.stopped):
                    # Who guesses a name often has only its case wrong.
                    again = self._search_places(view, places, f"(?i){pattern}", limited)
                    if again.found and not again.literal:
                        return replace(again, any_case=True)
                    search = replace(search, stopped=again.stopped)
        except OSError as error:
            return _no_engine(error)
        return search

    def _search_places(self, view: View, places: Sequence[Resolved], pattern: str, cancel: Cancel) -> Search:
        searches = []
        for place in places:
            scope = self._scope(view, place, cancel)
            hits = searching.search(self._search_engine(), scope, pattern, cancel)
            found = tuple(FoundLine(place.below(hit.parts), hit.number, hit.text) for hit in hits.found)
            searches.append(Search(found, hits.literal, hits.stopped))
        return Search(
            tuple(line for search in searches for line in search.found),
            next((search.literal for search in searches if search.literal), ""),
            next((search.stopped for search in searches if search.stopped), ""),
        )

    def _places(self, view: View, path: str) -> Sequence[Resolved] | PathProblem:
        if len(view.folders) > 1 and _is_top(path):
            found = [resolve(f"{folder.name}/", Purpose.LIST, view.folders) for folder in view.folders]
            return [place for place in found if isinstance(place, Resolved)]
        place = resolve(path, Purpose.LIST, view.folders)
        if isinstance(place, PathProblem) and place.kind is ProblemKind.REFUSED:
            file = resolve(path, Purpose.READ, view.folders)
            place = file if isinstance(file, Resolved) else place
        return place if isinstance(place, PathProblem) else [place]

    def _scope(self, view: View, place: Resolved, cancel: Cancel) -> Scope:
        """Open documents lie over the disk where their text differs from it. Once stopping is asked for, not all do."""
        overlay: dict[Parts, str] = {}
        for real, document in view.files():
            if cancel.asked:
                break
            if place.root not in real.parents:
                continue
            snapshot = snapshots.of_document(view, self._freshness, document)
            if snapshot is not None and snapshot.source is Source.BUFFER:
                seen = self._look(document.uri)
                if seen is None or seen.text is None or not same_text(seen.text, snapshot.text):
                    overlay[real.relative_to(place.root).parts] = snapshot.text
        return Scope(place.root, place.parts, overlay)


def _is_top(path: str) -> bool:
    return path.strip().rstrip("/") in ("", ".")


def _absent(view: View, folder: str, paths: Sequence[str]) -> frozenset[str]:
    """As `ProjectWorkspace.absent`, of the listing of `folder`."""
    if len(view.folders) != 1 and _is_top(folder):
        return frozenset()  # the folders themselves
    place = resolve(folder, Purpose.LIST, view.folders)
    if isinstance(place, PathProblem):
        return frozenset(paths)
    absent = confirming.absent(place.root, [tuple(path.removeprefix(place.prefix).split("/")) for path in paths])
    if not absent:
        return frozenset()
    below = (real.relative_to(place.root).parts for real, _ in view.files() if place.root in real.parents)
    opened = [*snapshots.names_without_folder(view), *map(place.below, below)]
    return frozenset(
        path
        for path in map(place.below, absent)
        if not any(name == path or name.startswith(f"{path}/") for name in opened)
    )


def _no_engine(error: OSError) -> PathProblem:
    return PathProblem(ProblemKind.UNREADABLE, f"The search program could not be started: {error.strerror or error}.")
