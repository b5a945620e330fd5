"""Trouble with the model and its server: what is told apart and tried again, what the model and the person hear."""

import asyncio
from dataclasses import replace

import pytest

from llamagent_server.agent.nudges import CUT, EMPTY, GO_ON, ONLY_THOUGHT, THOUGHT_TOO_LONG, joined
from llamagent_server.agent.patience import NOTICE_SECONDS, RETRY_SECONDS
from llamagent_server.agent.road import Road
from llamagent_server.agent.roads import road_key
from llamagent_server.core.events import StopReason
from llamagent_server.core.messages import AssistantMessage, Finish, Origin, Reply, UserMessage
from llamagent_server.core.transcript import Transcript
from llamagent_server.errors import ModelFailed, ModelLoading, UnreadableCall
from llamagent_server.settings import Settings
from tests.agent.doubles import Desk, Hang, Late, call, fails, reply

LONG = "The answer begins here, and it is a long one. " * 10
UNREADABLE = "What looks like a tool call could not be read: it breaks off."


def unreadable() -> Reply:
    return replace(reply("<tool_call>{"), problem=UNREADABLE)


def decisions(desk: Desk) -> list[str]:
    return [str(event["decision"]) for event in desk.of("harness.decided")]


def told(desk: Desk) -> list[str]:
    """What the harness said to the model."""
    session = desk.conversation.session
    return [m.content for m in session.messages if isinstance(m, UserMessage) and not m.task]


async def test_a_call_that_cannot_be_read_costs_one_step_and_the_model_hears_why() -> None:
    desk = Desk([unreadable(), reply("", call("read_file", path="a")), reply("done")], texts={"a": "x"})
    result = await desk.ask().result()
    assert (result.answer, result.steps) == ("done", 3)
    assert told(desk) == [UNREADABLE]
    assert desk.of("harness.decided")[0]["reason"] == UNREADABLE
    assert desk.ports.roads[road_key(desk.ports, desk.settings)] is Road.NATIVE


@pytest.mark.parametrize("lost", [unreadable(), reply("")], ids=["unreadable", "swallowed"])
async def test_calls_lost_twice_in_a_row_are_asked_for_by_schema_and_it_is_said(lost: Reply) -> None:
    desk = Desk([lost, lost, reply('{"tool": "read_file", "arguments": {"path": "a"}}'), reply('{"answer": "x"}')])
    desk.project.texts["a"] = "x"
    assert (await desk.ask().result()).answer == "x"
    assert [request.schema is None for request in desk.model.requests] == [True, True, False, False]
    assert desk.ports.roads == {road_key(desk.ports, desk.settings): Road.SCHEMA}
    assert decisions(desk)[:3] == ["nudge", "nudge", "repair"]
    assert "twice in a row" in str(desk.of("harness.decided")[2]["reason"])


async def test_a_usable_reply_between_two_lost_ones_keeps_the_road() -> None:
    fine = [reply("", call("read_file", path=path)) for path in "ab"]
    desk = Desk([unreadable(), fine[0], unreadable(), fine[1], reply("done")])
    assert (await desk.ask().result()).answer == "done"
    assert desk.ports.roads[road_key(desk.ports, desk.settings)] is Road.NATIVE


async def test_a_call_that_the_server_cannot_read_is_retried_once_and_then_asked_for_by_schema() -> None:
    broken = fails(UnreadableCall("The model wrote a tool call that Ollama could not read: EOF.", retryable=True))
    desk = Desk([broken, broken, reply('{"answer": "here"}')])
    assert (await desk.ask().result()).answer == "here"
    assert [request.schema is None for request in desk.model.requests] == [True, True, False]
    assert desk.slept == [RETRY_SECONDS[0]]


async def test_a_recovered_call_is_shown_as_recovered() -> None:
    found = [replace(call("read_file", path="a"), origin=Origin.TEXT), replace(call("fly"), origin=Origin.TEXT)]
    found.append(replace(call("run_command", command="make"), origin=Origin.TEXT))
    desk = Desk([reply("", *found), reply("done")], texts={"a": "x"})
    await desk.ask().result()
    assert decisions(desk) == ["repair", "refuse", "ask"]
    assert all("recovered from a call" in str(event["reason"]) for event in desk.of("harness.decided"))


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (reply(""), EMPTY),
        (reply(" \n"), EMPTY),
        (reply("", thinking="Hm."), ONLY_THOUGHT),
        (reply("", thinking="Hm. " * 500, finish=Finish.LENGTH), THOUGHT_TOO_LONG),
        (reply("", finish=Finish.LENGTH), CUT),
        (reply("I will now", finish=Finish.LENGTH), CUT),
        (reply(LONG, finish=Finish.LENGTH), GO_ON),
    ],
)
async def test_each_kind_of_useless_reply_has_its_own_words(first: Reply, words: str) -> None:
    desk = Desk([first, reply("done")])
    await desk.ask().result()
    assert told(desk) == [words]


async def test_thinking_that_never_ends_gives_up_with_what_the_person_can_do() -> None:
    thought = reply("", thinking="Hm. " * 500, finish=Finish.LENGTH)
    desk = Desk([thought] * 3)
    with pytest.raises(ModelFailed, match="Set `think` to false"):
        await desk.ask().result()
    assert decisions(desk) == ["nudge", "nudge"]


