"""Opening what a resolved path names and nothing else: no link is followed, nothing but ordinary files and folders.

Where the system can (Unix), each folder on the way is opened from the one before it, so that nobody can put a link in
between. Elsewhere the path is resolved again after opening.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")

_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _COMMON
# Without O_NONBLOCK the opening of a FIFO would wait for a writer, perhaps for ever.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NOFOLLOW | _COMMON


class NotOrdinary(OSError):
    """It is neither an ordinary file nor a folder, or it changed while it was being opened."""


@contextmanager
def open_file(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """A descriptor of the ordinary file `parts` below `root`. Raises OSError."""
    _refuse_paths(parts)
    fd = _open_by_descriptor(root, parts) if BY_DESCRIPTOR else _open_by_path(root, parts)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotOrdinary("it is not an ordinary file")
        yield fd
    finally:
        os.close(fd)


def _open_by_descriptor(root: Path, parts: Sequence[str]) -> int:
    with open_folder(root, parts[:-1]) as folder:
        status = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise NotOrdinary("it is not an ordinary file")
        return os.open(parts[-1], _FILE, dir_fd=folder)


def _open_by_path(root: Path, parts: Sequence[str]) -> int:
    path = root.joinpath(*parts)
    if not stat.S_ISREG(path.lstat().st_mode):
        raise NotOrdinary("it is not an ordinary file")
    fd = os.open(path, _FILE)
    if not os.path.samestat(os.fstat(fd), path.lstat()) or Path(os.path.realpath(path)) != path:
        os.close(fd)
        raise NotOrdinary("it changed while it was being opened")
    return fd


@contextmanager
def open_folder(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """A descriptor of the folder `parts` below `root`; only where BY_DESCRIPTOR. Raises OSError."""
    _refuse_paths(parts)
    fd = os.open(root, _FOLDER)
    try:
        for part in parts:
            below = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _refuse_paths(parts: Sequence[str]) -> None:
    """Each part is a name: what leads elsewhere by itself is not opened."""
    if any(part == ".." or Path(part).name != part for part in parts):
        raise NotOrdinary("it leads elsewhere")


def open_listed(folder: int, name: str) -> int:
    """A descriptor of what was just listed as an ordinary file in an open folder; only where BY_DESCRIPTOR. Whoever
    reads it makes sure that it still is one. Raises OSError."""
    return os.open(name, _FILE, dir_fd=folder)


@contextmanager
def entries(root: Path, parts: Sequence[str]) -> Iterator[Iterator["os.DirEntry[str]"]]:
    """What is in the folder `parts` below `root`. Raises OSError."""
    if BY_DESCRIPTOR:
        with open_folder(root, parts) as folder, os.scandir(folder) as found:
            yield found
    else:
        path = root.joinpath(*parts)
        if Path(os.path.realpath(path)) != path:
            raise NotOrdinary("it is a link")
        with os.scandir(path) as found:
            yield found
