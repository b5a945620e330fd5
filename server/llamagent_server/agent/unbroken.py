"""What a cancel may not break: an edit that the person has accepted is noted before the turn ends."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def seen_through(work: Coroutine[None, None, T]) -> T:
    """What `work`, which takes a moment only, gives; a cancel meanwhile comes right after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        postpone_cancel()
    return task.result()


def postpone_cancel() -> None:
    """Have the cancel that was just caught come at the next wait."""
    current = asyncio.current_task()
    if current is not None:
        current.uncancel()
        current.cancel()
