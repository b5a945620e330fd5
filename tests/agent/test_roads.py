"""How a model is asked for tool calls: learned once, remembered in later connections, and tried again in time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from llamagent_server.agent.road import Learned, Road, RoadKey
from llamagent_server.agent.roads import road_key
from llamagent_server.errors import ModelLacksTools
from llamagent_server.settings import Settings
from llamagent_server.store.roads import FileRoads
from tests.agent.doubles import Desk, Scripted, call, fails, reply

LOST = reply("")
ANSWER = reply('{"answer": "x"}')
WORDS = "wrote nothing usable twice in a row: each of its steps is constrained by a JSON schema instead"


def desk(*script: Scripted, days: int = 0, identity: str = "digest 1", model: str = "m") -> Desk:
    """A connection of its own; the memory is the real one, in the person's folder."""
    made = Desk(script, settings=Settings(model=model))
    clock = made.ports.clock
    made.ports = replace(made.ports, memory=FileRoads(), clock=lambda: clock() + timedelta(days=days))
    made.conversations._ports = made.ports
    made.model.identified = identity
    return made


async def learned(model: str = "m") -> None:
    first = desk(LOST, LOST, ANSWER, model=model)
    await first.ask().result()
    assert first.ports.roads == {road_key(first.ports, first.settings): Road.SCHEMA}


def reasons(made: Desk) -> list[str]:
    return [str(event["reason"]) for event in made.of("harness.decided")]


async def test_what_was_learned_of_a_model_is_known_in_the_next_connection_and_said() -> None:
    await learned()
    second = desk(ANSWER, identity="digest 1")
    assert (await second.ask().result()).answer == "x"
    assert [request.schema is not None for request in second.model.requests] == [True]
    assert reasons(second) == [f"remembered from 2026-01-02: m {WORDS}"]


async def test_a_server_that_refuses_tools_is_remembered_too() -> None:
    await desk(fails(ModelLacksTools("m does not support tools")), ANSWER).ask().result()
    second = desk(ANSWER)
    await second.ask().result()
    assert second.model.requests[0].schema is not None


@pytest.mark.parametrize(
    ("days", "identity", "because"),
    [
        (0, "digest 2", "the model or its server has changed since"),
        (31, "digest 1", "that is long ago"),
        (31, "", "that is long ago"),
    ],
)
async def test_a_changed_model_or_server_or_a_long_time_gives_another_chance(
    days: int, identity: str, because: str
) -> None:
    await learned()
    second = desk(reply("fine"), days=days, identity=identity)
    assert (await second.ask().result()).answer == "fine"
    assert second.model.requests[0].schema is None
    assert reasons(second) == [f"m is asked for tool calls again: they failed on 2026-01-02, but {because}"]
    third = desk(reply("fine"), days=days, identity=identity)
    await third.ask().result()
    assert reasons(third) == []


async def test_a_server_that_does_not_say_what_the_model_is_changes_nothing() -> None:
    await learned()
    second = desk(ANSWER, days=29, identity="")
    await second.ask().result()
    assert second.model.requests[0].schema is not None


async def test_another_model_and_another_server_are_not_judged_by_it() -> None:
    await learned()
    other = desk(reply("fine"), model="n")
    await other.ask().result()
    elsewhere = desk(reply("fine"))
    elsewhere.model.url = "test://elsewhere"
    await elsewhere.ask().result()
    assert other.model.requests[0].schema is None
    assert elsewhere.model.requests[0].schema is None


async def test_another_server_in_the_same_connection_is_not_judged_by_it() -> None:
    made = desk(LOST, LOST, ANSWER, reply("fine"))
    await made.ask().result()
    made.model.url = "test://elsewhere"
    await made.ask().result()
    assert [request.schema is None for request in made.model.requests] == [True, True, False, True]


async def test_a_model_that_calls_tools_well_costs_no_look_at_what_it_is() -> None:
    asked: list[RoadKey] = []

    class Watched(FileRoads):
        async def keep(self, key: RoadKey, learned: Learned) -> None:  # noqa: ARG002
            asked.append(key)

    made = desk(reply("", call("read_file", path="a")), reply("done"))
    made.ports = replace(made.ports, memory=Watched())
    made.conversations._ports = made.ports

    async def identity(_model: str) -> str:
        raise AssertionError

    made.model.identity = identity  # type: ignore[method-assign]
    await made.ask().result()
    assert asked == []
