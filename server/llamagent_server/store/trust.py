"""Which folders the person trusts: remembered in their own folder by real path, never in a project.

Beside the answer stands what the person saw of the folder when they gave it: what came since does not count.
"""

import json
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from llamagent_server.core.messages import Json, JsonObject
from llamagent_server.store import locks, places
from llamagent_server.store.places import Place

FILE = "trust.json"
LOCK = FILE + locks.SUFFIX
LOCK_SECONDS = 2.0  # another daemon writes for some milliseconds
VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
MAX_SEEN = 20_000  # of one folder; the oldest are forgotten, and asked about again


class TrustStore:
    """`place` is the user's folder. The file is read anew each time: another daemon may have been told meanwhile.

    `problem` says why nothing is trusted, or why an answer could not be remembered; it then holds in memory only.
    """

    def __init__(self, place: Place | None = None) -> None:
        self._place = place or places.user_place()
        self._unsaved: dict[str, JsonObject] = {}
        self.problem: str | None = None
        locks.clean(self._place, FILE)

    def is_trusted(self, folder: Path) -> bool | None:
        """What the person said about the folder; None where they were never asked."""
        trusted = self._entry(folder).get("trusted")
        return trusted if isinstance(trusted, bool) else None

    def seen(self, folder: Path) -> frozenset[str] | None:
        """The digests of what the person saw of a folder that they trust (store.brought); None for an answer of the
        time when that was not remembered."""
        entry = self._entry(folder)
        if entry.get("trusted") is True and "seen" not in entry:
            return None
        return frozenset(_digests(entry))

    def set_trusted(self, folder: Path, trusted: bool, seen: Iterable[str] | None = None) -> None:
        """Remember the person's answer, and what of the folder they gave it for."""
        entry: dict[str, Json] = {"trusted": trusted, "since": datetime.now(UTC).isoformat(timespec="seconds")}
        if seen is not None:
            entry["seen"] = _kept(seen)
        self._remember(_key(folder), lambda _: entry)

    def see(self, folder: Path, digests: Iterable[str]) -> None:
        """Remember that the person saw these, too, of a folder that they trust."""
        added = tuple(digests)
        known = self.seen(folder)
        if self.is_trusted(folder) is not True or (known is not None and known.issuperset(added)):
            return

        def changed(entry: JsonObject) -> JsonObject:
            return {**entry, "seen": _kept((*_digests(entry), *added))} if entry.get("trusted") is True else entry

        self._remember(_key(folder), changed)

    def _remember(self, key: str, change: Callable[[JsonObject], JsonObject]) -> None:
        try:
            self._write(key, change)
        except OSError as error:
            self._unsaved[key] = change(self._entry_of(key))
            self.problem = f"The answer is not remembered: {self._path} cannot be written ({_reason(error)})."
        else:
            self._unsaved.pop(key, None)
            self.problem = None

    def _entry(self, folder: Path) -> JsonObject:
        return self._entry_of(_key(folder))

    def _entry_of(self, key: str) -> JsonObject:
        """What is remembered of the folder, {} for nothing."""
        if key in self._unsaved:
            return self._unsaved[key]
        try:
            entry = self._read().get(key)
        except (OSError, ValueError) as error:
            self.problem = f"{self._path} cannot be read ({_reason(error)}), so no folder is trusted: say it again."
            return {}
        return entry if isinstance(entry, dict) else {}

    @property
    def _path(self) -> Path:
        return self._place.path / FILE

    def _write(self, key: str, change: Callable[[JsonObject], JsonObject]) -> None:
        places.make_folder(self._place)
        held = locks.take_within(self._place, LOCK, LOCK_SECONDS)
        try:
            self._replace(key, change)
        finally:
            held.release()

    def _replace(self, key: str, change: Callable[[JsonObject], JsonObject]) -> None:
        """Under the lock: two daemons that answer at the same time lose neither answer."""
        try:
            folders = self._read()
        except ValueError:  # what is damaged is kept for the person to look at
            folders = {}
            places.rename(self._place, FILE, f"{FILE}.damaged")
        known = folders.get(key)
        entry = change(self._unsaved.get(key) or (known if isinstance(known, dict) else {}))
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


def _kept(digests: Iterable[str]) -> list[Json]:
    each: list[Json] = [*dict.fromkeys(digests)]
    return each[-MAX_SEEN:]


def _digests(entry: JsonObject) -> list[str]:
    seen = entry.get("seen")
    return [digest for digest in seen if isinstance(digest, str)] if isinstance(seen, list) else []


def _reason(error: OSError | ValueError) -> str:
    return places.words(error) if isinstance(error, OSError) else str(error)


def _key(folder: Path) -> str:
    return os.path.normcase(places.real(folder))
