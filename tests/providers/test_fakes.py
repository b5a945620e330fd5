"""The scripted servers themselves, where other tests rely on their word."""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeOllama, call, say
from tests.providers.asking import MODEL


def chat(server: FakeOllama, **asked: Any) -> tuple[int, list[dict[str, Any]]]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "x"}], **asked}
    return post(f"{server.url}/api/chat", body)


def post(url: str, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    sent = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(sent, timeout=20) as answer:
            return answer.status, [json.loads(line) for line in answer]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, [json.loads(error.read())]


def test_a_changed_num_ctx_or_shift_loads_the_model_again() -> None:
    with FakeOllama([say("ok")] * 4) as server:
        for options in ({"num_ctx": 4096}, {"num_ctx": 4096}, {"num_ctx": 8192}):
            chat(server, options=options, shift=False)
        chat(server, options={"num_ctx": 8192})
        assert server.reloads == 2


def test_without_truncate_false_the_task_is_dropped_in_silence() -> None:
    spoken = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "the task"},
        {"role": "assistant", "content": "a" * 4000},
        {"role": "user", "content": "go on"},
    ]
    with FakeOllama([say("ok")] * 2) as server:
        status, _ = chat(server, messages=spoken, options={"num_ctx": 900})
        assert status == 200
        assert [message["content"][:8] for message in server.prompts[0]] == ["s", "go on"]
        status, (answer,) = chat(server, messages=spoken, options={"num_ctx": 900}, truncate=False)
        assert status == 400
        assert json.loads(answer["error"])["error"]["n_ctx"] == 900


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400, "cannot unmarshal array"),
        ({"options": {"num_ctx": "8192"}}, 500, 'option "num_ctx" must be of type integer'),
        ({"options": {"unknown": 1}}, 200, ""),
        ({"think": "much"}, 400, 'invalid think value: "much"'),
        ({"model": "nope"}, 404, "model 'nope' not found"),
    ],
)
def test_requests_are_checked_as_ollama_checks_them(asked: dict[str, Any], status: int, words: str) -> None:
    with FakeOllama([say("ok")]) as server:
        found, lines = chat(server, **asked)
        assert found == status
        assert words in lines[0].get("error", "")


def test_thinking_is_on_unless_it_is_switched_off() -> None:
    with FakeOllama([say("ok", thinking="Hm.")] * 2) as server:
        assert "thinking" in chat(server)[1][0]["message"]
        assert "thinking" not in chat(server, think=False)[1][0]["message"]


async def test_one_request_is_served_at_a_time() -> None:
    with FakeOllama([say("a b", hold_after=1), say("ok")]) as server:
        first = asyncio.create_task(asyncio.to_thread(chat, server))
        await server.until(lambda: len(server.prompts) == 1)
        second = asyncio.create_task(asyncio.to_thread(chat, server))
        await server.until(lambda: len(server.requests) == 2)
        assert len(server.prompts) == 1
        server.release()
        await first
        await second
        assert len(server.prompts) == 2


def test_a_script_used_up_is_said() -> None:
    with FakeOllama([lambda asked: call("f", model=asked["model"])]) as server:
        assert chat(server)[0] == 200
        status, (answer,) = chat(server)
        assert (status, answer["error"]) == (500, "the script of this fake server has no reply for chat request 2")


@pytest.mark.parametrize(("module", "path"), [("fake_ollama", "/api/chat"), ("fake_openai", "/v1/chat/completions")])
def test_each_is_a_process_too(module: str, path: str, tmp_path: Path) -> None:
    script, port_file = tmp_path / "replies.jsonl", tmp_path / "port"
    script.write_text('{"content": "hello"}\n', "utf-8")
    command = [sys.executable, "-m", f"tests.fakes.{module}", "--script", str(script), "--port-file", str(port_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url.endswith(f":{port_file.read_text()}")
            body = {"model": MODEL, "messages": [{"role": "user", "content": "x"}], "stream": True}
            sent = urllib.request.Request(url + path, json.dumps(body).encode())
            with urllib.request.urlopen(sent, timeout=20) as answer:
                assert b"hello" in answer.read()
            with urllib.request.urlopen(f"{url}/_fake", timeout=20) as answer:
                assert json.loads(answer.read())["requests"][0]["path"] == path
        finally:
            process.terminate()
