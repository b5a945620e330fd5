"""Which models failed at tool calls and are asked by a schema: a small file in the user's own folder.

`roads.json` holds one row for each model of each server. It is a convenience: a damaged one is forgotten.
"""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from llamagent_server.agent.road import Learned, RoadKey
from llamagent_server.core.messages import Json
from llamagent_server.processes.threads import off_loop
from llamagent_server.store import locks, places
from llamagent_server.store.places import Place

FILE = "roads.json"
LOCK = FILE + locks.SUFFIX
LOCK_SECONDS = 2.0
VERSION = 1
MAX_BYTES = 1024 * 1024
MAX_ROWS = 200  # the oldest are forgotten

Rows = dict[RoadKey, Learned]
_log = logging.getLogger(__name__)


class FileRoads:
    """Implements agent.road.RoadMemory. The file is read anew each time: another daemon may have learned something."""

    def __init__(self, place: Place | None = None) -> None:
        self._place = place or places.user_place()

    async def recall(self, key: RoadKey) -> Learned | None:
        return await off_loop(lambda _: self._recall(key))

    async def keep(self, key: RoadKey, learned: Learned) -> None:
        await off_loop(lambda _: self._change(lambda rows: {**rows, key: learned}))

    async def forget(self, key: RoadKey) -> None:
        await off_loop(lambda _: self._change(lambda rows: {k: row for k, row in rows.items() if k != key}))

    def _recall(self, key: RoadKey) -> Learned | None:
        locks.clean(self._place, FILE)
        return self._read().get(key)

    def _read(self) -> Rows:
        try:
            return _parsed(places.read(self._place, FILE, MAX_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            path = self._place.path / FILE
            _log.warning("%s cannot be read (%s): what was learned of models is forgotten", path, error)
            return {}

    def _change(self, change: Callable[[Rows], Rows]) -> None:
        """Under the lock: two daemons that learn at the same time lose nothing."""
        try:
            places.make_folder(self._place)
            held = locks.take_within(self._place, LOCK, LOCK_SECONDS)
            try:
                places.sweep(self._place, FILE)
                places.write_whole(self._place, FILE, _content(change(self._read())))
            finally:
                held.release()
        except OSError as error:
            _log.warning("what was learned of a model is not remembered: %s", places.words(error))


def _parsed(data: bytes) -> Rows:
    """Raises ValueError for what is no such file; a row that cannot be read is left out."""
    content = json.loads(data)
    models = content.get("models") if isinstance(content, dict) else None
    if not isinstance(models, list):
        raise ValueError("it holds no models")
    return dict(filter(None, map(_row, models)))


def _row(value: Json) -> tuple[RoadKey, Learned] | None:
    if not isinstance(value, dict):
        return None
    server, model, identity, why, since = (value.get(name) for name in ("server", "model", "identity", "why", "since"))
    if not (isinstance(server, str) and isinstance(model, str) and isinstance(why, str) and isinstance(since, str)):
        return None
    try:
        when = datetime.fromisoformat(since)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (server, model), Learned(identity if isinstance(identity, str) else "", why, when)


def _content(rows: Rows) -> bytes:
    newest = sorted(rows.items(), key=lambda row: row[1].since)[-MAX_ROWS:]
    models = [
        {
            "server": server,
            "model": model,
            "road": "schema",
            "identity": learned.identity,
            "why": learned.why,
            "since": learned.since.isoformat(timespec="seconds"),
        }
        for (server, model), learned in newest
    ]
    return f"{json.dumps({'version': VERSION, 'models': models}, indent=2)}\n".encode()
