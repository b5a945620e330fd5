"""A file's text as it is now: the open document's, else the disk's, and which of the two where they differ."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from llamagent_server.core.unseen import shown
from llamagent_server.workspace import disk, uris
from llamagent_server.workspace.buffers import OpenDocument
from llamagent_server.workspace.confinement import (
    Folder,
    PathProblem,
    ProblemKind,
    Purpose,
    Resolved,
    locate,
    missing,
    never_written,
)
from llamagent_server.workspace.freshness import Freshness, Truth

CONFLICT = "it was changed on disk while the open document has other, unsaved changes; save or revert it first"
DELETED = "its file was deleted; this is what is still open in the editor"


class Source(StrEnum):
    BUFFER = "buffer"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file's text as it is now, line ends kept and without a byte order mark.

    `uri` is in the client's spelling. `version` is the open document's where `source` is the buffer, else None.
    `conflict` says why it must not be edited now; `note` is for whoever reads it.
    """

    path: str
    uri: str
    text: str
    version: int | None
    source: Source
    conflict: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A place where a file may be created."""

    path: str
    uri: str


@dataclass(frozen=True, slots=True)
class View:
    """The folders and the open documents at one moment."""

    folders: tuple[Folder, ...]
    documents: tuple[OpenDocument, ...]

    def open_at(self, place: Resolved) -> OpenDocument | None:
        """The open document of a file, by whatever link the editor opened it."""
        wanted = os.path.normcase(place.real)
        return next((document for real, document in self.files() if os.path.normcase(real) == wanted), None)

    def files(self) -> Iterator[tuple[Path, OpenDocument]]:
        """The open documents that are files, with their real paths."""
        for document in self.documents:
            real = real_path(document)
            if real is not None:
                yield real, document

    def without_folder(self, path: str) -> OpenDocument | None:
        """The document that `path` names without a folder's help: an untitled one, or any where no folder is open."""
        if self.folders:
            return next((d for d in self.documents if d.uri == path and uris.to_path(path) is None), None)
        wanted = uris.to_path(path) or Path(path)
        files = [(document, uris.to_path(document.uri)) for document in self.documents]
        named = [d for d, file in files if d.uri == path or (file is not None and wanted in (file, Path(file.name)))]
        return named[0] if len(named) == 1 else None


def real_path(document: OpenDocument) -> Path | None:
    """The file of a document, by no link; None where it has none."""
    path = uris.to_path(document.uri)
    return None if path is None else Path(os.path.realpath(path))


def is_work(uri: str) -> bool:
    """Whether an open document is something to work on: a file or an untitled one, not a view of the editor's."""
    return uris.scheme(uri) in ("file", "untitled")


def names_without_folder(view: View) -> list[str]:
    """How the documents are named that no folder holds."""
    named = []
    for document in view.documents:
        path = uris.to_path(document.uri)
        if path is None:
            named.append(document.uri)
        elif not view.folders:
            twice = sum(other is not None and other.name == path.name for other in _paths(view.documents)) > 1
            named.append(path.as_posix() if twice else path.name)
    return named


def _paths(documents: Sequence[OpenDocument]) -> list[Path | None]:
    return [uris.to_path(document.uri) for document in documents]


def read(view: View, freshness: Freshness, path: str, max_bytes: int) -> Snapshot | PathProblem:
    """The text of the file that `path` names. Blocking."""
    if (document := view.without_folder(path)) is not None:
        return _of_buffer(path, document)
    place = locate(path, Purpose.READ, view.folders)
    if isinstance(place, PathProblem):
        return place
    found = _at(place, view.open_at(place), freshness, max_bytes)
    return missing(path, Purpose.READ) if isinstance(found, NewFile) else found


def of_document(view: View, freshness: Freshness, document: OpenDocument) -> Snapshot | None:
    """The text of an open document of the folders, from wherever it counts; None where it cannot be read. Blocking."""
    place = locate(document.uri, Purpose.READ, view.folders)
    found = None if isinstance(place, PathProblem) else _at(place, document, freshness, disk.EDIT_BYTES)
    return found if isinstance(found, Snapshot) else None


def for_edit(
    view: View, freshness: Freshness, path: str, purpose: Purpose = Purpose.WRITE
) -> Snapshot | NewFile | PathProblem:
    """The text of the file that `path` names, or the place where it may be created. Blocking."""
    if (document := view.without_folder(path)) is not None:
        ways = [way.parts for way in (uris.to_path(document.uri), real_path(document)) if way is not None]
        return never_written(path, *ways) or _of_buffer(path, document)
    place = locate(path, purpose, view.folders)
    if isinstance(place, PathProblem):
        return place
    return _at(place, view.open_at(place), freshness, disk.EDIT_BYTES)


def _at(
    place: Resolved, document: OpenDocument | None, freshness: Freshness, max_bytes: int
) -> Snapshot | NewFile | PathProblem:
    if document is not None and not document.problem:
        match freshness.truth(document, disk.stamp_of(place)):
            case Truth.BUFFER:
                return _of_buffer(place.path, document)
            case Truth.GONE:
                return _of_buffer(place.path, document, note=DELETED)
            case Truth.BOTH:
                return _of_buffer(place.path, document, conflict=CONFLICT)
            case Truth.DISK:
                pass
    elif document is not None:
        return _of_buffer(place.path, document)
    elif not place.exists:
        return NewFile(place.path, place.uri)
    found = disk.read(place, max_bytes)
    if isinstance(found, PathProblem):
        return found
    return Snapshot(place.path, document.uri if document else place.uri, found.text, None, Source.DISK)


def _of_buffer(
    path: str, document: OpenDocument, *, conflict: str | None = None, note: str = ""
) -> Snapshot | PathProblem:
    if document.problem:
        return PathProblem(ProblemKind.UNREADABLE, f"{shown(path)}: {document.problem}.")
    text = document.text.removeprefix("\ufeff")
    return Snapshot(path, document.uri, text, document.version, Source.BUFFER, conflict, note)
