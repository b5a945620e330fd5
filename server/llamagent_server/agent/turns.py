"""The turns of one session: one runs, further asks wait in a visible queue or steer the one that runs."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from llamagent_server.agent.loop import run_turn, trace_steering
from llamagent_server.agent.results import TurnResult
from llamagent_server.agent.room import require_room
from llamagent_server.agent.session import Session
from llamagent_server.agent.turn import Ask, TurnState, together
from llamagent_server.core.events import StopReason, TurnUsage
from llamagent_server.errors import Busy

MAX_WAITING = 100

T = TypeVar("T")


@dataclass(eq=False)
class Turn:
    """A turn as its asker holds it."""

    id: str
    session: str
    ask: Ask
    _ended: asyncio.Future[TurnResult] = field(repr=False)
    _cancel: Callable[["Turn"], bool] = field(repr=False)

    async def result(self) -> TurnResult:
        """Wait for the end. Raises LlamagentError when the turn failed."""
        return await asyncio.shield(self._ended)

    def cancel(self) -> bool:
        """Stop the turn, or take it out of the queue; the result then says `cancelled`. False when it is over."""
        return self._cancel(self)


class Turns:
    """`on_queue` is told the waiting turns whenever these change."""

    def __init__(self, session: Session, on_queue: Callable[[str, tuple[Turn, ...]], None]) -> None:
        self._session = session
        self._on_queue = on_queue
        self._waiting: deque[Turn] = deque()
        self._running: Turn | None = None
        self._state: TurnState | None = None
        self._task: asyncio.Task[None] | None = None
        self._reserved = False

    @property
    def idle(self) -> bool:
        """Nothing runs in the session."""
        return self._running is None and not self._reserved

    @property
    def waiting(self) -> tuple[Turn, ...]:
        return tuple(self._waiting)

    def start(self, ask: Ask) -> Turn:
        """Run `ask` now, or queue it behind the turn that runs. Raises Busy where the queue is full."""
        turn = self._new(ask)
        if self._running is not None or self._reserved:
            if len(self._waiting) >= MAX_WAITING:
                raise Busy(
                    f"{MAX_WAITING} messages wait in this conversation already.", hint="Wait, or take some back."
                )
            self._waiting.append(turn)
            self._queue_changed()
        else:
            self._run(turn)
        return turn

    def put_first(self, ask: Ask) -> Turn:
        """Queue `ask` before all that wait; within `alone`, so that it is what runs next."""
        turn = self._new(ask)
        self._waiting.appendleft(turn)
        return turn

    async def alone(self, work: Coroutine[None, None, T]) -> T:
        """Do `work` on the session while no turn runs; asks meanwhile wait in the queue."""
        self._reserved = True
        try:
            return await work
        finally:
            self._reserved = False
            self._start_waiting()

    def steer(self, ask: Ask) -> Turn:
        """Let `ask` join the running turn before its next step; without one, it is a turn of its own.

        Raises ContextOverflow where it would not fit together with what was asked before.
        """
        if self._running is None or self._state is None:
            return self.start(ask)
        running = self._running
        whole = together([running.ask, *self._state.steering, ask], running.ask.mode)
        require_room(self._session, self._state.settings, whole.text)
        self._state.steering.append(ask)
        if self._session.trace.turn == running.id:  # else it tells of them when it begins
            trace_steering(self._session, ask)
        return Turn(running.id, running.session, ask, running._ended, lambda _: False)

    def cancel(self) -> bool:
        """Stop the running turn. False when none runs."""
        return self._running is not None and self._cancel(self._running)

    def unqueue(self, turn_id: str) -> bool:
        return any(turn.id == turn_id and self._cancel(turn) for turn in tuple(self._waiting))

    async def close(self) -> None:
        """Stop everything and wait until it has ended."""
        for turn in tuple(self._waiting):
            self._cancel(turn)
        # What was said to the running turn, and not heard, is a turn of its own as soon as that one ends.
        while self._running is not None and self._task is not None:
            self._cancel(self._running)
            await asyncio.wait([self._task])

    def _new(self, ask: Ask) -> Turn:
        ended: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()
        # A detached turn has nobody who waits: its failure stands in `turn.ended`, and is not "never retrieved".
        ended.add_done_callback(lambda future: future.cancelled() or future.exception())
        return Turn(self._session.ports.new_id("turn"), self._session.id, ask, ended, self._cancel)

    def _run(self, turn: Turn) -> None:
        settings = self._session.ports.settings()
        state = TurnState(turn.id, turn.ask.mode, settings, monotonic())
        self._running, self._state = turn, state
        self._task = asyncio.get_running_loop().create_task(self._whole(turn, state), name=turn.id)

    async def _whole(self, turn: Turn, state: TurnState) -> None:
        try:
            result = await run_turn(self._session, state, turn.ask)
            self._settle(turn, result)
        except asyncio.CancelledError:
            self._settle(turn, _cancelled(turn))
        except Exception as failure:  # noqa: BLE001 - whoever asked gets it, whatever it is
            self._settle(turn, failure)
        finally:
            self._next(state)

    def _settle(self, turn: Turn, outcome: TurnResult | Exception) -> None:
        if turn._ended.done():
            return
        if isinstance(outcome, Exception):
            turn._ended.set_exception(outcome)
        else:
            turn._ended.set_result(outcome)

    def _next(self, ended: TurnState) -> None:
        self._running = self._state = None
        if ended.steering:
            self._waiting.appendleft(self._new(together(ended.steering, ended.mode)))
        self._start_waiting()

    def _start_waiting(self) -> None:
        if self._waiting and self._running is None:
            turn = self._waiting.popleft()
            self._queue_changed()
            self._run(turn)

    def _cancel(self, turn: Turn) -> bool:
        if turn is self._running and self._task is not None:
            if self._session.trace.turn == turn.id:
                return self._task.cancel()
            # A task that is cancelled before its first step never takes one: nothing would end the turn.
            asyncio.get_running_loop().call_soon(self._task.cancel)
            return True
        if turn in self._waiting:
            self._waiting.remove(turn)
            self._queue_changed()
            self._settle(turn, _cancelled(turn))
            return True
        return False

    def _queue_changed(self) -> None:
        self._on_queue(self._session.id, self.waiting)


def _cancelled(turn: Turn) -> TurnResult:
    return TurnResult("", turn.session, turn.id, StopReason.CANCELLED, 0, TurnUsage())
