"""Our own folders, the user's and a project's, writing there: whole, private, and through no link, also no hard one."""

import contextlib
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from llamagent_server.processes.there import is_there
from llamagent_server.workspace.opening import BY_DESCRIPTOR, NotOrdinary, entries, open_file, open_folder

PROJECT_FOLDER = ".llamagent"
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_STALE_SECONDS = 60
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A folder: `parts` lead to it from `root`, which has no link in it; on the way from there no link is followed."""

    root: Path
    parts: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    def below(self, *parts: str) -> "Place":
        return Place(self.root, (*self.parts, *parts))


def user_folder() -> Path:
    """`~/.llamagent`, or what LLAMAGENT_HOME names instead. It may be a link: a home belongs to its person."""
    named = os.environ.get("LLAMAGENT_HOME")
    if named:
        return Path(named).absolute()
    try:
        return Path.home() / PROJECT_FOLDER
    except RuntimeError:
        # A user without a home: below a device nothing can exist, so that every use fails with a plain OSError.
        return Path(os.devnull).absolute() / PROJECT_FOLDER


def user_place(*parts: str) -> Place:
    """A place in the user's folder, which need not exist yet."""
    folder = real(user_folder())
    root = next(above for above in (folder, *folder.parents) if is_there(above))
    return Place(root, (*folder.relative_to(root).parts, *parts))


def project_place(folder: Path) -> Place:
    """The project's own folder of ours."""
    return Place(real(folder), (PROJECT_FOLDER,))


def workspace_name(folder: Path | None) -> str:
    """What the workspace is called in the user's folder: its name and a hash of its path."""
    if folder is None:
        return "no-folder"
    path = real(folder)
    name = re.sub(r"[^0-9A-Za-z_-]+", "-", path.name).strip("-")[:40] or "folder"
    return f"{name}-{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def is_home(folder: Path) -> bool:
    """Whether the project is the person's home: its folder of ours is then theirs already, and no project's."""
    return real(folder / PROJECT_FOLDER) == real(user_folder())


def is_wide(folder: Path) -> bool:
    """Whether it is no project but the person's home, or a folder that holds it, as the root of the disk does."""
    path = real(folder)
    try:
        home = real(Path.home())
    except RuntimeError:  # a user without one
        return is_home(folder) or path.parent == path
    return is_home(folder) or path.parent == path or path == home or path in home.parents


def real(path: Path) -> Path:
    """`path` with every link in it resolved, whether it exists or not."""
    return Path(os.path.realpath(path))


def obstacle(place: Place) -> str | None:
    """Why `place` cannot be used: it, or a folder on the way, is there but is no folder. None where nothing is in the
    way."""
    path = place.root
    for part in place.parts:
        path = path / part
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"{path} cannot be used ({words(error)})"
        if stat.S_ISLNK(mode) or (not BY_DESCRIPTOR and real(path) != path):
            return f"{path} is a link, which is not followed"
        if not stat.S_ISDIR(mode):
            return f"{path} is no folder"
    return None


def words(error: OSError) -> str:
    """The reason, as a person reads it."""
    return error.strerror or str(error)


def writable(place: Place) -> bool:
    """Whether something can be made in `place`, or `place` itself, as far as the system tells without a try."""
    path = place.path
    while not is_there(path) and path != place.root:
        path = path.parent
    return os.access(path, os.W_OK)


def make_folder(place: Place, mode: int = PRIVATE_FOLDER) -> None:
    """Make `place`, and the folders on the way from its root, where they are missing. Raises OSError."""
    for end in range(1, len(place.parts) + 1):
        above, name = Place(place.root, place.parts[: end - 1]), place.parts[end - 1]
        with _inside(above) as (folder, prefix), contextlib.suppress(FileExistsError):
            os.mkdir(prefix + name, mode, dir_fd=folder)


