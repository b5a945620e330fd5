"""Folders in the system's folder for temporary files that are there no longer than their process: a lock in each tells
whether that still runs, and the next daemon takes away the rest."""

import contextlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from llamagent_server.store import locks, places
from llamagent_server.store.locks import Held
from llamagent_server.store.places import Place

PREFIX = "llamagent-shown-"
LOCK = "lock"
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")
_TRIES = 10  # against sweeps that come between the making of a folder and its lock


@dataclass(frozen=True, slots=True)
class TemporaryFolder:
    """One for this user alone, until `remove`, or until some time after this process ended."""

    path: Path
    _held: Held

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)  # it follows no link
        self._held.release()
        with contextlib.suppress(OSError):  # still there where a file that is held cannot be removed (Windows)
            self.path.rmdir()


def make() -> TemporaryFolder:
    """Raises OSError."""
    top = _top()
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=top))
        try:
            held = locks.take(Place(top, (path.name,)), LOCK)
        except FileNotFoundError:
            continue
        except OSError:
            shutil.rmtree(path, ignore_errors=True)
            raise
        if held is not None:
            return TemporaryFolder(path, held)
    raise OSError(f"other processes remove what is made in {top}")


def sweep() -> None:
    """Remove the folders of processes that were killed, and nothing else, whatever it is called."""
    with contextlib.suppress(OSError):
        top = _top()
        for name in places.names(Place(top)):
            if name.startswith(PREFIX):
                with contextlib.suppress(OSError):
                    _remove_unused(top, name)


def _remove_unused(top: Path, name: str) -> None:
    status = places.status(Place(top), name)
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
        return
    folder = Place(top, (name,))
    if (held := locks.take(folder, LOCK)) is None:
        return
    if (again := locks.take(folder, LOCK)) is not None:  # no locks here: it may be in use
        os.close(again.fd)
        os.close(held.fd)
        return
    TemporaryFolder(top / name, held).remove()


def _top() -> Path:
    """What tempfile.gettempdir() finds, but that tries it by writing a file, which a kill at that moment leaves. Raises
    OSError."""
    if os.name == "nt":
        return places.real(Path(tempfile.gettempdir()))
    for name in (*(os.environ.get(variable, "") for variable in ("TMPDIR", "TEMP", "TMP")), *_USUAL):
        if name and Path(name).is_dir() and os.access(name, os.W_OK | os.X_OK):
            return places.real(Path(name))
    raise FileNotFoundError("no folder for temporary files can be written")
