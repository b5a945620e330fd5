"""The journal of one conversation: JSON Lines, only ever appended to, read back whatever has happened to it.

A line that was cut off by a crash is closed by the next writer with a line of the type `torn`: a bad line before such
a one is no damage.
"""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llamagent_server.core.messages import Json, JsonObject
from llamagent_server.store import locks, places
from llamagent_server.store.locks import Held
from llamagent_server.store.places import Place

OURS = ".jsonl"
TORN_TYPE = "torn"
_CLOSE_TORN = b'\n{"type":"torn"}\n'
# What may wait in memory for a disk that is full; beyond it the journal is given up.
MAX_WAITING_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Replay:
    """The records of a journal. `torn`: its last line was cut off. `damaged` says what else could not be read.

    `whole`: the file ends with a line's end, so that another may follow.
    """

    records: tuple[JsonObject, ...]
    torn: bool
    damaged: str | None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the file of a new journal begins with; `make_folder` makes its folder, and raises OSError."""

    records: Sequence[JsonObject]
    make_folder: Callable[[], None]


def parse(data: bytes) -> Replay:
    """Every record that can be read in the bytes of a journal."""
    *lines, rest = data.split(b"\n")
    torn = bool(rest) and _record(rest) is None
    records: list[JsonObject] = []
    bad: list[int] = []
    for number, line in enumerate(lines if torn or not rest else [*lines, rest], start=1):
        record = _record(line)
        if record is None:
            bad.append(number)
        elif record.get("type") == TORN_TYPE:
            bad = [earlier for earlier in bad if earlier != number - 1]
        else:
            records.append(record)
    return Replay(tuple(records), torn=torn, damaged=_damage(bad), whole=not rest)


def _record(line: bytes) -> JsonObject | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _damage(bad: Sequence[int]) -> str | None:
    if not bad:
        return None
    many = f"{len(bad)} lines (the first is line {bad[0]})" if len(bad) > 1 else f"Line {bad[0]}"
    return f"{many} of the stored conversation could not be read; the rest is here."


def encode(record: JsonObject) -> bytes:
    """One line. Raises TypeError, ValueError or RecursionError for what is no JSON."""
    try:
        return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair, as models write them: escaped, it comes back as it was
        return (json.dumps(record, separators=(",", ":")) + "\n").encode()


def lock_name(session: str) -> str:
    return session + locks.SUFFIX


class FileJournal:
    """Implements agent.ports.Journal over one file. Nothing is on disk before the first record.

    Each record goes to the system in one write. What the disk refuses waits, and is written before the next one.
    While it is open no other process writes to it: `held` is its lock, where there is a file already.
    """

    def __init__(
        self,
        session: str,
        place: Place,
        name: str,
        *,
        beginning: Beginning | None = None,
        whole: bool = True,
        held: Held | None = None,
    ) -> None:
        self._held = held
        self._session = session
        self._place = place
        self._name = name
        self._beginning = beginning
        self._closing = b"" if whole else _CLOSE_TORN  # what is still to be written to close a line that was cut off
        self._waiting: list[bytes] = []
        self._given_up = False
        self._problem: str | None = None
        self._lost: str | None = None

    @property
    def session(self) -> str:
        return self._session

    @property
    def problem(self) -> str | None:
        return self._problem or self._lost

    def append(self, record: dict[str, Json]) -> None:
        if self._given_up:
            return
        try:
            self._waiting.append(encode(record))
        except (TypeError, ValueError, RecursionError) as error:
            self._lost = f"A step of the conversation could not be written down ({error})."
            return
        self._flush()
        if sum(map(len, self._waiting)) > MAX_WAITING_BYTES:
            self._given_up = True
            self._waiting.clear()

    def sync(self) -> None:
        if self._given_up or (self._beginning is not None and not self._waiting):
            return
        self._flush()
        if not self._waiting:
            self._attempt(lambda: places.sync(self._place, self._name))

    def close(self) -> None:
        self.sync()
        if self._held is not None:
            self._held.release()
            self._held = None

    def _flush(self) -> None:
        if self._attempt(self._write):
            self._problem = None

    def _attempt(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except OSError as error:
            gone = isinstance(error, FileNotFoundError) and self._beginning is None
            reason = "its file was deleted" if gone else places.words(error)
            where = self._place.path / self._name
            self._problem = f"The conversation is not being saved in {where} ({reason}). It goes on in memory only."
            return False
        return True

    def _write(self) -> None:
        if self._beginning is not None:
            self._beginning.make_folder()
            self._hold()
            places.create(self._place, self._name)
            self._waiting = [*map(encode, self._beginning.records), *self._waiting]
            self._beginning = None
        while self._waiting:
            self._take(places.append(self._place, self._name, self._closing + b"".join(self._waiting)))

    def _hold(self) -> None:
        """The lock of a new journal. Nobody knows its name yet; where no lock can be made it does without."""
        if self._held is None:
            with contextlib.suppress(OSError):
                self._held = locks.take(self._place, lock_name(self._session))

    def _take(self, taken: int) -> None:
        """Forget what the file has taken `taken` bytes of."""
        closed = min(taken, len(self._closing))
        self._closing = self._closing[closed:]
        taken -= closed
        while self._waiting and taken >= len(self._waiting[0]):
            taken -= len(self._waiting.pop(0))
        if self._waiting and taken == len(self._waiting[0]) - 1:
            self._waiting.pop(0)  # whole but for the line's end
            self._closing = b"\n"
        elif taken > 0:
            self._closing = _CLOSE_TORN
