"""Files as they are on disk: read race-free, decoded strictly, refused with their size and the reason."""

import os
from dataclasses import dataclass
from typing import TypeAlias

from llamagent_server.core.unseen import shown
from llamagent_server.workspace.confinement import PathProblem, ProblemKind, Purpose, Resolved, missing
from llamagent_server.workspace.decoding import NotText, Part, decode, read_part, read_whole
from llamagent_server.workspace.opening import open_file

READ_BYTES = 2_000_000
EDIT_BYTES = 10_000_000
_PART_BYTES = 400_000

Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class DiskText:
    """`stamp` (time of change, size, inode) differs once the file was written again."""

    text: str
    stamp: Stamp


def stamp_of(place: Resolved) -> Stamp | None:
    """The stamp of what is there now, None where nothing is, or nothing that can be looked at."""
    try:
        return _stamp(place.real.lstat())
    except OSError:
        return None


def read(place: Resolved, max_bytes: int) -> DiskText | PathProblem:
    """The whole text of an existing file."""
    try:
        with open_file(place.root, place.parts) as fd:
            status = os.fstat(fd)
            if status.st_size > max_bytes or (data := read_whole(fd, max_bytes)) is None:
                words = f"{shown(place.path)} is too large ({size_words(status.st_size)})."
                return PathProblem(ProblemKind.TOO_LARGE, words)
    except OSError as error:
        return failed(place, error)
    text = decode(data)
    if isinstance(text, NotText):
        return _unreadable(place, f"{text.reason} ({size_words(status.st_size)})")
    return DiskText(text, _stamp(status))


def read_lines(place: Resolved, start: int, end: int) -> Part | PathProblem:
    """Some lines of an existing file of any size (1-based, `end` included)."""
    try:
        with open_file(place.root, place.parts) as fd:
            size = os.fstat(fd).st_size
            part = read_part(fd, start, end, _PART_BYTES)
    except OSError as error:
        return failed(place, error)
    return _unreadable(place, f"{part.reason} ({size_words(size)})") if isinstance(part, NotText) else part


def failed(place: Resolved, error: OSError) -> PathProblem:
    """The problem that `error` is, in words."""
    if isinstance(error, FileNotFoundError):
        return missing(place.path, Purpose.READ)
    return PathProblem(ProblemKind.REFUSED, f"{shown(place.path)}: {error.strerror or error}.")


def size_words(size: int) -> str:
    """A size in bytes for people."""
    value = float(size)
    for unit in ("bytes", "KB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _unreadable(place: Resolved, words: str) -> PathProblem:
    return PathProblem(ProblemKind.UNREADABLE, f"{shown(place.path)} {words}.")


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino
