"""How a model is asked for tool calls: learned once, remembered in later connections, and tried again in time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from llamagent_server.agent.ports import ChatRequest, ModelInfo
from llamagent_server.agent.road import Learned, Road, RoadKey
from llamagent_server.agent.roads import road_key
from llamagent_server.core.messages import Reply
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


@pytest.mark.parametrize(
    ("provider", "trained", "loaded", "window"),
    [
        ("openai", 32768, 4096, 4096),
        ("openai", 2048, 4096, 2048),
        ("openai", None, None, 8192),
        ("openai", 32768, 16384, 8192),
        ("ollama", 32768, 4096, 8192),  # it is loaded anew with what is asked for
        ("ollama", 2048, None, 2048),  # but for what it was not trained for
    ],
)
async def test_the_window_is_never_larger_than_what_the_server_gives(
    provider: str, trained: int | None, loaded: int | None, window: int
) -> None:
    info = ModelInfo("m", frozenset({"tools"}), context_length=trained, loaded_context=loaded)
    made = Desk([reply("", call("read_file", path="a")), reply("one"), reply("two")], texts={"a": "x"}, info=info)
    made.model.provider = provider
    await made.ask().result()
    await made.ask().result()
    assert {request.options.num_ctx for request in made.model.requests} == {window}
    assert {gauge["numCtx"] for gauge in made.of("context.gauge")} == {window}
    notices = [str(event["text"]) for event in made.of("notice")]
    assert len(notices) == (window < 8192)
    assert all(f"{window} tokens of context, and num_ctx is 8192" in words for words in notices)


async def test_a_server_with_a_small_window_is_never_sent_more_than_fits_in_it() -> None:
    def counting(request: ChatRequest) -> Reply:
        sizes.append(sum(len(message.content) for message in request.messages) // 3)
        if "Summarise this conversation" in request.messages[-1].content:
            return reply("I read files.")
        return reply("", call("read_file", path=f"f{len(sizes)}")) if len(sizes) < 12 else reply("done")

    sizes: list[int] = []
    info = ModelInfo("m", frozenset({"tools"}), loaded_context=4096)
    made = Desk([counting] * 20, texts={f"f{n}": "word " * 400 for n in range(20)}, info=info)
    assert (await made.ask("Read them all.").result()).answer == "done"
    assert max(sizes) < 4096
    assert all(
        any("Read them all." in message.content for message in request.messages) for request in made.model.requests
    )


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
