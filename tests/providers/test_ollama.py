"""What is Ollama's own: its request, its errors row by row, thinking, cloud models, what it says of its models."""

import json
from dataclasses import replace
from typing import Any

import pytest

from llamagent_server.agent.ports import ModelInfo
from llamagent_server.core.messages import AssistantMessage, Finish, JsonObject, ToolCall, ToolMessage, UserMessage
from llamagent_server.errors import (
    ContextOverflow,
    ModelError,
    ModelFailed,
    ModelLacksTools,
    ModelNotFound,
    ModelUnreachable,
    UnreadableCall,
)
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.failures import ThinkingRefused
from llamagent_server.providers.ollama import Ollama
from tests.fakes import Call, FakeModel, FakeOllama, Raw, Refusal, Reply, call, fail, say
from tests.providers.asking import MODEL, OPTIONS, TASK, failure, reply, request


def ollama(server: FakeOllama, **config: Any) -> Ollama:
    return Ollama(ProviderConfig(url=server.url, **config))


# --- the request


async def test_the_request_says_what_keeps_the_server_from_cutting_the_prompt() -> None:
    with FakeOllama([say("ok")]) as server:
        await reply(ollama(server))
    sent = server.requests[0].json
    assert sent["options"] == {"num_ctx": 8192, "num_predict": 512, "temperature": 0.2}
    assert (sent["truncate"], sent["shift"], sent["think"], sent["stream"]) == (False, False, False, True)
    assert sent["keep_alive"] == "10m"
    assert list(sent)[-1] == "messages"


@pytest.mark.parametrize("count", ["-5", "1e30", "9" * 30, "NaN", "true", '"7"'])
async def test_a_count_of_tokens_that_cannot_be_one_is_none(count: str) -> None:
    lines = f'{{"message":{{"content":"hi"}},"done":true,"prompt_eval_count":{count},"eval_count":{count}}}\n'
    with FakeOllama([Raw([lines.encode()])]) as server:
        got = await reply(ollama(server))
    assert (got.content, got.usage.prompt_tokens, got.usage.completion_tokens) == ("hi", None, None)


@pytest.mark.parametrize(("given", "sent"), [("10m", "10m"), ("0", 0), ("-1", -1), ("300", 300)])
async def test_keep_alive_is_a_duration_or_a_number_of_seconds(given: str, sent: object) -> None:
    with FakeOllama([say("ok")]) as server:
        await reply(ollama(server), request(options=replace(OPTIONS, keep_alive=given)))
    assert server.requests[0].json["keep_alive"] == sent


async def test_messages_are_written_as_ollama_reads_them() -> None:
    spoken = (
        *TASK,
        AssistantMessage("I look.", (ToolCall("c1", "read_file", {"path": "a.py"}),), thinking="Hm."),
        ToolMessage("c1", "read_file", "print('é')"),
        AssistantMessage("It prints é."),
        UserMessage("Thanks."),
    )
    with FakeOllama([say("ok")]) as server:
        await reply(ollama(server), request(*spoken))
    function = {"index": 0, "name": "read_file", "arguments": {"path": "a.py"}}
    assert server.requests[0].json["messages"] == [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": "What does a.py do?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "tool_name": "read_file", "tool_call_id": "c1", "content": "print('é')"},
        {"role": "assistant", "content": "It prints é."},
        {"role": "user", "content": "Thanks."},
    ]


async def test_a_schema_is_sent_as_format_and_no_tools_with_it() -> None:
    schema: JsonObject = {"type": "object", "properties": {"answer": {"type": "string"}}}
    with FakeOllama([say("{}")]) as server:
        await reply(ollama(server), replace(request(), schema=schema))
    assert server.requests[0].json["format"] == schema
    assert "tools" not in server.requests[0].json


async def test_many_requests_load_the_model_once() -> None:
    with FakeOllama([say("ok")] * 5) as server:
        model = ollama(server)
        for _ in range(5):
            await reply(model)
    assert server.reloads == 0


async def test_nothing_but_the_prompt_goes_out_and_no_origin() -> None:
    with FakeOllama([say("ok")]) as server:
        await reply(ollama(server))
    assert [sent.path for sent in server.log] == ["/api/show", "/api/chat"]
    assert {name.lower() for name in server.requests[0].headers} == {
        "host",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "user-agent",
    }


