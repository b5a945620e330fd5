"""What every provider does alike (agent/ports.py, Model), tried on each kind of server."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from llamagent_server.agent.ports import Delta, Failure, ModelEvent
from llamagent_server.core.messages import AssistantMessage, Finish, Message, Origin, ToolCall, ToolMessage
from llamagent_server.core.messages import Reply as ModelReply
from llamagent_server.errors import ModelFailed, ModelUnreachable
from tests.fakes import Call, Raw, Refusal, Reply, call, calls, say
from tests.providers.asking import OPTIONS, TASK, failure, first_event, none_requesting, reply, request
from tests.providers.worlds import HTTP_WORLDS, WORLDS, World

every_world = pytest.mark.parametrize("world", WORLDS, ids=str)
every_http_world = pytest.mark.parametrize("world", HTTP_WORLDS, ids=str)


@every_world
async def test_plain_text_arrives_piece_by_piece_and_whole(world: World, tmp_path: Path) -> None:
    with world.playing([say("It prints\n  hello.\n")], tmp_path) as play:
        answer = await reply(play.model)
    assert (answer.content, answer.tool_calls, answer.finish) == ("It prints\n  hello.\n", (), Finish.STOP)
    assert answer.latency.first_token_seconds is not None
    assert answer.latency.total_seconds == answer.usage.seconds > 0


@every_world
async def test_thinking_is_kept_apart(world: World, tmp_path: Path) -> None:
    with world.playing([say("Hello.", thinking="They greet me. I greet back.")], tmp_path) as play:
        asked = request(options=replace(OPTIONS, think=True))
        answer = await reply(play.model, asked)
    assert (answer.content, answer.thinking) == ("Hello.", "They greet me. I greet back.")


@every_world
async def test_one_call(world: World, tmp_path: Path) -> None:
    with world.playing([call("read_file", path="a<b>&ü.py")], tmp_path) as play:
        answer = await reply(play.model)
    (made,) = answer.tool_calls
    assert (made.name, made.arguments, made.problem) == ("read_file", {"path": "a<b>&ü.py"}, None)
    assert (answer.content, answer.finish) == ("", Finish.TOOL_CALLS)


@every_world
async def test_two_calls_with_text_keep_their_order_and_differ_in_id(world: World, tmp_path: Path) -> None:
    script = [calls(("read_file", {"path": "a"}), ("read_file", {"path": "b"}), content="Both.")]
    with world.playing(script, tmp_path) as play:
        answer = await reply(play.model)
    assert answer.content == "Both."
    assert [made.arguments for made in answer.tool_calls] == [{"path": "a"}, {"path": "b"}]
    assert len({made.id for made in answer.tool_calls}) == 2


@every_world
@pytest.mark.parametrize("given", ["", "call_1"], ids=["none", "the same"])
async def test_ids_are_unique_in_the_conversation_whatever_the_server_gives(
    world: World, tmp_path: Path, given: str
) -> None:
    script = [Reply(calls=(Call("read_file", {"path": path}, id=given),)) for path in "ab"]
    with world.playing(script, tmp_path) as play:
        first = await reply(play.model)
        spoken = (*TASK, AssistantMessage("", first.tool_calls), ToolMessage(first.tool_calls[0].id, "read_file", "x"))
        second = await reply(play.model, request(*spoken))
    assert first.tool_calls[0].id != second.tool_calls[0].id
    assert first.tool_calls[0].id and second.tool_calls[0].id


@every_world
async def test_a_reply_cut_by_the_length_limit_has_no_calls(world: World, tmp_path: Path) -> None:
    script = [calls(("read_file", {"path": "a.py"}), content="I read", finish="length")]
    with world.playing(script, tmp_path) as play:
        answer = await reply(play.model)
    assert (answer.content, answer.tool_calls, answer.finish) == ("I read", (), Finish.LENGTH)


@every_world
async def test_an_empty_answer_is_an_empty_reply(world: World, tmp_path: Path) -> None:
    with world.playing([say("")], tmp_path) as play:
        answer = await reply(play.model)
    assert (answer.content, answer.tool_calls, answer.finish) == ("", (), Finish.STOP)


@every_world
@pytest.mark.parametrize("arguments", ['{"path": "a', "[1]", '{"n": 1e999}'], ids=["cut", "a list", "infinite"])
async def test_arguments_that_do_not_parse_are_a_problem_not_a_failure(
    world: World, tmp_path: Path, arguments: str
) -> None:
    with world.playing([Reply(calls=(Call("read_file", arguments),))], tmp_path) as play:
        answer = await reply(play.model)
    (made,) = answer.tool_calls
    assert (made.name, made.arguments) == ("read_file", {})
    assert made.problem


@every_world
async def test_arguments_encoded_twice_are_read(world: World, tmp_path: Path) -> None:
    with world.playing([Reply(calls=(Call("read_file", json.dumps('{"path": "a.py"}')),))], tmp_path) as play:
        answer = await reply(play.model)
    assert answer.tool_calls[0].arguments == {"path": "a.py"}


@every_world
async def test_a_cut_stream_is_a_failure_worth_a_retry_and_keeps_what_came(world: World, tmp_path: Path) -> None:
    with world.playing([Reply("It prints", end="eof"), say("It prints hello.")], tmp_path) as play:
        broken = await failure(play.model)
        answer = await reply(play.model)
    assert broken.content == "It prints"
    assert isinstance(broken.error, ModelFailed)
    assert broken.error.retryable
    assert answer.content == "It prints hello."


@every_http_world
async def test_a_connection_that_breaks_is_a_failure_worth_a_retry(world: World, tmp_path: Path) -> None:
    with world.playing([Reply("It prints", end="drop"), say("ok")], tmp_path) as play:
        broken = await failure(play.model)
        assert (await reply(play.model)).content == "ok"
    assert isinstance(broken.error, ModelFailed)
    assert (broken.content, broken.error.retryable) == ("It prints", True)


@every_http_world
@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_characters_split_over_chunks_stay_whole(world: World, tmp_path: Path, size: int) -> None:
    text = "naïve 日本語 🎉 é </think> \u2028 end"
    script = [calls(("read_file", {"path": text}), content=text, split=size)]
    with world.playing(script, tmp_path) as play:
        answer = await reply(play.model)
    assert answer.content == text
    assert answer.tool_calls[0].arguments == {"path": text}


@every_world
async def test_a_server_error_is_a_failure_that_says_what_the_server_said(world: World, tmp_path: Path) -> None:
    with world.playing([Refusal(500, {"error": "HTTP 500 happened"}), say("ok")], tmp_path) as play:
        broken = await failure(play.model)
        assert (await reply(play.model)).content == "ok"
    assert "HTTP 500" in broken.error.message


@every_world
async def test_nobody_there_is_unreachable_and_says_what_to_do(world: World, tmp_path: Path) -> None:
    broken = await failure(world.nobody(tmp_path))
    assert isinstance(broken.error, ModelUnreachable)
    assert broken.error.hint


@every_world
async def test_cancelled_in_the_middle_the_server_sees_it_and_the_next_request_works(
    world: World, tmp_path: Path
) -> None:
    with world.playing([say("a b c d e f", hold_after=3), say("ok")], tmp_path) as play:
        started = asyncio.Event()
        task = asyncio.create_task(_watch(play.model.chat(request()), started))
        if play.server is not None:
            await started.wait()
        else:
            await asyncio.sleep(0)  # a transcript with a delay: its first word comes in an hour
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if (server := play.server) is not None:
            await server.until(lambda: server.disconnects == 1)
        assert (await reply(play.model)).content == "ok"


@every_http_world
async def test_cancelled_before_the_headers_the_server_sees_it(world: World, tmp_path: Path) -> None:
    with world.playing([say("late", hold_after=0), say("ok")], tmp_path) as play:
        assert play.server is not None
        server = play.server
        task = asyncio.create_task(_watch(play.model.chat(request()), asyncio.Event()))
        await server.until(lambda: server.taken == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until(lambda: server.disconnects == 1)
        assert (await reply(play.model)).content == "ok"


@every_http_world
async def test_closed_early_the_server_sees_it(world: World, tmp_path: Path) -> None:
    with world.playing([say("a b c d e f", hold_after=3)], tmp_path) as play:
        assert play.server is not None
        server = play.server
        assert isinstance(await first_event(play.model), Delta)
        await server.until(lambda: server.disconnects == 1)


@every_http_world
async def test_no_thread_is_kept_by_a_request_that_is_over(world: World, tmp_path: Path) -> None:
    with world.playing([say("ok"), say("a b c d", hold_after=3), Reply("x", end="drop")], tmp_path) as play:
        await reply(play.model)
        await first_event(play.model)
        await failure(play.model)
        await none_requesting()


@every_world
async def test_garbage_is_a_clear_failure(world: World, tmp_path: Path) -> None:
    with world.playing([Raw([b"<html>a proxy speaks</html>\n"]), say("ok")], tmp_path) as play:
        broken = await failure(play.model)
        assert (await reply(play.model)).content == "ok"
    assert "no JSON" in broken.error.message
    assert broken.error.hint


def _line_without_end() -> Raw:
    return Raw([b'data: {"x": "' + b"x" * 1_000_000] + [b"x" * 1_000_000] * 99)


def _reply_without_end(*texts: str) -> Raw:
    """A reply that says `texts` for ever."""
    records = [
        json.dumps(
            {
                "message": {"role": "assistant", "content": text},
                "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}],
                "done": False,
            }
        )
        for text in texts
    ]
    return Raw([f"data: {record}\n\n".encode() for record in records], endless=True)


def _in_its_dialect(raw: Raw, world: World) -> Raw:
    if world.name not in ("ollama", "ollama-native"):
        return raw
    return Raw([piece.replace(b"data: ", b"") for piece in raw.pieces], endless=raw.endless)


@every_http_world
@pytest.mark.parametrize(
    "raw",
    [_line_without_end(), _reply_without_end(*(f"{number} and so on " for number in range(100)))],
    ids=["a 100 MB line", "an endless reply"],
)
async def test_what_does_not_end_is_cut_off_and_said(world: World, tmp_path: Path, raw: Raw) -> None:
    raw = _in_its_dialect(raw, world)
    with world.playing([raw, say("ok")], tmp_path) as play:
        assert play.server is not None
        server = play.server
        broken = await failure(play.model)
        await server.until(lambda: server.disconnects == 1)
        assert (await reply(play.model)).content == "ok"
    assert isinstance(broken.error, ModelFailed)
    assert len(broken.content) < 100_000


@every_http_world
async def test_a_reply_that_repeats_itself_is_cut_off_and_what_is_usable_kept(world: World, tmp_path: Path) -> None:
    raw = _in_its_dialect(_reply_without_end("again and again "), world)
    with world.playing([raw, say("ok")], tmp_path) as play:
        assert play.server is not None
        server = play.server
        *_, cut = [event async for event in play.model.chat(request())]
        await server.until(lambda: server.disconnects == 1)
        assert (await reply(play.model)).content == "ok"
    assert isinstance(cut, ModelReply)
    assert (cut.content, cut.finish, cut.tool_calls) == ("again and again ", Finish.LENGTH, ())
    assert cut.problem is not None
    assert "over and over" in cut.problem


@every_http_world
async def test_messages_sent_before_are_a_prefix_of_the_next_request(world: World, tmp_path: Path) -> None:
    script = [calls(("read_file", {"b": 1, "path": "ü"}), content="I look."), call("read_file", path="b"), say("Done.")]
    with world.playing(script, tmp_path) as play:
        assert play.server is not None
        spoken: tuple[Message, ...] = TASK
        for _ in script:
            answer = await reply(play.model, request(*spoken))
            results = (ToolMessage(made.id, made.name, "x = 'é\ud800'\n") for made in answer.tool_calls)
            spoken = (*spoken, AssistantMessage(answer.content, answer.tool_calls, "thought"), *results)
        bodies = [sent.body for sent in play.server.requests]
    assert len(bodies) == 3
    for earlier, later in itertools.pairwise(bodies):
        assert earlier.endswith(b"]}")
        assert later.startswith(earlier.removesuffix(b"]}"))


@every_http_world
async def test_a_call_with_a_problem_is_replayed_as_valid_json(world: World, tmp_path: Path) -> None:
    with world.playing([Reply(calls=(Call("read_file", '{"path": "a'),)), say("ok")], tmp_path) as play:
        answer = await reply(play.model)
        (made,) = answer.tool_calls
        spoken = (*TASK, AssistantMessage("", (made,)), ToolMessage(made.id, made.name, made.problem or ""))
        assert (await reply(play.model, request(*spoken))).content == "ok"


@every_http_world
async def test_arguments_that_json_cannot_hold_do_not_spoil_the_conversation(world: World, tmp_path: Path) -> None:
    made = ToolCall("c1", "read_file", {"n": float("inf")}, origin=Origin.TEXT)
    spoken = (*TASK, AssistantMessage("", (made,)), ToolMessage("c1", "read_file", "x"))
    with world.playing([say("ok")], tmp_path) as play:
        assert (await reply(play.model, request(*spoken))).content == "ok"


async def _watch(events: AsyncIterator[ModelEvent], started: asyncio.Event) -> None:
    async for event in events:
        assert not isinstance(event, Failure), event
        started.set()
