"""What is the OpenAI-compatible servers' own: the request, pieces of calls, reasoning, usage, errors, models."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from llamagent_server.agent.ports import ModelInfo
from llamagent_server.core.messages import (
    AssistantMessage,
    Finish,
    Json,
    JsonObject,
    Reply,
    ToolCall,
    ToolMessage,
)
from llamagent_server.errors import (
    ContextOverflow,
    ModelError,
    ModelFailed,
    ModelLacksTools,
    ModelLoading,
    ModelNotFound,
)
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.openai_chat import OpenAIChat, api_base
from tests.fakes import FakeModel, FakeOllama, FakeOpenAI, Flavour, Raw, Refusal, call, say
from tests.fakes import Reply as Played
from tests.fakes.fake_openai import LOADING, VLLM_NO_TOOL_PARSER
from tests.providers.asking import MODEL, OPTIONS, TASK, failure, reply, request

every_flavour = pytest.mark.parametrize("flavour", list(Flavour), ids=str)


def openai(server: FakeOpenAI, **config: Any) -> OpenAIChat:
    return OpenAIChat(ProviderConfig(url=server.url, **config))


async def answer_to(*deltas: JsonObject, finish: str | None = "stop", done: bool = True) -> Reply:
    """The reply made of these deltas."""
    with FakeOpenAI([stream(deltas, finish=finish, done=done)]) as server:
        return await reply(openai(server))


def stream(deltas: Sequence[JsonObject], *, finish: str | None = "stop", done: bool = True) -> Raw:
    events: list[Json] = [{"choices": [{"index": 0, "delta": dict(delta), "finish_reason": None}]} for delta in deltas]
    if finish is not None:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Raw([*lines, *([b"data: [DONE]\n\n"] if done else [])])


def piece(**fields: Json) -> JsonObject:
    """A delta with one piece of a tool call."""
    function: Json = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {"tool_calls": [{**fields, "function": function}]}


# --- the request


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://localhost:8080", "http://localhost:8080/v1"),
        ("http://localhost:8080/", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/chat/completions", "http://localhost:8080/v1"),
        ("https://host/llm/v3", "https://host/llm/v3"),
    ],
)
def test_the_address_may_be_given_with_or_without_its_version(given: str, base: str) -> None:
    assert api_base(given) == base


async def test_the_request() -> None:
    with FakeOpenAI([say("ok")]) as server:
        await reply(openai(server))
    sent = server.requests[0].json
    assert (sent["max_tokens"], sent["temperature"], sent["stream"]) == (512, 0.2, True)
    assert sent["stream_options"] == {"include_usage": True}
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert list(sent)[-1] == "messages"


async def test_messages_are_written_as_these_servers_read_them() -> None:
    spoken = (
        *TASK,
        AssistantMessage("I look.", (ToolCall("c1", "read_file", {"path": "é"}),), thinking="Hm."),
        ToolMessage("c1", "read_file", "text"),
    )
    with FakeOpenAI([say("ok")]) as server:
        await reply(openai(server), request(*spoken))
    function = {"name": "read_file", "arguments": '{"path":"é"}'}
    assert server.requests[0].json["messages"][2:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "read_file", "content": "text"},
    ]


async def test_a_schema_is_sent_as_response_format_and_no_tools_with_it() -> None:
    schema: JsonObject = {"type": "object"}
    with FakeOpenAI([say("{}")]) as server:
        await reply(openai(server), replace(request(), schema=schema))
    sent = server.requests[0].json
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"] == schema
    assert "tools" not in sent


async def test_a_server_that_refuses_the_thinking_switch_is_asked_without_from_then_on() -> None:
    extra = Refusal(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "chat_template_kwargs"]}]})
    with FakeOpenAI([extra, say("ok"), say("again")]) as server:
        model = openai(server)
        assert [(await reply(model)).content for _ in range(2)] == ["ok", "again"]
    assert ["chat_template_kwargs" in sent.json for sent in server.requests] == [True, False, False]


async def test_an_effort_is_said() -> None:
    with FakeOpenAI([say("ok")]) as server:
        await reply(openai(server), request(options=replace(OPTIONS, think="low")))
    assert server.requests[0].json["reasoning_effort"] == "low"


async def test_the_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    with FakeOpenAI([say("ok")], api_key="s3cret") as server:
        assert (await reply(openai(server, api_key_env="MY_KEY"))).content == "ok"


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        (None, None, "set `api_key_env`"),
        ("MY_KEY", None, "MY_KEY, which `api_key_env` names, is not set"),
        ("MY_KEY", "wrong", "Check the key in the environment variable MY_KEY"),
    ],
)
async def test_a_refused_key_says_where_the_key_comes_from(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, value: str | None, words: str
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with FakeOpenAI([say("ok")], api_key="s3cret") as server:
        error = (await failure(openai(server, api_key_env=variable))).error
    assert words in str(error)
    assert "wrong" not in f"{error} {error.detail}"


# --- pieces of calls


async def check_calls(deltas: Sequence[JsonObject], expected: Sequence[tuple[str, JsonObject]]) -> None:
    answer = await answer_to(*deltas, finish="tool_calls")
    assert [(made.name, made.arguments) for made in answer.tool_calls] == list(expected)
    assert len({made.id for made in answer.tool_calls}) == len(expected)


async def test_pieces_are_put_together_by_index_in_any_order() -> None:
    deltas = [
        piece(index=0, id="a", name="f", arguments=""),
        piece(index=1, id="b", name="g", arguments='{"y"'),
        piece(index=0, arguments='{"x":'),
        piece(index=1, arguments=":2}"),
        piece(index=0, arguments="1}"),
    ]
    await check_calls(deltas, [("f", {"x": 1}), ("g", {"y": 2})])


async def test_pieces_without_an_index_belong_to_the_last_call() -> None:
    deltas = [
        piece(id="a", name="f", arguments='{"x":'),
        piece(arguments="1}"),
        piece(id="b", name="f", arguments='{"x":2}'),
    ]
    await check_calls(deltas, [("f", {"x": 1}), ("f", {"x": 2})])


async def test_two_calls_that_share_an_index_stay_two() -> None:
    by_id = [piece(index=0, id="a", name="f", arguments="{}"), piece(index=0, id="b", name="g", arguments="{}")]
    whole = [piece(index=0, name="f", arguments='{"x":1}'), piece(index=0, name="f", arguments='{"x":2}')]
    await check_calls(by_id, [("f", {}), ("g", {})])
    await check_calls(whole, [("f", {"x": 1}), ("f", {"x": 2})])


async def test_a_name_and_an_id_repeated_in_each_piece_are_one_call() -> None:
    deltas = [piece(index=0, id="a", name="f", arguments=part) for part in ('{"x"', ":1}", "")]
    await check_calls(deltas, [("f", {"x": 1})])


async def test_arguments_as_an_object_and_none_at_all() -> None:
    await check_calls(
        [piece(index=0, name="f", arguments={"x": 1}), piece(index=1, name="g")], [("f", {"x": 1}), ("g", {})]
    )


async def test_a_call_without_a_name_is_a_problem() -> None:
    answer = await answer_to(piece(index=0, id="a", arguments="{}"))
    assert answer.tool_calls[0].problem == "the call names no tool"


# --- the stream


@pytest.mark.parametrize("reasoning", ["reasoning", "reasoning_content", "inline"])
async def test_thoughts_by_any_name(reasoning: str) -> None:
    with FakeOpenAI([say("Hello.", thinking="They greet.")], reasoning=reasoning) as server:
        answer = await reply(openai(server))
    assert (answer.thinking, answer.content) == ("They greet.", "Hello.")


async def test_thoughts_sent_under_both_names_are_taken_once() -> None:
    answer = await answer_to({"reasoning": "Hm.", "reasoning_content": "Hm."}, {"content": "ok"})
    assert answer.thinking == "Hm."


async def test_usage_comes_from_its_chunk_or_from_timings() -> None:
    with FakeOpenAI([Played("a b", prompt_tokens=100)], flavour=Flavour.VLLM) as server:
        usage = (await reply(openai(server))).usage
    assert (usage.prompt_tokens, usage.cached_prompt_tokens) == (100, 99)
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}], "timings": {"cache_n": 90, "prompt_n": 10}}
    with FakeOpenAI([Raw([f"data: {json.dumps(last)}\n\n".encode()])]) as server:
        usage = (await reply(openai(server))).usage
    assert (usage.prompt_tokens, usage.cached_prompt_tokens, usage.completion_tokens) == (100, 90, None)


async def test_a_missing_end_marker_after_the_finish_is_forgiven() -> None:
    assert (await answer_to({"content": "ok"}, done=False)).content == "ok"


@pytest.mark.parametrize("done", [True, False])
async def test_a_missing_finish_is_not(done: bool) -> None:
    with FakeOpenAI([stream([{"content": "half"}], finish=None, done=done)]) as server:
        broken = await failure(openai(server))
    assert isinstance(broken.error, ModelFailed)
    assert (broken.content, broken.error.retryable) == ("half", True)


async def test_an_empty_stream_is_a_failure() -> None:
    with FakeOpenAI([Raw([])]) as server:
        error = (await failure(openai(server))).error
    assert "without a reply" in error.message


@pytest.mark.parametrize(("reason", "retryable"), [("abort", True), ("content_filter", False)])
async def test_a_reply_given_up_is_a_failure(reason: str, retryable: bool) -> None:
    with FakeOpenAI([stream([{"content": "half"}], finish=reason)]) as server:
        error = (await failure(openai(server))).error
    assert isinstance(error, ModelFailed)
    assert error.retryable is retryable


async def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    made: Json = [{"id": "a", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}]
    message: Json = {"role": "assistant", "content": "ok", "tool_calls": made}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    body = json.dumps(whole, indent=1).encode()
    with FakeOpenAI([Refusal(200, body, "application/json")]) as server:
        answer = await reply(openai(server))
    assert (answer.content, answer.tool_calls[0].arguments, answer.finish) == ("ok", {"path": "a"}, Finish.TOOL_CALLS)


@pytest.mark.parametrize(
    "line",
    [
        b'data: {"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}\n\n',
        b'event: error\ndata: {"error":{"message":"Context size has been exceeded."}}\n\n',
        b'data: {"object":"error","message":"Context size has been exceeded.","code":400}\n\n',
        b'{"error":"Context size has been exceeded."}\n',
    ],
)
async def test_an_error_in_the_stream_ends_it(line: bytes) -> None:
    begun = stream([{"content": "It prints"}], finish=None, done=False)
    with FakeOpenAI([Raw([*begun.pieces, line])]) as server:
        broken = await failure(openai(server))
    assert broken.content == "It prints"
    assert isinstance(broken.error, ContextOverflow)


async def test_an_error_that_ollama_loses_on_this_road_is_an_incomplete_reply() -> None:
    with FakeOpenAI([Played("It prints", error="broken")], flavour=Flavour.OLLAMA) as server:
        broken = await failure(openai(server))
    assert broken.content == "It prints"
    assert "half way" in broken.error.message


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "x:cloud"])
async def test_a_cloud_model_behind_ollama_is_refused_on_this_road_too(name: str) -> None:
    with FakeOpenAI([say("ok")], model=name, flavour=Flavour.OLLAMA) as server:
        error = (await failure(openai(server), request(model=name))).error
    assert server.log == []
    assert "allow_cloud" in str(error)


async def test_a_cloud_stub_behind_ollama_is_refused_on_this_road_too() -> None:
    with FakeOllama([say("ok")], models=[FakeModel(remote_host="https://ollama.com:443")]) as server:
        error = (await failure(OpenAIChat(ProviderConfig(url=server.url)))).error
    assert server.requests == []
    assert "allow_cloud" in str(error)


# --- errors before the stream


@every_flavour
async def test_an_overflow_by_each_server(flavour: Flavour) -> None:
    with FakeOpenAI([say("ok")], flavour=flavour, num_ctx=600) as server:
        long = replace(request(), messages=(TASK[0], replace(TASK[1], content="x" * 4000)))
        error = (await failure(openai(server), long)).error
    assert isinstance(error, ContextOverflow)
    assert error.prompt_tokens is None if flavour is Flavour.LM_STUDIO else (error.prompt_tokens or 0) > 600


@pytest.mark.parametrize(
    ("refusal", "kind", "retryable", "words"),
    [
        (LOADING, ModelLoading, True, "still loading"),
        (VLLM_NO_TOOL_PARSER, ModelLacksTools, False, "Start the server with the flags"),
        (Refusal(500, {"error": {"message": "tools param requires --jinja flag"}}), ModelLacksTools, False, "--jinja"),
        (
            Refusal(404, {"object": "error", "message": "The model `x` does not exist.", "code": 404}),
            ModelNotFound,
            False,
            "the server lists",
        ),
        (Refusal(404, {"error": {"message": "No models loaded. Please load a model"}}), ModelNotFound, False, "Load"),
        (Refusal(404, {"error": {"code": 404, "message": "File Not Found"}}), ModelFailed, False, "Check `url`"),
        (Refusal(429, b"slow down", "text/plain"), ModelFailed, True, "busy: slow down"),
        (Refusal(500, b"", "text/plain"), ModelFailed, False, "HTTP 500"),
        (Refusal(500, b"<html>Bad\n gateway</html>", "text/html"), ModelFailed, False, "<html>Bad gateway</html>"),
        (Refusal(400, {"detail": "no such field"}), ModelFailed, False, "no such field"),
        (Refusal(400, {"error": "\x00{model}"}), ModelFailed, False, "{model}"),
        (Refusal(400, [1]), ModelFailed, False, "[1]"),
        (Refusal(500, {"error": "x " * 5000 + "out of memory"}), ModelFailed, False, "smaller model"),
    ],
)
async def test_each_error_says_what_to_do(
    refusal: Refusal, kind: type[ModelError], retryable: bool, words: str
) -> None:
    with FakeOpenAI([refusal]) as server:
        error = (await failure(openai(server))).error
    assert type(error) is kind
    assert words in str(error)
    assert getattr(error, "retryable", False) is retryable


# --- what it says of its models


async def test_only_llama_cpp_says_what_its_model_is() -> None:
    with FakeOpenAI(flavour=Flavour.LLAMA_CPP) as server:
        assert await openai(server).identity(MODEL) == f"b10488-fb307609 /models/{MODEL}.gguf"
    with FakeOpenAI(flavour=Flavour.VLLM) as server:
        assert await openai(server).identity(MODEL) == ""
    assert await openai(server).identity(MODEL) == ""


@pytest.mark.parametrize(
    ("flavour", "tools", "expected"),
    [
        (Flavour.LLAMA_CPP, True, ModelInfo(MODEL, frozenset({"completion", "tools"}), 32768, 8192, 2_500_000_000)),
        (Flavour.LLAMA_CPP, False, ModelInfo(MODEL, frozenset({"completion"}), 32768, 8192, 2_500_000_000)),
        (Flavour.LM_STUDIO, True, ModelInfo(MODEL, frozenset({"completion", "tools"}), 32768, 8192)),
        (Flavour.VLLM, True, ModelInfo(MODEL, None, 8192, 8192)),
        (Flavour.OLLAMA, True, ModelInfo(MODEL, None, None, 8192)),
    ],
)
async def test_describe(flavour: Flavour, tools: bool, expected: ModelInfo) -> None:
    with FakeOpenAI(flavour=flavour, tools=tools) as server:
        assert await openai(server).describe(MODEL) == expected


async def test_llama_cpp_serves_what_it_has_loaded_under_any_name() -> None:
    with FakeOpenAI(model="/models/x.gguf") as server:
        assert (await openai(server).describe("anything")).loaded_context == 8192


@pytest.mark.parametrize("flavour", [Flavour.VLLM, Flavour.LM_STUDIO, Flavour.OLLAMA], ids=str)
async def test_a_model_that_is_not_listed_is_not_found(flavour: Flavour) -> None:
    with FakeOpenAI(flavour=flavour) as server, pytest.raises(ModelNotFound, match=MODEL):
        await openai(server).describe("nope")


async def test_describe_on_a_server_that_lists_nothing_is_an_error_of_ours() -> None:
    with FakeOllama() as server, pytest.raises(ModelFailed, match="provider"):  # without /v1
        await OpenAIChat(ProviderConfig(url=server.url)).describe(MODEL)


@every_flavour
async def test_list_models(flavour: Flavour) -> None:
    with FakeOpenAI([call("x")], flavour=flavour) as server:
        assert [row.name for row in await openai(server).list_models()] == [MODEL]
