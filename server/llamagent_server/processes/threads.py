"""Blocking work off the event loop, in daemon threads of its own: none of them keeps the daemon from ending.

A thread that is done waits for the next work: to start one costs more than most work does.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Job: TypeAlias = tuple[Callable[[], None], str]  # what to do, and the thread's name meanwhile

MAX_IDLE = 4
IDLE = "llamagent-idle"
_idle: list[SimpleQueue[Job]] = []
_changing = threading.Lock()  # _idle


class Cancel:
    """Tells blocking work to stop: sets a flag and calls what the work asked to be called (killing a child, say)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._actions: list[Callable[[], None]] = []

    @property
    def asked(self) -> bool:
        return self._asked

    def on_ask(self, action: Callable[[], None]) -> None:
        """Call `action` when stopping is asked for; at once when it already was."""
        with self._lock:
            if not self._asked:
                self._actions.append(action)
                return
        action()

    def ask(self) -> None:
        with self._lock:
            self._asked = True
            actions, self._actions = self._actions, []
        for action in actions:
            action()


def start(work: Callable[[], T], name: str) -> "Future[T]":
    """Begin `work` in a daemon thread of its own."""
    future, carry = _carried(work)
    _do((carry, name))
    return future


def _carried(work: Callable[[], T]) -> "tuple[Future[T], Callable[[], None]]":
    """A future, and what does the work and tells it."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled, only waited for

    def carry() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits for the future
            future.set_exception(error)
        else:
            future.set_result(result)

    return future, carry


class Lane:
    """Work that waits for nothing but the disk, in at most `width` threads at once: the rest waits its turn."""

    def __init__(self, width: int) -> None:
        self._free = width
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()

    def start(self, work: Callable[[], T], name: str) -> "Future[T]":
        future, carry = _carried(work)
        with self._lock:
            self._waiting.append(carry)
            if not self._free:
                return future
            self._free -= 1
        _do((self._drain, name))
        return future

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                carry = self._waiting.popleft()
            carry()


def _do(job: Job) -> None:
    """Give `job` to a thread that has nothing to do, or to a new one."""
    with _changing:
        inbox = _idle.pop() if _idle else None
    if inbox is not None:
        inbox.put(job)
    else:
        threading.Thread(target=_work, args=(job,), name=job[1], daemon=True).start()


def _work(job: Job) -> None:
    inbox: SimpleQueue[Job] = SimpleQueue()
    me = threading.current_thread()
    while True:
        job[0]()
        del job  # what it holds may be large, and the next one may be long in coming
        me.name = IDLE
        with _changing:
            if len(_idle) >= MAX_IDLE:
                return
            _idle.append(inbox)
        job = inbox.get()
        me.name = job[1]


async def off_loop(work: Callable[[Cancel], T], *, name: str = "llamagent-work", linger: float = 0.0) -> T:
    """The result of `work`, done off the loop.

    When the awaiting task is cancelled the work is asked to stop, and given at most `linger` seconds to have stopped.
    """
    cancel = Cancel()
    done = asyncio.wrap_future(start(lambda: work(cancel), name))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        cancel.ask()
        done.add_done_callback(_retrieve)
        await asyncio.wait({done}, timeout=linger)
        raise


def _retrieve(done: "asyncio.Future[T]") -> None:
    """Nobody waits any more: an exception is looked at, so that it is not reported as forgotten."""
    if not done.cancelled():
        done.exception()
