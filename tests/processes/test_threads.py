"""Blocking work off the loop: its threads are used again, and none of them is in anybody's way."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref

import pytest

from llamagent_server.processes.threads import IDLE, MAX_IDLE, off_loop, start

_SECONDS = 10


async def _idle_threads(count: int) -> set[threading.Thread]:
    """Wait until at least `count` threads wait for work."""
    async with asyncio.timeout(_SECONDS):
        while len(found := _threads(IDLE)) < count:  # noqa: ASYNC110 - threads tell nobody that they wait
            await asyncio.sleep(0.01)
    return found


def _threads(name: str) -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == name}


async def test_a_thread_that_is_done_does_the_next_work() -> None:
    await off_loop(lambda _: None)
    waiting = await _idle_threads(1)
    assert await off_loop(lambda _: threading.current_thread()) in waiting


async def test_work_that_waits_for_each_other_runs_at_once() -> None:
    count = 3 * MAX_IDLE
    together = threading.Barrier(count)
    async with asyncio.timeout(_SECONDS):
        await asyncio.gather(*(off_loop(lambda _: together.wait(_SECONDS)) for _ in range(count)))
    assert len(await _idle_threads(1)) <= count


async def test_no_more_threads_than_a_few_stay_behind() -> None:
    together = threading.Barrier(3 * MAX_IDLE)
    await asyncio.gather(*(off_loop(lambda _: together.wait(_SECONDS)) for _ in range(3 * MAX_IDLE)))
    async with asyncio.timeout(_SECONDS):
        while len(_threads(IDLE)) > MAX_IDLE or _threads("llamagent-work"):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


async def test_a_failure_goes_to_whoever_waits_and_the_thread_goes_on() -> None:
    def fails() -> None:
        raise ValueError("this one")

    with pytest.raises(ValueError, match="this one"):
        await off_loop(lambda _: fails())
    assert await off_loop(lambda _: 7) == 7


async def test_a_thread_that_waits_keeps_nothing_of_the_work_before() -> None:
    class Large:
        pass

    thing = Large()
    gone = weakref.ref(thing)
    assert await asyncio.wrap_future(start(lambda kept=thing: bool(kept), "llamagent-large"))  # type: ignore[misc]
    del thing
    async with asyncio.timeout(_SECONDS):
        while gone() is not None:
            gc.collect()
            await asyncio.sleep(0.01)


def test_threads_that_wait_keep_no_process_from_ending() -> None:
    code = (
        "import asyncio\n"
        "from llamagent_server.processes.threads import off_loop\n"
        "asyncio.run(off_loop(lambda _: None))\n"
        "print('ended')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_SECONDS, check=True)
    assert (done.stdout, done.stderr) == ("ended\n", "")
