"""The doctor finds what is wrong and says what to do, each against a server that really is so."""

import sys
from pathlib import Path

import pytest

from llamagent_server.agent.ports import ModelInfo
from llamagent_server.doctor import Finding, Patient, Sign, examine
from llamagent_server.providers.suggestions import suggested
from llamagent_server.settings import EMBEDDED_MODEL, Provider, Settings
from tests.end_to_end.test_pull import WHOLE, Pullable
from tests.fakes import FakeModel, FakeOllama, FakeOpenAI, Raw, Request, say
from tests.fakes.serving import Exchange
from tests.terminal.scripts import Stage
from tests.terminal.terminals import Terminal, piped


async def findings(settings: Settings, home: Path, problems: tuple[str, ...] = ()) -> list[Finding]:
    return [finding async for finding in examine(Patient(settings, problems, home))]


def one(found: list[Finding], words: str) -> Finding:
    matching = [finding for finding in found if words in finding.words]
    assert len(matching) == 1, f"{words!r} in {found}"
    return matching[0]


def failed(found: list[Finding]) -> list[str]:
    return [finding.words for finding in found if finding.sign is Sign.FAIL]


async def test_a_healthy_machine(tmp_path: Path) -> None:
    with FakeOllama() as server:
        found = await findings(Settings(url=server.url), tmp_path)
    assert failed(found) == []
    assert one(found, "Ollama answers").words.endswith("1 model")
    assert one(found, "qwen3.5:4b is there").sign is Sign.OK
    assert one(found, "can be given tools").sign is Sign.OK
    assert one(found, f"Python {sys.version_info.major}.{sys.version_info.minor}").sign is Sign.OK
    assert one(found, str(tmp_path)).sign is Sign.OK
    assert one(found, "ripgrep").sign in (Sign.OK, Sign.WARN)


async def test_nobody_answers(tmp_path: Path) -> None:
    found = await findings(Settings(url="http://127.0.0.1:9"), tmp_path)
    assert len(failed(found)) == 1
    assert "ollama serve" in found[-1].todo


@pytest.mark.parametrize("there", [True, False])
async def test_where_ollama_is_to_be_had_is_said_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    if there:
        (tmp_path / "ollama").write_text("#!/bin/sh\n")
        (tmp_path / "ollama").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = await findings(Settings(url="http://127.0.0.1:9"), tmp_path)
    assert ("https://ollama.com/download" in found[-1].todo) != there


def test_that_nobody_answers_is_said_once(stage: Stage) -> None:
    window = Terminal([str(stage.folder), "-", "doctor", "--url", "http://127.0.0.1:9"], stage.env)
    assert window.ended() == 1
    assert window.shown.count("No model server answers") == 1


async def test_the_model_is_missing(tmp_path: Path) -> None:
    with FakeOllama(models=[FakeModel("gemma3:4b")]) as server:
        found = await findings(Settings(url=server.url), tmp_path)
    assert len(failed(found)) == 1
    assert "ollama pull qwen3.5:4b" in found[-1].todo


async def test_no_tools_and_no_thinking(tmp_path: Path) -> None:
    with FakeOllama(models=[FakeModel(capabilities=("completion",))]) as server:
        found = await findings(Settings(url=server.url, think=True), tmp_path)
    assert one(found, "cannot be given tools").sign is Sign.WARN
    assert "think = false" in one(found, "cannot think").todo
    assert failed(found) == []


async def test_a_window_larger_than_the_model(tmp_path: Path) -> None:
    with FakeOllama(models=[FakeModel(context_length=4096)]) as server:
        found = await findings(Settings(url=server.url), tmp_path)
    assert "num_ctx = 4096" in one(found, "was trained for 4096").todo
    assert len(failed(found)) == 1


async def test_loaded_with_another_window(tmp_path: Path) -> None:
    with FakeOllama([say("hi")]) as server:
        await _chat(server.url, num_ctx=4096)
        found = await findings(Settings(url=server.url), tmp_path)
    assert one(found, "loaded with 4096 tokens now").sign is Sign.WARN


async def test_a_cloud_model_is_refused(tmp_path: Path) -> None:
    with FakeOllama(models=[FakeModel(remote_host="https://ollama.com")]) as server:
        found = await findings(Settings(url=server.url), tmp_path)
        allowed = await findings(Settings(url=server.url, allow_cloud=True), tmp_path)
    assert "allow_cloud" in one(found, "prompts go to https://ollama.com").todo
    assert failed(allowed) == []


class TwoFaced(FakeOllama):
    """Ollama with its OpenAI-compatible address."""

    def answer(self, exchange: Exchange, request: Request) -> None:
        if request.path == "/v1/models":
            exchange.json({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})
        else:
            super().answer(exchange, request)


@pytest.mark.parametrize("path", ["", "/v1"])
async def test_an_ollama_behind_the_other_dialect_is_found_out(tmp_path: Path, path: str) -> None:
    with TwoFaced([say("hi")]) as server:
        await _chat(server.url, num_ctx=4096)
        found = await findings(Settings(provider=Provider.OPENAI, url=server.url + path), tmp_path)
    assert one(found, "That server is an Ollama").sign is Sign.WARN
    assert 'provider = "ollama"' in one(found, "That server is an Ollama").todo
    assert failed(found) == [
        "The server gives 4096 tokens of context, and num_ctx is 8192: long conversations would fail"
    ]


