"""What daemons that were killed left behind among the conversations: locks, and journals with nothing in them."""

import contextlib
from collections.abc import Callable

from llamagent_server.store import locks, places
from llamagent_server.store.journal import OURS, lock_name
from llamagent_server.store.places import Place


def sweep(place: Place, is_ours: Callable[[str], bool]) -> None:
    """Remove it where nobody uses it; `is_ours` tells by a conversation's id whether we may."""
    with contextlib.suppress(OSError):
        for name, status in places.statuses(place).items():
            left = name.endswith(locks.SUFFIX) or (name.endswith(OURS) and status.st_size == 0)
            session = name.removesuffix(locks.SUFFIX).removesuffix(OURS)
            if left and is_ours(session):
                _remove_unused(place, session)


def _remove_unused(place: Place, session: str) -> None:
    with contextlib.suppress(OSError):
        if (held := locks.take(place, lock_name(session))) is None:
            return
        try:
            if places.status(place, session + OURS).st_size == 0:
                places.remove(place, session + OURS)
        finally:
            held.release()
