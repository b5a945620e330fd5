"""How long to wait for a model server: retries after a fault, and notices while it says nothing yet."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import chain, repeat

from llamagent_server.agent.session import Session
from llamagent_server.core.events import Level, Notice
from llamagent_server.errors import ModelFailed, ModelLoading

RETRY_SECONDS = (0.5, 2.0)
LOADING_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)  # the last one again and again
NOTICE_SECONDS = (10.0, 20.0, 30.0, 60.0)  # the last one again and again


class Retries:
    """The waits of one step. `patience`: for how many seconds a model that is being loaded is waited for."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._short = iter(RETRY_SECONDS)
        self._loading = chain(LOADING_SECONDS, repeat(LOADING_SECONDS[-1]))
        self.waited = 0.0

    def wait(self, error: ModelFailed) -> float | None:
        """How many seconds to wait before asking again; None when it is not worth it, or has been tried enough."""
        if not error.retryable:
            return None
        if not isinstance(error, ModelLoading):
            return next(self._short, None)
        seconds = next(self._loading)
        self.waited += seconds
        return seconds if self.waited <= self._patience else None


async def pause(session: Session, error: ModelFailed, seconds: float) -> None:
    """Wait before asking again, and say why."""
    session.trace.emit(Notice(Level.WARNING, f"{error.message} Trying again in {seconds:g} s."))
    await session.ports.sleep(seconds)


@asynccontextmanager
async def waiting_told(session: Session) -> AsyncIterator[Callable[[], bool]]:
    """Notices at growing intervals, until what this gives is called, or at the latest to the end."""
    telling = asyncio.get_running_loop().create_task(_tell(session))
    try:
        yield telling.cancel
    finally:
        telling.cancel()
        await asyncio.wait([telling])


async def _tell(session: Session) -> None:
    waited = 0.0
    for seconds in chain(NOTICE_SECONDS, repeat(NOTICE_SECONDS[-1])):
        await session.ports.sleep(seconds)
        waited += seconds
        session.trace.emit(Notice(Level.INFO, f"Waiting for the model, {waited:.0f} s."))
