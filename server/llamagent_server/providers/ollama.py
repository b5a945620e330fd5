"""Ollama, by its own API: /api/chat streamed, and what it says of its models."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace

from llamagent_server.agent.ports import ChatRequest, Delta, ModelEvent, ModelInfo, Tell, untold
from llamagent_server.core.messages import Json
from llamagent_server.errors import ModelError
from llamagent_server.providers.client import ask_http, chat_http, events, fetch_json, stream
from llamagent_server.providers.cloud import CloudGuard
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.failures import Place, ThinkingRefused
from llamagent_server.providers.ollama_wire import OllamaReading, body
from llamagent_server.providers.pulling import Pulled, check_name, pulled

# Old builds tell capabilities one model at a time; more questions than this are not worth an answer.
_MANY = 16


class Ollama:
    provider = "ollama"

    def __init__(self, config: ProviderConfig) -> None:
        self.url = _base(config.url)
        self._config = config
        self._cannot_think: set[str] = set()
        self._cloud = CloudGuard(config, self.url)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        reading = OllamaReading(request, self._place(request.model), allow_cloud=self._config.allow_cloud)
        async with contextlib.aclosing(events(self._deltas(request, reading), reading)) as found:
            async for event in found:
                yield event

    async def _deltas(self, request: ChatRequest, reading: OllamaReading) -> AsyncGenerator[Delta, None]:
        await self._cloud.check(request.model, self._place(request.model))
        url = f"{self.url}/api/chat"
        while True:
            think = request.options.think if request.model not in self._cannot_think else False
            http = chat_http(self._config, url, body(request, think=think), request.options.num_predict)
            try:
                async with contextlib.aclosing(stream(http, reading, self._place(request.model))) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ThinkingRefused:
                if think is False:
                    raise
                self._cannot_think.add(request.model)

    async def describe(self, model: str) -> ModelInfo:
        shown = await fetch_json(ask_http(self._config, f"{self.url}/api/show", {"model": model}), self._place(model))
        info = _from_show(model, shown)
        self._cloud.note_local(model, info.remote_host)
        with contextlib.suppress(ModelError):  # what is loaded now is a bonus; old builds do not say
            running = await fetch_json(ask_http(self._config, f"{self.url}/api/ps"), self._place(model))
            info = _with_running(info, running)
        return info

    async def list_models(self) -> Sequence[ModelInfo]:
        tags = await fetch_json(ask_http(self._config, f"{self.url}/api/tags"), self._place(""))
        rows = [_from_tag(row) for row in _objects(tags.get("models"))]
        if len(rows) > _MANY or all(row.capabilities is not None for row in rows):
            return rows
        return await asyncio.gather(*map(self._completed, rows))

    async def identity(self, model: str) -> str:
        """The model's digest and the server's version."""
        try:
            tags = await fetch_json(ask_http(self._config, f"{self.url}/api/tags"), self._place(model))
            told = await fetch_json(ask_http(self._config, f"{self.url}/api/version"), self._place(model))
        except ModelError:
            return ""
        rows = _objects(tags.get("models"))
        row = next((row for row in rows if full_name(_text(row.get("name")) or "") == full_name(model)), {})
        return " ".join(filter(None, (_text(row.get("digest")), _text(told.get("version")))))

    async def prepare(self, consent: Callable[[str], Awaitable[bool]], tell: Tell = untold) -> None:
        """Nothing is needed: the server fetches its models itself, when asked to."""

    def check_name(self, model: str) -> None:
        """Raises BadArgument for what is no name, ModelFailed for a model that would not run here."""
        check_name(model, self._config)

    def pull(self, model: str) -> AsyncGenerator[Pulled, None]:
        """Have the server fetch a model. Raises BadArgument, ModelError."""
        return pulled(self._config, self._place(model))

    async def close(self) -> None:
        """Nothing is held open between requests."""

    async def _completed(self, row: ModelInfo) -> ModelInfo:
        """A row of the list with what only /api/show says."""
        if row.capabilities is not None:
            return row
        with contextlib.suppress(ModelError):  # the model may be gone by now
            question: Json = {"model": row.name}
            shown = await fetch_json(ask_http(self._config, f"{self.url}/api/show", question), self._place(row.name))
            info = _from_show(row.name, shown)
            return replace(row, capabilities=info.capabilities, context_length=info.context_length)
        return row

    def _place(self, model: str) -> Place:
        return Place(
            url=self.url,
            model=model,
            server="Ollama",
            start="Start it with `ollama serve` (or its app), or set `url`, in ~/.llamagent/config.toml or in your "
            "editor's settings, to where it listens.",
            fetch=f"Get it with `ollama pull {model}`, or set `model` to one that `ollama list` shows.",
            forbidden="Ollama answers only to its own names and, from programs, without a foreign Origin: set `url` to "
            "http://127.0.0.1:11434. A proxy before it may want a key, whose variable `api_key_env` names.",
        )


def _base(url: str) -> str:
    """The server's root, also where somebody gave the address of one of its APIs."""
    base = url.rstrip("/")
    return base.removesuffix("/chat").removesuffix("/api").removesuffix("/v1").rstrip("/")


def _from_show(model: str, shown: dict[str, Json]) -> ModelInfo:
    facts = shown.get("model_info")
    facts = facts if isinstance(facts, dict) else {}
    return ModelInfo(
        name=model,
        capabilities=_capabilities(shown.get("capabilities")),
        context_length=_number(facts.get(f"{facts.get('general.architecture')}.context_length")),
        remote_host=_text(shown.get("remote_host")),
    )


def _from_tag(row: dict[str, Json]) -> ModelInfo:
    details = row.get("details")
    return ModelInfo(
        name=_text(row.get("name")) or _text(row.get("model")) or "",
        capabilities=_capabilities(row.get("capabilities")),
        context_length=_number(details.get("context_length")) if isinstance(details, dict) else None,
        size=_number(row.get("size")),
        remote_host=_text(row.get("remote_host")),
    )


def _with_running(info: ModelInfo, running: dict[str, Json]) -> ModelInfo:
    for row in _objects(running.get("models")):
        if full_name(_text(row.get("name")) or "") == full_name(info.name):
            return replace(info, loaded_context=_number(row.get("context_length")), size=_number(row.get("size")))
    return info


def full_name(name: str) -> str:
    """The model's name with its tag, which is `latest` where none is said."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _capabilities(value: Json) -> frozenset[str] | None:
    return frozenset(str(word) for word in value) if isinstance(value, list) else None


def _objects(value: Json) -> list[dict[str, Json]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
