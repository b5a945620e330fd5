"""A model onto the person's Ollama from inside the editor: after a yes that names the size, shown, and stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeModel, FakeOllama, Raw, Refusal, Request
from tests.fakes.fake_openai import FakeOpenAI
from tests.fakes.serving import Exchange

TOTAL = 3_400_000_000


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def layer(done: int, total: int = TOTAL, digest: str = "sha256:aa") -> bytes:
    return line(status=f"pulling {digest[7:]}", digest=digest, total=total, completed=done)


WHOLE = (
    line(status="pulling manifest"),
    *(layer(TOTAL * part // 4) for part in range(5)),
    layer(500, 500, "sha256:bb"),
    line(status="verifying sha256 digest"),
    line(status="success"),
)


class Pullable(FakeOllama):
    """Answers /api/pull by `pulls`, one after the other; `hold` n: after n lines it waits until the client leaves."""

    def __init__(self, *pulls: Raw | Refusal, hold: int | None = None) -> None:
        super().__init__(models=[FakeModel("gemma3:4b")])
        self.pulls = list(pulls)
        self.hold_after = hold
        self.asked: list[Any] = []

    def answer(self, exchange: Exchange, request: Request) -> None:
        if request.path != "/api/pull":
            super().answer(exchange, request)
            return
        self.asked.append(request.json)
        item = self.pulls.pop(0)
        if isinstance(item, Refusal):
            exchange.refuse(item)
            return
        exchange.begin("application/x-ndjson")
        for number, piece in enumerate(item.pieces):
            if number == self.hold_after:
                exchange.hold()
            exchange.chunk(piece)
        if item.drop:
            exchange.drop()
        exchange.end()


def says(title: str) -> Any:
    return lambda _: {"title": title}


def shown(ed: Editor) -> list[dict[str, Any]]:
    return [params["value"] for params in ed.asked("$/progress")]


async def test_a_known_model_is_pulled_after_one_yes_with_its_size(project: Path, home: Path) -> None:
    with Pullable(Raw(WHOLE)) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = says("Download")
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            assert await ed.command("pull_model", name="qwen3.5:4b") == {"name": "qwen3.5:4b"}
            await ed.until(lambda: bool(shown(ed)) and shown(ed)[-1]["kind"] == "end")
            (question,) = ed.asked("window/showMessageRequest")
    assert "qwen3.5:4b (about 3.4 GB; by Ollama at http://127.0.0.1" in question["message"]
    assert server.asked == [{"model": "qwen3.5:4b", "stream": True}]
    values = shown(ed)
    assert (values[0]["kind"], values[0]["cancellable"]) == ("begin", True)
    assert [value["percentage"] for value in values if value.get("percentage")] == [25, 50, 75, 100]
    assert any("1.7 of 3.4 GB" in value.get("message", "") for value in values)


async def test_of_an_unknown_model_the_size_is_asked_of_ollama_first(project: Path, home: Path) -> None:
    with Pullable(Raw(WHOLE), Raw(WHOLE)) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = says("Download")
            await ed.command("pull_model", name="other:7b")
            first, second = ed.asked("window/showMessageRequest")
    assert "you are asked again" in first["message"]
    assert "about 3.4 GB" in second["message"]
    assert len(server.asked) == 2


@pytest.mark.parametrize("answer", ["Not now", "Accept", None])
async def test_without_a_yes_nothing_is_fetched(project: Path, home: Path, answer: str | None) -> None:
    with Pullable() as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = lambda _: {"title": answer} if answer else None
            error = await ed.failing("pull_model", name="qwen3.5:4b")
    assert "needs your yes" in error["message"]
    assert server.asked == []


async def test_the_button_stops_it_and_asked_again_it_goes_on(project: Path, home: Path) -> None:
    with Pullable(Raw(WHOLE), Raw(WHOLE), hold=3) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = says("Download")
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            _, reply = await ed.start("pull_model", name="qwen3.5:4b")
            await ed.until(lambda: any(value.get("percentage") == 25 for value in shown(ed)))
            token = ed.asked("$/progress")[0]["token"]
            await ed.client.notify("window/workDoneProgress/cancel", {"token": token})
            error = (await reply)["error"]
            assert "stopped" in error["message"]
            await server.until(lambda: server.disconnects == 1)
            await ed.until(lambda: shown(ed)[-1]["kind"] == "end")
            server.hold_after = None
            assert await ed.command("pull_model", name="qwen3.5:4b") == {"name": "qwen3.5:4b"}


async def test_a_cancelled_request_stops_it(project: Path, home: Path) -> None:
    with Pullable(Raw(WHOLE), hold=3) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = says("Download")
            number, reply = await ed.start("pull_model", name="qwen3.5:4b")
            await server.until(lambda: bool(server.asked))
            await ed.client.notify("$/cancelRequest", {"id": number})
            assert (await reply)["error"]["code"] == -32800
            await server.until(lambda: server.disconnects == 1)


@pytest.mark.parametrize(
    ("item", "kind", "words"),
    [
        (Raw((WHOLE[0], line(error="pull model manifest: file does not exist"))), "model_not_found", "has no model"),
        (Raw((*WHOLE[:3], line(error="max retries exceeded: unexpected EOF"))), "model_error", "goes on"),
        (Raw((*WHOLE[:3], line(error="no space left on device"))), "model_error", "Make room"),
        (Raw(WHOLE[:3]), "model_error", "broke off"),
        (Raw(WHOLE[:3], drop=True), "model_error", "broke off"),
        (Raw((b"<html>\n",)), "model_error", "cannot be read"),
        (Refusal(404, b"404 page not found", "text/plain"), "model_error", "not Ollama"),
    ],
)
async def test_what_fails_on_the_way_is_said(project: Path, home: Path, item: Any, kind: str, words: str) -> None:
    with Pullable(item) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = says("Download")
            error = await ed.failing("pull_model", name="qwen3.5:4b")
    assert error["data"]["kind"] == kind
    assert words in error["message"]


@pytest.mark.parametrize("name", ["qwen3-coder:480b-cloud", "", "a b", "x\n"])
async def test_what_may_not_be_pulled(project: Path, home: Path, name: str) -> None:
    with Pullable() as server:
        async with editor(project, home, url=server.url) as ed:
            error = await ed.failing("pull_model", name=name)
            assert ed.asked("window/showMessageRequest") == []
    assert error["data"]["kind"] in ("model_error", "bad_argument")


async def test_only_ollama_pulls(project: Path, home: Path) -> None:
    with FakeOpenAI() as server:
        async with editor(project, home, url=server.url, settings={"provider": "openai"}) as ed:
            assert "Only Ollama" in (await ed.failing("pull_model", name="qwen3.5:4b"))["message"]
