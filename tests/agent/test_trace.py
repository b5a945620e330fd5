"""The trace: numbers without gaps, joined deltas, a journal without deltas."""

import asyncio
from datetime import UTC, datetime

from llamagent_server.agent.trace import DELTA_SECONDS, Trace
from llamagent_server.core.events import Channel, Event, Level, ModelDelta, Notice
from tests.agent.doubles import MemoryJournal


def make() -> tuple[Trace, list[Event], MemoryJournal]:
    journal, seen = MemoryJournal("s", []), list[Event]()
    trace = Trace("s", journal, seen.append, lambda: datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), last_seq=4)
    trace.turn, trace.step = "t", 2
    return trace, seen, journal


async def test_a_thousand_deltas_become_one_before_the_next_event() -> None:
    trace, seen, journal = make()
    for _ in range(1000):
        trace.emit(ModelDelta(Channel.CONTENT, "a"))
    trace.emit(Notice(Level.INFO, "end"))
    assert [event.seq for event in seen] == [5, 6]
    assert seen[0].body == ModelDelta(Channel.CONTENT, "a" * 1000)
    assert [record["event"]["kind"] for record in journal.records] == ["notice"]  # type: ignore[index,call-overload]


async def test_deltas_go_out_by_themselves_after_a_moment_and_never_mix_channels() -> None:
    trace, seen, _ = make()
    arrived = asyncio.Event()
    trace._listener = lambda event: (seen.append(event), arrived.set())[0]
    trace.emit(ModelDelta(Channel.THINKING, "hm"))
    trace.emit(ModelDelta(Channel.CONTENT, "Hel"))
    trace.emit(ModelDelta(Channel.CONTENT, "lo"))
    assert [event.body for event in seen] == [ModelDelta(Channel.THINKING, "hm")]
    arrived.clear()
    await asyncio.wait_for(arrived.wait(), 100 * DELTA_SECONDS)
    assert seen[-1].body == ModelDelta(Channel.CONTENT, "Hello")


async def test_an_event_is_written_as_the_contract_says() -> None:
    trace, seen, _ = make()
    trace.emit(Notice(Level.WARNING, "careful"))
    assert seen[0].to_json() == {
        "session": "s",
        "turn": "t",
        "seq": 5,
        "step": 2,
        "time": "2026-01-02T03:04:05.678Z",
        "actor": "harness",
        "kind": "notice",
        "level": "warning",
        "text": "careful",
    }
