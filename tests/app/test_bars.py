"""What takes long is shown from its first report on, from any thread, and its button stops it."""

import asyncio
from collections.abc import Callable

import pytest

from llamagent_server.agent.ports import Tell
from llamagent_server.app.bars import shown
from llamagent_server.errors import ModelFailed


class Bars:
    def __init__(self) -> None:
        self.drawn: list[object] = []
        self.stop: Callable[[], object] = lambda: None

    def open(self, cancel: Callable[[], object]) -> "Bars":
        self.stop = cancel
        self.drawn.append("begin")
        return self

    def report(self, words: str, percent: int | None) -> None:
        self.drawn.append((words, percent))

    def end(self) -> None:
        self.drawn.append("end")


async def test_reports_of_another_thread_are_drawn_and_it_ends() -> None:
    bars = Bars()

    async def work(tell: Tell) -> int:
        await asyncio.to_thread(lambda: [tell(f"{number} of 2", number * 50) for number in (1, 2)])
        await asyncio.sleep(0)
        return 7

    assert await shown(bars.open, work) == 7
    assert bars.drawn == ["begin", ("1 of 2", 50), ("2 of 2", 100), "end"]


async def test_without_a_report_nothing_is_shown() -> None:
    bars = Bars()

    async def work(_: Tell) -> str:
        return "quick"

    assert await shown(bars.open, work) == "quick"
    assert bars.drawn == []


async def endless(tell: Tell, begun: asyncio.Event) -> None:
    tell("on its way", None)
    await asyncio.sleep(0)
    begun.set()
    await asyncio.Event().wait()


async def test_the_button_stops_the_work_with_words() -> None:
    bars, begun = Bars(), asyncio.Event()
    task = asyncio.create_task(shown(bars.open, lambda tell: endless(tell, begun)))
    await begun.wait()
    bars.stop()
    with pytest.raises(ModelFailed, match="stopped"):
        await task
    assert bars.drawn[-1] == "end"


async def test_who_is_cancelled_stops_the_work_and_is_cancelled() -> None:
    bars, begun = Bars(), asyncio.Event()
    task = asyncio.create_task(shown(bars.open, lambda tell: endless(tell, begun)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bars.drawn[-1] == "end"


async def test_a_failure_takes_the_bar_down() -> None:
    bars = Bars()

    async def work(tell: Tell) -> None:
        tell("on its way", 1)
        await asyncio.sleep(0)
        raise ModelFailed("broke off")

    with pytest.raises(ModelFailed, match="broke off"):
        await shown(bars.open, work)
    assert bars.drawn == ["begin", ("on its way", 1), "end"]
