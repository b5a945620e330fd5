"""Which folders the person trusts: remembered in their own folder by real path, never in a project."""

import contextlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from llamagent_server.core.messages import Json
from llamagent_server.store import locks, places
from llamagent_server.store.places import Place

FILE = "trust.json"
LOCK = FILE + locks.SUFFIX
LOCK_SECONDS = 2.0  # another daemon writes for some milliseconds
VERSION = 1
MAX_BYTES = 16 * 1024 * 1024


class TrustStore:
    """`place` is the user's folder. The file is read anew each time: another daemon may have been told meanwhile.

    `problem` says why nothing is trusted, or why an answer could not be remembered; it then holds in memory only.
    """

    def __init__(self, place: Place | None = None) -> None:
        self._place = place or places.user_place()
        self._unsaved: dict[str, bool] = {}
        self.problem: str | None = None
        self._clean()

    def is_trusted(self, folder: Path) -> bool | None:
        """What the person said about the folder; None where they were never asked."""
        key = _key(folder)
        if key in self._unsaved:
            return self._unsaved[key]
        try:
            entry = self._read().get(key)
        except (OSError, ValueError) as error:
            self.problem = f"{self._path} cannot be read ({_reason(error)}), so no folder is trusted: say it again."
            return None
        trusted = entry.get("trusted") if isinstance(entry, dict) else None
        return trusted if isinstance(trusted, bool) else None

    def set_trusted(self, folder: Path, trusted: bool) -> None:
        """Remember the person's answer."""
        key = _key(folder)
        try:
            self._write(key, {"trusted": trusted, "since": datetime.now(UTC).isoformat(timespec="seconds")})
        except OSError as error:
            self._unsaved[key] = trusted
            self.problem = f"The answer is not remembered: {self._path} cannot be written ({_reason(error)})."
        else:
            self._unsaved.pop(key, None)
            self.problem = None

    @property
    def _path(self) -> Path:
        return self._place.path / FILE

    def _clean(self) -> None:
        """Remove what a daemon left behind that was killed while it wrote."""
        with contextlib.suppress(OSError):
            found = places.names(self._place)
            if LOCK in found or any(places.is_leftover(name, FILE) for name in found):
                held = locks.take(self._place, LOCK)
                if held is not None:
                    places.sweep(self._place, FILE)
                    held.release()

    def _write(self, key: str, entry: Json) -> None:
        places.make_folder(self._place)
        held = locks.take_within(self._place, LOCK, LOCK_SECONDS)
        try:
            self._replace(key, entry)
        finally:
            held.release()

    def _replace(self, key: str, entry: Json) -> None:
        """Under the lock: two daemons that answer at the same time lose neither answer."""
        try:
            folders = self._read()
        except ValueError:  # what is damaged is kept for the person to look at
            folders = {}
            places.rename(self._place, FILE, f"{FILE}.damaged")
        content = json.dumps({"version": VERSION, "folders": {**folders, key: entry}}, ensure_ascii=False, indent=2)
        places.write_whole(self._place, FILE, f"{content}\n".encode("utf-8", "surrogateescape"))

    def _read(self) -> dict[str, Json]:
        """The entries by folder. Raises OSError, and ValueError where the file is damaged."""
        try:
            data = places.read(self._place, FILE, MAX_BYTES)
        except FileNotFoundError:
            return {}
        try:
            content = json.loads(data.decode("utf-8", "surrogateescape"))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        folders = content.get("folders") if isinstance(content, dict) else None
        if not isinstance(folders, dict):
            raise ValueError("it holds no folders")
        return folders


def _reason(error: OSError | ValueError) -> str:
    return places.words(error) if isinstance(error, OSError) else str(error)


def _key(folder: Path) -> str:
    return os.path.normcase(places.real(folder))
