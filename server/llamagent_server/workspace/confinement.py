"""The one function that says where a path from the model leads, and whether it may be used at all.

Inside means: below a folder of the workspace once every link is resolved the way the system does it. What comes out has
no link left, and is opened as such (`workspace.opening`).
"""

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from llamagent_server.core.unseen import shown
from llamagent_server.processes.there import is_file, is_folder
from llamagent_server.workspace import uris
from llamagent_server.workspace.names import fault, protected


class Purpose(StrEnum):
    READ = "read"  # a file
    WRITE = "write"  # a whole file, there already or not
    LIST = "list"  # a folder
    SET_UP = "set_up"  # as WRITE, but a file in our own folder: what `init` proposes, and no tool


_WRITES = (Purpose.WRITE, Purpose.SET_UP)
_OURS = ".llamagent"


class ProblemKind(StrEnum):
    REFUSED = "refused"
    MISSING = "missing"  # allowed, but nothing is there
    TOO_LARGE = "too_large"  # to be read whole
    UNREADABLE = "unreadable"  # there, but not as text, or not at all


@dataclass(frozen=True, slots=True)
class PathProblem:
    """`message` is one sentence that says why, and what to do instead where there is something."""

    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the workspace. `path` is absolute, `uri` in the client's spelling."""

    name: str
    path: Path
    uri: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """A place inside the workspace. `parts` lead from the real path `root` to it, with no link on the way.

    `path` is how the model names it; `prefix` is what stands before the parts in it (the folder's name, if there are
    several). `uri` is below the folder's URI as the client spells that.
    """

    folder: Folder
    root: Path
    parts: tuple[str, ...]
    exists: bool
    is_folder: bool
    prefix: str = ""

    @property
    def real(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def path(self) -> str:
        return self.below(self.parts)

    @property
    def uri(self) -> str:
        tail = uris.quote_path("/".join(self.parts))
        return f"{self.folder.uri.rstrip('/')}/{tail}" if tail else self.folder.uri

    def below(self, parts: Sequence[str]) -> str:
        return (self.prefix + "/".join(parts)).rstrip("/") or "."


def resolve(path: str, purpose: Purpose, folders: Sequence[Folder]) -> Resolved | PathProblem:
    """Where `path` leads; what is read or listed must be there. Blocking; never raises, never opens anything."""
    found = locate(path, purpose, folders)
    if isinstance(found, Resolved) and not found.exists and purpose not in _WRITES:
        return missing(path, purpose)
    return found


def missing(path: str, purpose: Purpose) -> PathProblem:
    word = "folder" if purpose is Purpose.LIST else "file"
    return PathProblem(ProblemKind.MISSING, f"{shown(path)}: there is no such {word}.")


def locate(path: str, purpose: Purpose, folders: Sequence[Folder]) -> Resolved | PathProblem:
    """Where `path` leads, whether or not something is there."""
    given = path
    if uris.scheme(path) == "file":
        from_uri = uris.to_path(path)
        if from_uri is None:
            return _refused(given, "it is no URI of a file")
        path = str(from_uri)
    if why := fault(path):
        return _refused(given, why)
    if not path.strip():
        if purpose is not Purpose.LIST:
            return _refused(given, "the path is empty; name a file")
        path = "."
    try:
        found = _absolute(path, folders) if Path(path).is_absolute() else _relative(path, folders)
        return found if isinstance(found, PathProblem) else _judged(given, found, purpose)
    except OSError as error:  # of resolving, too: what was a link a moment ago may be a folder by now
        return _refused(given, error.strerror or str(error))


def unique_names(folders: Sequence[Folder]) -> tuple[Folder, ...]:
    """The folders with names that differ and can begin a path."""
    named: dict[str, Folder] = {}
    for folder in folders:
        name = base = folder.name.replace("/", "-").strip() or folder.path.name or "folder"
        number = 2
        while name in named:
            name, number = f"{base}-{number}", number + 1
        named[name] = Folder(name, folder.path, folder.uri)
    return tuple(named.values())


@dataclass(frozen=True, slots=True)
class _Place:
    folder: Folder
    root: Path
    real: Path
    prefix: str
    ends_with_slash: bool


def _absolute(path: str, folders: Sequence[Folder]) -> _Place | PathProblem:
    real = _real(path)
    roots = [(folder, _real(folder.path)) for folder in folders]
    # Folders may lie within one another: the innermost one counts.
    for folder, root in sorted(roots, key=lambda item: -len(item[1].parts)):
        if _is_within(real, root):
            return _place(folder, folders, path, real)
    return _refused(path, "it is outside the workspace; give a path relative to it")


def _relative(path: str, folders: Sequence[Folder]) -> _Place | PathProblem:
    if len(folders) == 1:
        return _place(folders[0], folders, path, _real(_real(folders[0].path) / path))
    names = ", ".join(shown(folder.name) for folder in folders)
    head, _, rest = _without_dots(path).partition("/")
    for folder in folders:
        if head == folder.name:
            return _place(folder, folders, path, _real(_real(folder.path) / rest.lstrip("/")))
    if not folders:
        return _refused(path, "no folder is open; only files that are open in the editor can be used")
    return _refused(path, f"a path begins with the name of a folder here: {names}")


def _without_dots(path: str) -> str:
    while path.startswith("./"):
        path = path[1:].lstrip("/")
    return path


def _place(folder: Folder, folders: Sequence[Folder], path: str, real: Path) -> _Place:
    prefix = f"{folder.name}/" if len(folders) > 1 else ""
    return _Place(folder, _real(folder.path), real, prefix, path.endswith(("/", os.sep)))


def _real(path: str | Path) -> Path:
    """Links resolved as the system would, also where the last names do not exist yet."""
    return Path(os.path.realpath(path))


def _is_within(real: Path, root: Path) -> bool:
    return real == root or root in real.parents


def _judged(given: str, place: _Place, purpose: Purpose) -> Resolved | PathProblem:
    if not _is_within(place.real, place.root):
        return _refused(given, "it leads out of the workspace")
    parts = place.real.relative_to(place.root).parts
    if purpose is Purpose.WRITE and (never := never_written(given, parts, _below_folder(given, place))):
        return never
    if purpose is Purpose.SET_UP and parts[:1] != (_OURS,):
        return _refused(given, f"it is not in {_OURS}")
    status = _status(place.real, purpose)
    resolved = Resolved(
        place.folder,
        place.root,
        parts,
        exists=status is not None,
        is_folder=status is not None and stat.S_ISDIR(status.st_mode),
        prefix=place.prefix,
    )
    if status is None:
        return _absent(given, resolved, place, purpose)
    if why := _wrong_kind(status, purpose):
        return _refused(given, why)
    if place.ends_with_slash and not resolved.is_folder:
        return _refused(given, "it is a file, not a folder")
    if purpose in _WRITES and (why := _in_repository_data(place.root, parts)):
        return _refused(given, why)
    return resolved


def never_written(given: str, *ways: Sequence[str]) -> PathProblem | None:
    """Why nothing that the names `ways` lead through is written, None where it may be."""
    name = next(filter(None, map(protected, ways)), None)
    if name is None:
        return None
    return _refused(given, f"{shown(name)} decides what runs or what is trusted, so it is never written")


def _below_folder(given: str, place: _Place) -> list[str]:
    """The names in `given` as it was written, links and all, without those that lead to the workspace."""
    for folder in (place.folder.path.as_posix(), place.root.as_posix()):
        given = given.removeprefix(f"{folder}/")
    return [] if Path(given).is_absolute() else given.replace("\\", "/").split("/")


def _status(real: Path, purpose: Purpose) -> os.stat_result | None:
    try:
        return real.lstat()
    except OSError as error:
        missing = error.errno == errno.ENOENT or (error.errno == errno.ENOTDIR and purpose not in _WRITES)
        if missing:
            return None
        raise


def _absent(given: str, resolved: Resolved, place: _Place, purpose: Purpose) -> Resolved | PathProblem:
    if "\\" in given and os.name != "nt":
        return _refused(given, "folders are separated by /, not by a backslash")
    if purpose not in _WRITES:
        return resolved
    if place.ends_with_slash:
        return _refused(given, "it names a folder, not a file")
    if why := _in_repository_data(place.root, resolved.parts):
        return _refused(given, why)
    return resolved


def _wrong_kind(status: os.stat_result, purpose: Purpose) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "it is a link that leads in a circle"
    if purpose is Purpose.LIST:
        return None if stat.S_ISDIR(status.st_mode) else "it is not a folder; use read_file"
    if stat.S_ISDIR(status.st_mode):
        return "it is a folder; use list_files to see what is in it"
    return None if stat.S_ISREG(status.st_mode) else "it is not an ordinary file (a device, a pipe or a socket)"


def _in_repository_data(root: Path, parts: Sequence[str]) -> str | None:
    """A git repository's data may lie in a folder of any name (a bare one): its hooks would be run all the same."""
    for depth in range(len(parts)):
        folder = root.joinpath(*parts[:depth])
        if is_file(folder / "HEAD") and is_folder(folder / "objects") and is_folder(folder / "refs"):
            return "it is inside the data of a git repository, which is never written"
    return None


def _refused(path: str, why: str) -> PathProblem:
    name = shown(path) if len(path) <= 200 else f"{shown(path[:100])}... ({len(path)} characters)"
    return PathProblem(ProblemKind.REFUSED, f"{name or 'the path'}: {why}.")
