"""Work that takes long shown in the editor: a bar from its first report to its end, whose button stops the work."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeAlias, TypeVar

from llamagent_server.agent.ports import Tell
from llamagent_server.errors import ModelFailed

T = TypeVar("T")


class Bar(Protocol):
    def report(self, words: str, percent: int | None) -> None: ...

    def end(self) -> None: ...


OpenBar: TypeAlias = Callable[[Callable[[], object]], Bar]  # given what the button does


async def shown(open_bar: OpenBar, work: Callable[[Tell], Coroutine[None, None, T]]) -> T:
    """The result of `work`, which is given how to report; it may do so from any thread.

    Raises what it raises; ModelFailed where the person stopped it.
    """
    loop = asyncio.get_running_loop()
    bars: list[Bar] = []

    def draw(words: str, percent: int | None) -> None:
        if task.done():
            return
        if not bars:
            bars.append(open_bar(task.cancel))
        bars[0].report(words, percent)

    task = loop.create_task(work(lambda words, percent: _call(loop, lambda: draw(words, percent))))
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        raise ModelFailed("The download was stopped.", hint="Ask again: it goes on where it stopped.") from None
    finally:
        for bar in bars:
            bar.end()


def _call(loop: asyncio.AbstractEventLoop, draw: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(draw)