def create(place: Place, name: str, data: bytes = b"", *, mode: int = PRIVATE_FILE) -> None:
    """A new file. Raises OSError, FileExistsError where there is one."""
    fd = _open(place, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def append(place: Place, name: str, data: bytes) -> int:
    """Add `data` to a file that is there, in one write; returns how many bytes were taken. Raises OSError.

    Where the file has another name elsewhere, too (a hard link), a copy takes its place here before.
    """
    fd = _open(place, name, os.O_WRONLY | os.O_APPEND)
    if _is_elsewhere(fd):
        os.close(fd)
        write_whole(place, name, read(place, name, sys.maxsize))
        fd = _open(place, name, os.O_WRONLY | os.O_APPEND)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def sync(place: Place, name: str) -> None:
    """Wait until the file, and its entry in the folder, are on the disk. Raises OSError."""
    fd = _open(place, name, os.O_WRONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    if BY_DESCRIPTOR:
        with open_folder(place.root, place.parts) as folder:
            os.fsync(folder)


def open_to_lock(place: Place, name: str) -> int:
    """A descriptor, opened for writing, of a file that is made where it is not there. Raises OSError."""
    return _open(place, name, os.O_RDWR | os.O_CREAT)


def write_whole(place: Place, name: str, data: bytes) -> None:
    """Put a file with `data` in the place of what is there, if anything: a reader sees the one or the other.

    Raises OSError; then nothing was changed.
    """
    sweep(place, name, _STALE_SECONDS)  # another process may be writing the same
    temporary = f".{name}.{secrets.token_hex(4)}.tmp"
    with _inside(place) as (folder, prefix):
        try:
            fd = _open(place, temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                _write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(prefix + temporary, prefix + name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(prefix + temporary, dir_fd=folder)
            raise


def write_same(place: Place, name: str, data: bytes) -> None:
    """Write a file that under this name never holds anything but `data`: what is there is written over in its place.

    So one that is whole stays so at every moment, also where several write it at once; after a death in the middle of a
    new one it is too short, and its reader must notice. Raises OSError.
    """
    fd = _open(place, name, os.O_WRONLY | os.O_CREAT)
    if _is_elsewhere(fd):
        os.close(fd)
        write_whole(place, name, data)
        return
    try:
        _write_all(fd, data)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    except OSError:
        if os.fstat(fd).st_size < len(data):
            with contextlib.suppress(OSError):
                remove(place, name)
        raise
    finally:
        os.close(fd)


def _is_elsewhere(fd: int) -> bool:
    """Whether the file has another name, so that what is written here would be written there."""
    return os.fstat(fd).st_nlink > 1


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def rename(place: Place, name: str, new: str) -> None:
    """Raises OSError."""
    with _inside(place) as (folder, prefix):
        os.replace(prefix + name, prefix + new, src_dir_fd=folder, dst_dir_fd=folder)


def remove(place: Place, name: str) -> None:
    """Raises OSError."""
    with _inside(place) as (folder, prefix):
        os.unlink(prefix + name, dir_fd=folder)


def read(place: Place, name: str, max_bytes: int) -> bytes:
    """The first `max_bytes` of an ordinary file. Raises OSError."""
    with open_file(place.root, (*place.parts, name)) as fd:
        chunks = []
        left = max_bytes
        while left > 0 and (chunk := os.read(fd, min(left, _CHUNK))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)


def names(place: Place) -> list[str]:
    """What is in the folder; nothing, where it is not there. Raises OSError."""
    try:
        with entries(place.root, place.parts) as found:
            return [entry.name for entry in found]
    except FileNotFoundError:
        return []


def statuses(place: Place) -> dict[str, os.stat_result]:
    """What is in the folder, links as such; nothing, where it is not there. Raises OSError."""
    found = {}
    with contextlib.suppress(FileNotFoundError), entries(place.root, place.parts) as listed:
        for entry in listed:
            with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                found[entry.name] = entry.stat(follow_symlinks=False)
    return found


def status(place: Place, name: str) -> os.stat_result:
    """Of the entry itself, if it is a link. Raises OSError."""
    with _inside(place) as (folder, prefix):
        return os.stat(prefix + name, dir_fd=folder, follow_symlinks=False)


@contextlib.contextmanager
def _inside(place: Place) -> Iterator[tuple[int | None, str]]:
    """How entries of the folder are named to the system: a descriptor to start from where there are such, and what
    stands before the name."""
    if BY_DESCRIPTOR:
        with open_folder(place.root, place.parts) as folder:
            yield folder, ""
    elif (reason := obstacle(place)) is not None:
        raise NotOrdinary(reason)
    else:
        yield None, f"{place.path}{os.sep}"


def _open(place: Place, name: str, flags: int, mode: int = PRIVATE_FILE) -> int:
    with _inside(place) as (folder, prefix):
        fd = os.open(prefix + name, flags | _FLAGS | getattr(os, "O_NONBLOCK", 0), mode, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotOrdinary("it is not an ordinary file")
        return fd


def sweep(place: Place, name: str, seconds: float = 0) -> None:
    """Remove what a process that was killed in `write_whole` left behind, where it is older than `seconds`: with 0 the
    caller holds the lock of its writers."""
    for found in names(place):
        if is_leftover(found, name):
            with contextlib.suppress(OSError):
                if time.time() - status(place, found).st_mtime >= seconds:
                    remove(place, found)


def is_leftover(found: str, name: str) -> bool:
    return found.startswith(f".{name}.") and found.endswith(".tmp")