@pytest.mark.parametrize("path", ["", "/", "/v1", "/api", "/api/chat"])
async def test_the_address_of_one_of_its_apis_is_taken_for_the_server(path: str) -> None:
    with FakeOllama([say("ok")]) as server:
        assert (await reply(Ollama(ProviderConfig(url=server.url + path)))).content == "ok"


async def test_localhost_is_found() -> None:
    with FakeOllama([say("ok")]) as server:
        assert (await reply(Ollama(ProviderConfig(url=f"http://localhost:{server.port}")))).content == "ok"


# --- the stream


async def test_counts_come_from_the_last_line_and_what_is_absent_is_unknown() -> None:
    last = b'{"model":"m","message":{"role":"assistant","content":"!"},"done":true,"done_reason":"stop"}\n'
    with FakeOllama([Reply("a b", prompt_tokens=1234), Raw([last])]) as server:
        model = ollama(server)
        counted, uncounted = await reply(model), await reply(model)
    assert (counted.usage.prompt_tokens, counted.usage.completion_tokens) == (1234, 2)
    assert (uncounted.content, uncounted.usage.prompt_tokens, uncounted.usage.completion_tokens) == ("!", None, None)


async def test_everything_is_taken_from_one_line_the_last_too() -> None:
    message = {
        "role": "assistant",
        "content": "Now.",
        "thinking": "Hm.",
        "tool_calls": [{"function": {"name": "read_file", "arguments": '{"path":"a"}'}}],
    }
    line = json.dumps({"message": message, "done": True, "done_reason": "stop"}).encode()
    with FakeOllama([Raw([line])]) as server:
        answer = await reply(ollama(server))
    assert (answer.content, answer.thinking, answer.finish) == ("Now.", "Hm.", Finish.TOOL_CALLS)
    assert answer.tool_calls[0].arguments == {"path": "a"}


async def test_blank_lines_and_crlf_are_let_pass() -> None:
    lines = b'\r\n{"message":{"content":"ok"},"done":false}\r\n\n  \n{"done":true,"done_reason":"stop"}\r\n'
    with FakeOllama([Raw([lines])]) as server:
        assert (await reply(ollama(server))).content == "ok"


async def test_an_emoji_in_two_escapes_over_two_lines_stays_whole() -> None:
    pieces = [
        b'{"message":{"content":"a\\ud83c"}}\n',
        b'{"message":{"content":"\\udf89b\\ud83c"}}\n',
        b'{"done":true}\n',
    ]
    with FakeOllama([Raw(pieces)]) as server:
        assert (await reply(ollama(server))).content == "a🎉b\ufffd"


