"""The trace of one session: numbers events, joins deltas, writes the journal and tells the listener."""

import asyncio
from collections.abc import Iterable

from llamagent_server.agent.ports import Clock, Journal, TraceListener
from llamagent_server.core.events import Channel, Event, EventBody, ModelDelta
from llamagent_server.core.records import event_record

# Editors draw each notification: about thirty a second look like a stream, and a thousand freeze them.
DELTA_SECONDS = 1 / 30


class Trace:
    """`emit` takes the events of one turn at a time; `turn` and `step` are set by the loop before it emits."""

    def __init__(
        self, session: str, journal: Journal, listener: TraceListener, clock: Clock, *, last_seq: int = -1
    ) -> None:
        self.turn = ""
        self.step = 0
        self._session = session
        self._journal = journal
        self._listener = listener
        self._clock = clock
        self._seq = last_seq
        self._waiting: list[str] = []
        self._channel = Channel.CONTENT
        self._timer: asyncio.TimerHandle | None = None

    def emit(self, body: EventBody) -> None:
        if isinstance(body, ModelDelta):
            self._join(body)
            return
        self.flush()
        event = self._number(body)
        self._journal.append(event_record(event.to_json()))
        self._listener(event)

    def aside(self, turn: str, bodies: Iterable[EventBody]) -> None:
        """Tell a turn that is no part of the conversation, and is not stored. Only while no other runs."""
        self.turn, self.step = turn, 0
        for body in bodies:
            self._listener(self._number(body))

    def flush(self) -> None:
        """Send the deltas that wait to be joined."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            text = "".join(self._waiting)
            self._waiting.clear()
            self._listener(self._number(ModelDelta(self._channel, text)))

    def _join(self, delta: ModelDelta) -> None:
        if delta.channel is not self._channel:
            self.flush()
            self._channel = delta.channel
        self._waiting.append(delta.text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELTA_SECONDS, self.flush)

    def _number(self, body: EventBody) -> Event:
        self._seq += 1
        return Event(self._session, self.turn, self._seq, self.step, self._clock(), body)