async def test_a_llama_cpp_with_a_small_window(tmp_path: Path) -> None:
    with FakeOpenAI(num_ctx=4096) as server:
        found = await findings(Settings(provider=Provider.OPENAI, url=server.url), tmp_path)
        fitting = await findings(Settings(provider=Provider.OPENAI, url=server.url, num_ctx=4096), tmp_path)
    assert "-c 8192" in one(found, "The server gives 4096 tokens").todo
    assert "num_ctx = 4096" in one(found, "The server gives 4096 tokens").todo
    assert failed(fitting) == []


async def test_the_wrong_dialect_is_found_out(tmp_path: Path) -> None:
    with FakeOpenAI() as server:
        found = await findings(Settings(url=server.url), tmp_path)
    assert failed(found) == [f"The server at {server.url} is no Ollama, but it answers like an OpenAI-compatible one"]
    assert 'provider = "openai"' in found[-1].todo


async def test_an_embedded_engine_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    found = await findings(Settings(provider=Provider.EMBEDDED, model=EMBEDDED_MODEL), tmp_path)
    assert failed(found) == ["The embedded engine (the Python package xllamacpp) is not installed."]
    # True wherever it was installed from: this Python is the one that runs the daemon, and the package is on PyPI.
    assert found[-1].todo.endswith(f"{sys.executable} -m pip install xllamacpp")
    assert "llamagent-server[" not in found[-1].todo


async def test_settings_problems_are_told(tmp_path: Path) -> None:
    with FakeOllama() as server:
        found = await findings(Settings(url=server.url), tmp_path, ("server.toml, line 3: there is no key `modle`",))
    assert failed(found) == ["server.toml, line 3: there is no key `modle`"]


async def test_a_user_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = await findings(Settings(url="http://127.0.0.1:9"), tmp_path / "file" / "deeper")
    assert one(found, "cannot be written").sign is Sign.FAIL


@pytest.mark.parametrize("path", ["/no/such/rg", ""])
async def test_the_program_that_searches(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = await findings(Settings(url="http://127.0.0.1:9", ripgrep=path), tmp_path)
    assert one(found, "ripgrep").sign in (Sign.OK, Sign.WARN)


async def _chat(url: str, num_ctx: int) -> None:
    from llamagent_server.agent.ports import ChatOptions, ChatRequest
    from llamagent_server.core.messages import UserMessage
    from llamagent_server.providers.base import create_model

    options = ChatOptions(num_ctx=num_ctx, num_predict=100, temperature=0.0)
    request = ChatRequest("qwen3.5:4b", (UserMessage("hi"),), (), options)
    async for _ in create_model(Settings(url=url)).chat(request):
        pass


# --- As a command


def test_the_command_reads_the_settings_in_force(stage: Stage) -> None:
    (stage.home / ".llamagent").mkdir()
    (stage.home / ".llamagent" / "config.toml").write_text('modle = "x"\nmodel = "gemma3:4b"\n')
    (stage.folder / ".llamagent").mkdir()
    (stage.folder / ".llamagent" / "config.toml").write_text('model = "evil"\n')
    with FakeOllama(models=[FakeModel("gemma3:4b")]) as server:
        done = piped([str(stage.folder), "-", "doctor", "--url", server.url], stage.env)
    assert done.returncode == 1
    assert '~/.llamagent/config.toml, line 1: "modle" is no setting.' in done.stdout
    assert "gemma3:4b is there" in done.stdout
    assert "evil" not in done.stdout


def test_the_command_is_content(stage: Stage) -> None:
    with FakeOllama() as server:
        done = piped([str(stage.folder), "-", "doctor", "--url", server.url], stage.env)
    assert done.returncode == 0
    assert done.stdout.startswith("ok   Python")
    assert not (stage.home / ".llamagent").exists()


@pytest.mark.parametrize(("typed", "fetched"), [("y\r", True), ("n\r", False)])
def test_a_missing_model_is_offered_and_fetched_after_a_yes(stage: Stage, typed: str, fetched: bool) -> None:
    with Pullable(Raw(WHOLE)) as server:
        window = Terminal([str(stage.folder), "-", "doctor", "--url", server.url, "--model", "qwen3.5:0.8b"], stage.env)
        try:
            window.expect("of memory; ")
            window.expect("Download qwen3.5:0.8b (about 1.0 GB")
            window.type(typed)
            window.expect("is fetched" if fetched else "needs your yes")
            window.ended()
        finally:
            window.kill()
    assert [asked["model"] for asked in server.asked] == (["qwen3.5:0.8b"] if fetched else [])


@pytest.mark.parametrize(
    ("gigabytes", "there", "name", "present"),
    [
        (32, (), "qwen3.5:4b", False),
        (32, ("qwen3.5:9b",), "qwen3.5:9b", True),
        (8, ("qwen3.5:9b",), "qwen3.5:4b", False),
        (6, (), "qwen3.5:2b", False),
        (2, ("qwen3.5:0.8b",), "qwen3.5:0.8b", True),
        (None, (), "qwen3.5:4b", False),
    ],
)
def test_the_model_that_suits_a_machine(
    gigabytes: int | None, there: tuple[str, ...], name: str, present: bool
) -> None:
    memory = None if gigabytes is None else gigabytes * 10**9
    found = suggested(memory, [ModelInfo(model) for model in there])
    assert (found.name, found.present) == (name, present)
