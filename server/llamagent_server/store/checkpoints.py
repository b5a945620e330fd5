"""What accepted edits replaced, turn by turn, so that they can be undone: texts by their hash, in the user's folder.

`checkpoints/texts/<sha256>` holds each text once; what a killed daemon left cut off there is none, and is written over
when it is needed. `checkpoints/<workspace>/<session>.jsonl` says which turn replaced which text by which. Beyond
LIMIT_BYTES the texts that were kept longest ago are dropped.
"""

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from llamagent_server.core.messages import Json, JsonObject
from llamagent_server.core.proposals import Replaced
from llamagent_server.processes.threads import off_loop
from llamagent_server.store import places

FOLDER = "checkpoints"
LIMIT_BYTES = 256 * 1024 * 1024
LONGEST_LIST = 64 * 1024 * 1024
LONGEST_TEXT = 64 * 1024 * 1024
_LEFT = 0.8  # of the limit, after the oldest were dropped
_FRESH_SECONDS = 60.0  # another daemon may have written a text, and not yet who needs it


class FileCheckpoints:
    """Implements agent.ports.Checkpoints for the workspace whose first folder is `folder`."""

    def __init__(self, folder: Path | None, *, limit: int = LIMIT_BYTES) -> None:
        self._texts = places.user_place(FOLDER, "texts")
        self._lists = places.user_place(FOLDER, places.workspace_name(folder))
        self._limit = limit

    async def remember(self, session: str, turn: str, replaced: Sequence[Replaced]) -> str | None:
        return await off_loop(lambda _: self._remember(session, turn, replaced))

    async def turns(self, session: str) -> tuple[str, ...]:
        return await off_loop(lambda _: self._turns(session))

    async def of(self, session: str, turns: Sequence[str]) -> tuple[Replaced, ...] | None:
        return await off_loop(lambda _: self._of(session, turns))

    async def undone(self, session: str, turns: Sequence[str], paths: Sequence[str]) -> None:
        await off_loop(lambda _: self._note_undone(session, turns, paths))

    async def ways_back(self, session: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        return await off_loop(lambda _: self._ways_back(session))

    async def forget(self, session: str) -> None:
        """Of a conversation that is deleted: its list, and the texts that nothing else needs."""
        await off_loop(lambda _: self._forget(session))

    # --- Writing ---------------------------------------------------------------------------------------------------

    def _remember(self, session: str, turn: str, replaced: Sequence[Replaced]) -> str | None:
        rows: list[JsonObject] = []
        try:
            places.make_folder(self._texts)
            places.make_folder(self._lists)
            for one in replaced:
                texts: dict[str, Json] = {"before": self._keep(one.before), "after": self._keep(one.after)}
                rows.append({"turn": turn, "path": one.path, "uri": one.uri, **texts})
            self._append(session, rows)
            return self._dropped()
        except OSError as error:
            return f"What this edit replaced is not kept for an undo ({places.words(error)})."

    def _keep(self, text: str | None) -> str | None:
        if text is None:
            return None
        data = text.encode("utf-8", "surrogatepass")
        name = hashlib.sha256(data).hexdigest()
        places.write_same(self._texts, name, data)  # also where it is there: its time says when it was last needed
        return name

    def _append(self, session: str, rows: Iterable[JsonObject]) -> None:
        with contextlib.suppress(FileExistsError):
            places.create(self._lists, _file(session))
        # Begun with a line's end: what a crash cut off before is closed by it.
        lines = "".join(f"\n{json.dumps(row)}" for row in rows)
        data = f"{lines}\n".encode()
        if places.append(self._lists, _file(session), data) < len(data):  # a disk that is full takes a part
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _note_undone(self, session: str, turns: Sequence[str], paths: Sequence[str]) -> None:
        with contextlib.suppress(OSError):  # then it is only offered once more
            self._append(session, [{"undone": list(turns), "paths": list(paths)}])

    def _dropped(self) -> str | None:
        """Drop the oldest texts where there are too many, and say so."""
        found = places.statuses(self._texts)
        size = sum(status.st_size for status in found.values())
        if size <= self._limit:
            return None
        dropped = 0
        for name, status in sorted(found.items(), key=lambda item: item[1].st_mtime_ns):
            if size <= self._limit * _LEFT:
                break
            with contextlib.suppress(OSError):
                places.remove(self._texts, name)
                size -= status.st_size
                dropped += 1
        limit = f"{self._limit / 1e6:.0f} MB"
        return f"The oldest turns can no longer be undone: more than {limit} of texts were kept ({dropped} dropped)."

    def _forget(self, session: str) -> None:
        with contextlib.suppress(OSError):
            places.remove(self._lists, _file(session))
            self._sweep()

    def _sweep(self) -> None:
        needed = {name for row in self._all_rows() for name in (row.get("before"), row.get("after"))}
        for name, status in places.statuses(self._texts).items():
            if name not in needed and time.time() - status.st_mtime > _FRESH_SECONDS:
                with contextlib.suppress(OSError):
                    places.remove(self._texts, name)

    # --- Reading ---------------------------------------------------------------------------------------------------

    def _rows(self, session: str) -> list[JsonObject]:
        try:
            data = places.read(self._lists, _file(session), LONGEST_LIST)
        except OSError:
            return []
        return list(_parsed(data))

    def _all_rows(self) -> Iterator[JsonObject]:
        top = places.user_place(FOLDER)
        for workspace in places.names(top):
            lists = top.below(workspace)
            for name in places.names(lists) if workspace != "texts" else ():
                yield from _parsed(places.read(lists, name, LONGEST_LIST))

    def _turns(self, session: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for row in self._rows(session):
            if isinstance(turn := row.get("turn"), str):
                found[turn] = None
            elif isinstance(turns := row.get("undone"), list):
                found = {kept: None for kept in found if kept not in turns}
        return tuple(found)

    def _ways_back(self, session: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        rows = [row for row in self._rows(session) if isinstance(row.get("paths"), list)]
        return tuple((_names(row.get("undone")), _names(row["paths"])) for row in rows)

    def _of(self, session: str, turns: Sequence[str]) -> tuple[Replaced, ...] | None:
        try:
            return tuple(self._replaced(row) for row in self._rows(session) if row.get("turn") in turns)
        except (OSError, ValueError):
            return None

    def _replaced(self, row: JsonObject) -> Replaced:
        """Raises OSError or ValueError for a text that is not kept any more."""
        before, after = self._text(row.get("before")), self._text(row.get("after"))
        return Replaced(str(row.get("path")), str(row.get("uri")), before, after)

    def _text(self, name: Json) -> str | None:
        if name is None:
            return None
        if not isinstance(name, str) or not name.isalnum():
            raise ValueError("no name of a text")
        data = places.read(self._texts, name, LONGEST_TEXT)
        if hashlib.sha256(data).hexdigest() != name:
            raise ValueError("the text is damaged")
        return data.decode("utf-8", "surrogatepass")


def _names(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _file(session: str) -> str:
    return f"{session}.jsonl"


def _parsed(data: bytes) -> Iterator[JsonObject]:
    for line in data.split(b"\n"):
        try:
            row = json.loads(line) if line else None
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row
