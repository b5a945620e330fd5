"""One model server of each kind, with the same script: what the contract is tested on."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from llamagent_server.agent.ports import Model
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.ollama import Ollama
from llamagent_server.providers.openai_chat import OpenAIChat
from llamagent_server.providers.scripted import Scripted
from tests.fakes import FakeOllama, FakeOpenAI, Flavour, Raw, Refusal
from tests.fakes.script import Item
from tests.fakes.serving import FakeServer


@dataclass(frozen=True)
class Playing:
    """A model with its script; `server` None = nothing listens."""

    model: Model
    server: FakeServer | None


@dataclass(frozen=True)
class World:
    """`play` starts it; `nobody` is a model whose server is not there."""

    name: str
    play: Callable[[Sequence[Item], Path], Iterator[Playing]]
    nobody: Callable[[Path], Model]

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def playing(self, items: Sequence[Item], folder: Path) -> Iterator[Playing]:
        yield from self.play(items, folder)


def _ollama(mode: str) -> Callable[[Sequence[Item], Path], Iterator[Playing]]:
    def play(items: Sequence[Item], _folder: Path) -> Iterator[Playing]:
        with FakeOllama(items, mode="native" if mode == "native" else "rendered") as server:
            yield Playing(Ollama(ProviderConfig(url=server.url)), server)

    return play


def _openai(flavour: Flavour) -> Callable[[Sequence[Item], Path], Iterator[Playing]]:
    def play(items: Sequence[Item], _folder: Path) -> Iterator[Playing]:
        with FakeOpenAI(items, flavour=flavour) as server:
            yield Playing(OpenAIChat(ProviderConfig(url=server.url)), server)

    return play


def _scripted(items: Sequence[Item], folder: Path) -> Iterator[Playing]:
    path = folder / "transcript.jsonl"
    path.write_text("".join(_line(item) + "\n" for item in items), "utf-8")
    yield Playing(Scripted(ProviderConfig(url=str(path))), None)


def _line(item: Item) -> str:
    """The nearest that a transcript has to what a server does."""
    if isinstance(item, Raw):
        return b"".join(item.pieces).decode("utf-8", "replace").replace("\n", " ")
    if isinstance(item, Refusal):
        return json.dumps({"error": {"message": f"HTTP {item.status}"}})
    record = {key: value for key, value in asdict(item).items() if key in ("content", "thinking", "finish", "delay")}
    if item.hold_after is not None:
        record["delay"] = 3600.0
    if item.end != "done":
        record["error"] = {"message": "The reply stopped half way.", "retryable": True}
    record["tool_calls"] = [asdict(call) for call in item.calls]
    return json.dumps(record)


def _nobody_at(make: type[Ollama] | type[OpenAIChat]) -> Callable[[Path], Model]:
    def nobody(_folder: Path) -> Model:
        with FakeOllama() as gone:
            url = gone.url
        return make(ProviderConfig(url=url))

    return nobody


HTTP_WORLDS = (
    World("ollama", _ollama("rendered"), _nobody_at(Ollama)),
    World("ollama-native", _ollama("native"), _nobody_at(Ollama)),
    World("llama.cpp", _openai(Flavour.LLAMA_CPP), _nobody_at(OpenAIChat)),
    World("vllm", _openai(Flavour.VLLM), _nobody_at(OpenAIChat)),
    World("lmstudio", _openai(Flavour.LM_STUDIO), _nobody_at(OpenAIChat)),
    World("ollama-v1", _openai(Flavour.OLLAMA), _nobody_at(OpenAIChat)),
)
WORLDS = (
    *HTTP_WORLDS,
    World("scripted", _scripted, lambda folder: Scripted(ProviderConfig(url=str(folder / "missing.jsonl")))),
)