async def test_an_answer_cut_by_the_limit_is_gone_on_with_and_told_whole() -> None:
    desk = Desk([reply(LONG, finish=Finish.LENGTH), reply(f"{LONG[-30:]}And this is its end.")])
    result = await desk.ask().result()
    assert result.answer == f"{LONG}And this is its end."
    assert result.stop_reason is StopReason.ANSWERED
    assert desk.of("turn.ended")[0]["answer"] == result.answer


async def test_an_answer_without_end_ends_after_three_parts_and_it_is_said() -> None:
    parts = [reply(f"Part {number}. {LONG}", finish=Finish.LENGTH) for number in range(3)]
    desk = Desk(parts)
    result = await desk.ask().result()
    assert result.answer == "".join(part.content for part in parts)
    assert "its end is missing" in str(desk.of("notice")[-1]["text"])
    assert isinstance(desk.conversation.session.messages[-1], AssistantMessage)
    assert not Transcript(desk.conversation.session.messages).pending


async def test_a_call_after_the_first_part_begins_the_answer_anew() -> None:
    script = [reply(LONG, finish=Finish.LENGTH), reply("", call("read_file", path="a")), reply("It is x.")]
    desk = Desk(script, texts={"a": "x"})
    assert (await desk.ask().result()).answer == "It is x."


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("", "b", "b"),
        ("a", "b", "ab"),
        ("The quick brown fox", "quick brown fox jumps", "The quick brown fox jumps"),
        ("aaa", "aaa", "aaaaaa"),
        ("one two", "", "one two"),
    ],
)
def test_two_parts_are_joined_where_they_meet(first: str, second: str, whole: str) -> None:
    assert joined(first, second) == whole


async def test_a_model_that_is_being_loaded_is_waited_for_and_the_waits_are_seen() -> None:
    loading = fails(ModelLoading("Ollama is still loading the model.", retryable=True))
    desk = Desk([loading] * 7 + [reply("here")])
    assert (await desk.ask().result()).answer == "here"
    assert desk.slept == [1, 2, 4, 8, 15, 15, 15]
    assert [event["text"] for event in desk.of("notice")][:2] == [
        "Ollama is still loading the model. Trying again in 1 s.",
        "Ollama is still loading the model. Trying again in 2 s.",
    ]


async def test_a_model_that_never_gets_loaded_is_given_up_after_the_persons_patience() -> None:
    loading = fails(ModelLoading("Ollama is still loading the model.", retryable=True))
    desk = Desk([loading] * 99, settings=Settings(request_timeout=60))
    with pytest.raises(ModelLoading):
        await desk.ask().result()
    assert sum(desk.slept) <= 60
    assert sum(desk.slept) > 40


async def test_faults_that_are_no_loading_are_retried_twice() -> None:
    broken = fails(ModelFailed("The reply stopped half way.", retryable=True))
    desk = Desk([broken] * 3)
    with pytest.raises(ModelFailed):
        await desk.ask().result()
    assert desk.slept == list(RETRY_SECONDS)
    assert len(desk.of("notice")) == 2


class Time:
    """Waits that end when the test lets them."""

    def __init__(self) -> None:
        self.waits: asyncio.Queue[tuple[float, asyncio.Event]] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        over = asyncio.Event()
        self.waits.put_nowait((seconds, over))
        await over.wait()

    async def let_pass(self) -> float:
        seconds, over = await self.waits.get()
        over.set()
        return seconds


async def test_a_long_wait_for_the_first_word_is_told_at_growing_intervals_and_then_no_more() -> None:
    time, silent = Time(), Late("at last")
    desk = Desk([silent, reply("ok")])
    object.__setattr__(desk.ports, "sleep", time.sleep)
    turn = desk.ask()
    passed = [await time.let_pass() for _ in range(6)]
    await time.waits.get()  # the next wait has begun, so the notice before it is out
    assert passed == [10, 20, 30, 60, 60, 60]
    assert [event["text"] for event in desk.of("notice")] == [
        f"Waiting for the model, {seconds} s." for seconds in (10, 30, 60, 120, 180, 240)
    ]
    assert {event["level"] for event in desk.of("notice")} == {"info"}
    silent.speak.set()
    assert (await turn.result()).answer == "at last"
    assert len(desk.of("notice")) == 6
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_no_notice_comes_once_the_model_speaks() -> None:
    time, hang = Time(), Hang("I will")
    desk = Desk([hang])
    object.__setattr__(desk.ports, "sleep", time.sleep)
    turn = desk.ask()
    await hang.started.wait()
    waits = []
    while not time.waits.empty():
        seconds, over = time.waits.get_nowait()
        over.set()
        waits.append(seconds)
    await asyncio.sleep(0)
    turn.cancel()
    assert (await turn.result()).stop_reason is StopReason.CANCELLED
    assert waits in ([], [NOTICE_SECONDS[0]])
    assert desk.of("notice") == []


async def test_a_wait_is_cancelled_with_its_turn() -> None:
    time, silent = Time(), Late("at last")
    desk = Desk([silent])
    object.__setattr__(desk.ports, "sleep", time.sleep)
    turn = desk.ask()
    await time.waits.get()
    turn.cancel()
    assert (await turn.result()).stop_reason is StopReason.CANCELLED
    assert desk.kinds()[-1] == "turn.ended"
