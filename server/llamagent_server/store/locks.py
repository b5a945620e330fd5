"""Locks in our own folders: a file that is there while it is held, and that stops nobody once its holder is dead."""

import contextlib
import os
import time
from dataclasses import dataclass

from llamagent_server.processes.locks import try_lock
from llamagent_server.store import places
from llamagent_server.store.places import Place

SUFFIX = ".lock"
_TRIES = 100  # against holders that give it back, and so remove the file, while it is being opened
_WAIT_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is ours until `release`, or until this process ends."""

    place: Place
    name: str
    fd: int

    def release(self) -> None:
        """Remove the file while it is still ours; where an open file cannot be removed (Windows), right after."""
        with contextlib.suppress(OSError):
            places.remove(self.place, self.name)
        os.close(self.fd)
        if os.name == "nt":
            with contextlib.suppress(OSError):  # another has opened it meanwhile
                places.remove(self.place, self.name)


def take(place: Place, name: str) -> Held | None:
    """The lock `name` in a folder that is there; None where another has it. Raises OSError where none can be made."""
    for _ in range(_TRIES):
        fd = places.open_to_lock(place, name)
        if not try_lock(fd):
            os.close(fd)
            return None
        if _is_there(place, name, fd):
            return Held(place, name, fd)
        os.close(fd)  # its holder removed it after we had opened it
    return None


def take_within(place: Place, name: str, seconds: float) -> Held:
    """Wait for the lock. Raises OSError, TimeoutError (one too) where another still has it after `seconds`."""
    until = time.monotonic() + seconds
    while (held := take(place, name)) is None:
        if time.monotonic() > until:
            raise TimeoutError(f"another process has held {name} for {seconds} s")
        time.sleep(_WAIT_SECONDS)
    return held


def take_if_any(place: Place, name: str) -> tuple[Held | None, bool]:
    """The lock, and whether another has it: neither, where none can be made, as in a folder that is read-only."""
    try:
        held = take(place, name)
    except OSError:
        return None, False
    return held, held is None


def clean(place: Place, file: str) -> None:
    """Remove what a daemon left behind that was killed while it wrote `file` whole, under the lock of that name."""
    with contextlib.suppress(OSError):
        found = places.names(place)
        if file + SUFFIX in found or any(places.is_leftover(name, file) for name in found):
            held = take(place, file + SUFFIX)
            if held is not None:
                places.sweep(place, file)
                held.release()


def _is_there(place: Place, name: str, fd: int) -> bool:
    try:
        return os.path.samestat(places.status(place, name), os.fstat(fd))
    except FileNotFoundError:
        return False