async def test_an_old_build_without_ids_and_indices_is_read() -> None:
    with FakeOllama([Reply(calls=(Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"})))], old=True) as s:
        answer = await reply(ollama(s))
    assert len({made.id for made in answer.tool_calls}) == 2


@pytest.mark.parametrize("mode", ["rendered", "native"])
async def test_calls_in_both_modes(mode: Any) -> None:
    with FakeOllama([call("read_file", path="a")], mode=mode) as server:
        (made,) = (await reply(ollama(server))).tool_calls
    assert made.arguments == {"path": "a"}


async def test_an_error_line_ends_the_stream_and_what_came_is_kept() -> None:
    with FakeOllama([Reply("It prints", error=fail("runner_died").body["error"])]) as server:
        broken = await failure(ollama(server))
    assert broken.content == "It prints"
    assert "model runner has unexpectedly stopped" in broken.error.message


# --- the errors, row by row


@pytest.mark.parametrize(
    ("key", "kind", "retryable", "words"),
    [
        ("empty_body", ModelFailed, False, "missing request body"),
        ("malformed_json", ModelFailed, False, "unexpected EOF"),
        ("array_content", ModelFailed, False, "cannot unmarshal array"),
        ("bad_think_word", ModelFailed, False, "Set it to false, true, low, medium or high"),
        ("bad_think_type", ModelFailed, False, "Set it to false, true, low, medium or high"),
        ("no_model", ModelNotFound, False, "ollama list"),
        ("invalid_name", ModelNotFound, False, "ollama list"),
        ("unknown_model", ModelNotFound, False, "ollama pull qwen3.5:4b"),
        ("missing_blob", ModelNotFound, False, "ollama pull qwen3.5:4b"),
        ("no_tools", ModelLacksTools, False, "does not support tools"),
        ("no_thinking", ThinkingRefused, False, "`think`"),
        ("embedding", ModelFailed, False, "The model qwen3.5:4b cannot chat"),
        ("bad_format", ModelFailed, False, "invalid format"),
        ("busy", ModelFailed, True, "busy"),
        ("load_terminated", ModelFailed, False, "smaller model"),
        ("load_timeout", ModelFailed, False, "smaller model"),
        ("out_of_memory", ModelFailed, False, "not enough memory"),
        ("incompatible", ModelFailed, False, "pdate the model server"),
        ("runner_died", ModelFailed, True, "smaller model"),
        ("runner_error", ModelFailed, True, "smaller model"),
        ("malformed_call", UnreadableCall, True, "tool call"),
        ("cut_call", UnreadableCall, True, "tool call"),
        ("client_gone", ModelFailed, False, "request canceled"),
        ("cloud_off", ModelFailed, False, "runs locally"),
        ("cloud_unauthorised", ModelFailed, False, "runs locally"),
        ("cloud_unreachable", ModelFailed, False, "runs locally"),
        ("overflow_nested", ContextOverflow, False, "6031 tokens"),
        ("overflow_rendered", ContextOverflow, False, "does not fit"),
        ("overflow_mlx", ContextOverflow, False, "6031 tokens"),
        ("not_ollama", ModelFailed, False, "is not Ollama"),
        ("wrong_method", ModelFailed, False, "is not Ollama"),
        ("forbidden", ModelFailed, False, "http://127.0.0.1:11434"),
    ],
)
async def test_each_error_says_what_to_do(key: str, kind: type[ModelError], retryable: bool, words: str) -> None:
    with FakeOllama([fail(key)]) as server:
        broken = await failure(ollama(server))
    assert type(broken.error) is kind
    assert words in str(broken.error)
    assert getattr(broken.error, "retryable", False) is retryable
    assert "HTTP" in (broken.error.detail or "")


@pytest.mark.parametrize(
    ("key", "tokens"), [("overflow_nested", 6031), ("overflow_mlx", 6031), ("overflow_rendered", None)]
)
async def test_an_overflow_tells_the_servers_count(key: str, tokens: int | None) -> None:
    with FakeOllama([fail(key)]) as server:
        error = (await failure(ollama(server))).error
    assert isinstance(error, ContextOverflow)
    assert error.prompt_tokens == tokens


async def test_a_prompt_too_long_is_an_overflow_and_nothing_is_dropped() -> None:
    long = UserMessage("x" * 40_000)
    with FakeOllama([say("ok")]) as server:
        error = (await failure(ollama(server), request(*TASK, AssistantMessage("Yes?"), long))).error
        assert server.prompts == []
    assert isinstance(error, ContextOverflow)
    assert error.prompt_tokens is not None
    assert error.prompt_tokens > 8192


async def test_an_unreachable_server_says_how_to_start_it() -> None:
    with FakeOllama() as gone:
        url = gone.url
    error = (await failure(Ollama(ProviderConfig(url=url)))).error
    assert isinstance(error, ModelUnreachable)
    assert str(error).startswith(f"No model server answers at {url}. Start it with `ollama serve`")


# --- thinking


async def test_a_model_that_cannot_think_is_asked_without_from_then_on() -> None:
    plain = FakeModel(capabilities=("completion", "tools"))
    asked = request(options=replace(OPTIONS, think=True))
    with FakeOllama([say("ok"), say("again")], models=[plain]) as server:
        model = ollama(server)
        assert [(await reply(model, asked)).content for _ in range(2)] == ["ok", "again"]
    assert [sent.json["think"] for sent in server.requests] == [True, False, False]


async def test_an_effort_is_sent_as_it_is() -> None:
    with FakeOllama([say("ok", thinking="Hm.")]) as server:
        answer = await reply(ollama(server), request(options=replace(OPTIONS, think="low")))
    assert server.requests[0].json["think"] == "low"
    assert answer.thinking == "Hm."


async def test_inline_thoughts_are_split_off() -> None:
    with FakeOllama([say("<think>\nThey greet.\n</think>\n\nHello.", split=1)]) as server:
        answer = await reply(ollama(server))
    assert (answer.thinking, answer.content) == ("They greet.", "Hello.")


# --- cloud


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "qwen3-coder:480B-CLOUD", "x:cloud"])
async def test_a_cloud_name_is_refused_before_anything_is_sent(name: str) -> None:
    with FakeOllama([say("ok")], models=[FakeModel(name)]) as server:
        error = (await failure(ollama(server), request(model=name))).error
    assert server.log == []
    assert "allow_cloud" in str(error)


async def test_a_cloud_stub_under_another_name_is_refused_before_the_prompt_leaves() -> None:
    stub = FakeModel(remote_host="https://ollama.com:443")
    with FakeOllama([say("ok")], models=[stub]) as server:
        model = ollama(server)
        for _ in range(2):
            assert "https://ollama.com:443" in str((await failure(model)).error)
    assert server.requests == []


async def test_a_reply_from_elsewhere_is_refused_at_its_first_line() -> None:
    line = b'{"remote_host":"https://ollama.com:443","message":{"content":"hi"}}\n'
    with FakeOllama([Raw([line])]) as server:
        broken = await failure(ollama(server))
    assert broken.content == ""
    assert "allow_cloud" in str(broken.error)


async def test_cloud_models_are_spoken_to_where_they_are_allowed() -> None:
    stub = FakeModel("x:cloud", remote_host="https://ollama.com:443")
    with FakeOllama([say("ok")], models=[stub]) as server:
        assert (await reply(ollama(server, allow_cloud=True), request(model="x:cloud"))).content == "ok"


async def test_a_server_that_does_not_know_show_is_chatted_with_all_the_same() -> None:
    class Sparse(FakeOllama):
        def _show(self, exchange: Any, _request: Any) -> None:
            exchange.refuse(Refusal(404, b"404 page not found", "text/plain"))

    with Sparse([say("ok")]) as server:
        assert (await reply(ollama(server))).content == "ok"


# --- what it says of its models


async def test_describe_tells_capabilities_lengths_and_what_is_loaded() -> None:
    with FakeOllama([say("ok")]) as server:
        model = ollama(server)
        fresh = await model.describe(MODEL)
        await reply(model)
        loaded = await model.describe(MODEL)
    everything = frozenset({"completion", "tools", "thinking"})
    assert fresh == ModelInfo(MODEL, everything, context_length=262144)
    assert (loaded.loaded_context, loaded.size) == (8192, 3_389_983_735)


async def test_describe_an_unknown_model_says_how_to_get_it() -> None:
    with FakeOllama() as server, pytest.raises(ModelNotFound, match="ollama pull nope:1b"):
        await ollama(server).describe("nope:1b")


async def test_a_model_is_known_again_until_it_or_the_server_changes() -> None:
    models = [FakeModel(), FakeModel(name="other:latest", digest="1" * 64)]
    with FakeOllama(models=models) as server:
        model = ollama(server)
        first = await model.identity(MODEL)
        assert first == f"{'0' * 64} 0.17.4"
        assert await model.identity("other") == f"{'1' * 64} 0.17.4"
        server.version = "0.18.0"
        assert await model.identity(MODEL) == f"{'0' * 64} 0.18.0"
        server.models[MODEL] = replace(server.models[MODEL], digest="2" * 64)
        assert await model.identity(MODEL) == f"{'2' * 64} 0.18.0"
    assert await model.identity(MODEL) == ""


@pytest.mark.parametrize("old", [False, True])
async def test_list_models(old: bool) -> None:
    with FakeOllama(models=[FakeModel(), FakeModel("gemma:2b", ("completion",), 8192, 5)], old=old) as server:
        rows = await ollama(server).list_models()
    assert [(row.name, row.size) for row in rows] == [(MODEL, 3_389_983_735), ("gemma:2b", 5)]
    assert rows[1].capabilities == (None if old else frozenset({"completion"}))
    assert rows[1].context_length == 8192


async def test_a_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret\n")
    with FakeOllama([say("ok"), fail("forbidden")]) as server:
        model = ollama(server, api_key_env="MY_KEY")
        await reply(model)
        error = (await failure(model)).error
    assert server.requests[0].headers["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in f"{error} {error.detail} {model!r}"


async def test_a_key_that_cannot_be_sent_is_said_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3c\nret")
    with FakeOllama([say("ok")]) as server:
        error = (await failure(ollama(server, api_key_env="MY_KEY"))).error
    assert "MY_KEY" in error.message
    assert "s3c" not in f"{error} {error.detail}"
