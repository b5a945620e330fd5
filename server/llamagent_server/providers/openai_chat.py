"""Servers of /v1/chat/completions: llama.cpp, LM Studio, vLLM and the like."""

import contextlib
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from llamagent_server.agent.ports import ChatRequest, Delta, ModelEvent, ModelInfo, Tell, untold
from llamagent_server.core.messages import Json
from llamagent_server.errors import ModelError, ModelNotFound
from llamagent_server.providers.client import ask_http, chat_http, events, fetch_json, stream
from llamagent_server.providers.cloud import CloudGuard
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.failures import Place, ThinkingRefused
from llamagent_server.providers.openai_wire import OpenAIReading, body


class OpenAIChat:
    provider = "openai"

    def __init__(self, config: ProviderConfig) -> None:
        self.url = config.url.rstrip("/")
        self._api = api_base(config.url)
        self._root = re.sub(r"/v\d+$", "", self._api)
        self._config = config
        self._say_think = True
        self._cloud = CloudGuard(config, self._root)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        reading = OpenAIReading(request, self._place(request.model))
        async with contextlib.aclosing(events(self._deltas(request, reading), reading)) as found:
            async for event in found:
                yield event

    async def _deltas(self, request: ChatRequest, reading: OpenAIReading) -> AsyncGenerator[Delta, None]:
        await self._cloud.check(request.model, self._place(request.model))
        url = f"{self._api}/chat/completions"
        while True:
            say_think = self._say_think
            http = chat_http(self._config, url, body(request, say_think=say_think), request.options.num_predict)
            try:
                async with contextlib.aclosing(stream(http, reading, self._place(request.model))) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ThinkingRefused:
                if not say_think:
                    raise
                self._say_think = False

    async def describe(self, model: str) -> ModelInfo:
        """Raises ModelNotFound where the server lists its models and this is none of them."""
        rows = await self._rows()
        row = next((one for one in rows if one.get("id") == model), None)
        if row is None and rows and "meta" in rows[0]:
            row = rows[0]  # llama.cpp serves the one model that it has loaded, whatever it is called
        if row is None and rows:
            names = ", ".join(str(one.get("id")) for one in rows[:10])
            raise ModelNotFound(
                f"The server at {self._place(model).shown_url} does not have the model {model!r}.",
                hint=f"Set `model` to one that it has: {names}.",
            )
        info = replace(_from_row(row or {}), name=model)
        if row is not None and "max_model_len" in row:
            return info  # vLLM: there is no more to know
        return await self._probed(info)

    async def _probed(self, info: ModelInfo) -> ModelInfo:
        """With what only one kind of server tells, at an address of its own."""
        for probe in _PROBES:
            with contextlib.suppress(ModelError):
                found = probe.read(info, await self._ask(f"{self._root}{probe.path}", info.name))
                if found is not None:
                    return found
        return info

    async def list_models(self) -> Sequence[ModelInfo]:
        return [_from_row(row) for row in await self._rows()]

    async def identity(self, model: str) -> str:
        """Of llama.cpp's server its build and the model's file; other servers say nothing of the kind."""
        try:
            props = await self._ask(f"{self._root}/props", model)
        except ModelError:
            return ""
        return " ".join(word for name in ("build_info", "model_path") if isinstance(word := props.get(name), str))

    async def prepare(self, consent: Callable[[str], Awaitable[bool]], tell: Tell = untold) -> None:
        """Nothing is needed: the server has its models."""

    async def close(self) -> None:
        """Nothing is held open between requests."""

    async def _rows(self) -> list[dict[str, Json]]:
        return _objects((await self._ask(f"{self._api}/models", "")).get("data"))

    async def _ask(self, url: str, model: str) -> dict[str, Json]:
        return await fetch_json(ask_http(self._config, url), self._place(model))

    def _place(self, model: str) -> Place:
        variable = self._config.api_key_env
        key = (
            f"Check the key in the environment variable {variable}"
            if variable and os.environ.get(variable)
            else f"The environment variable {variable}, which `api_key_env` names, is not set"
            if variable
            else "If it wants a key, put it in an environment variable and set `api_key_env` to the variable's name"
        )
        return Place(
            url=self.url,
            model=model,
            server="the model server",
            start="Start the model server, or set `url`, in ~/.llamagent/config.toml or in your editor's settings, "
            "to where it listens.",
            fetch="Load it there, or set `model` to one that the server lists.",
            forbidden=f"{key}.",
        )


def api_base(url: str) -> str:
    """The address before /chat/completions: given with or without its version, or with the whole path."""
    base = url.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return base if re.search(r"/v\d+$", base) else f"{base}/v1"


def _from_row(row: dict[str, Json]) -> ModelInfo:
    """A row of /v1/models; vLLM and llama.cpp tell lengths in it."""
    meta = row.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    limit = _number(row.get("max_model_len"))
    return ModelInfo(
        name=str(row.get("id") or ""),
        context_length=_number(meta.get("n_ctx_train")) or limit,
        loaded_context=_number(meta.get("n_ctx")) or limit,
        size=_number(meta.get("size")),
    )


def _with_props(info: ModelInfo, props: dict[str, Json]) -> ModelInfo | None:
    """llama.cpp."""
    if "default_generation_settings" not in props:
        return None
    settings, caps = props.get("default_generation_settings"), props.get("chat_template_caps")
    loaded = _number(settings.get("n_ctx")) if isinstance(settings, dict) else None
    tools = caps.get("supports_tools") if isinstance(caps, dict) else None
    return replace(info, loaded_context=loaded or info.loaded_context, capabilities=_with_tools(tools))


def _with_studio(info: ModelInfo, listed: dict[str, Json]) -> ModelInfo | None:
    """LM Studio since its own API has version 1."""
    row = next((one for one in _objects(listed.get("models")) if one.get("key") == info.name), None)
    if row is None:
        return None
    loaded = next(iter(_objects(row.get("loaded_instances"))), {}).get("config")
    caps = row.get("capabilities")
    return replace(
        info,
        context_length=_number(row.get("max_context_length")),
        loaded_context=_number(loaded.get("context_length")) if isinstance(loaded, dict) else None,
        capabilities=_with_tools(caps.get("trained_for_tool_use") if isinstance(caps, dict) else None),
    )


def _with_old_studio(info: ModelInfo, listed: dict[str, Json]) -> ModelInfo | None:
    row = next((one for one in _objects(listed.get("data")) if one.get("id") == info.name), None)
    if row is None:
        return None
    caps = row.get("capabilities")
    return replace(
        info,
        context_length=_number(row.get("max_context_length")),
        loaded_context=_number(row.get("loaded_context_length")),
        capabilities=_with_tools("tool_use" in caps if isinstance(caps, list) else None),
    )


def _with_ollama(info: ModelInfo, running: dict[str, Json]) -> ModelInfo | None:
    """Ollama behind its OpenAI-compatible face: what the model is loaded with cannot be chosen there, but read."""
    row = next((one for one in _objects(running.get("models")) if one.get("name") == info.name), None)
    if row is None:
        return None
    return replace(info, loaded_context=_number(row.get("context_length")))


@dataclass(frozen=True, slots=True)
class _Probe:
    path: str
    read: Callable[[ModelInfo, dict[str, Json]], ModelInfo | None]


_PROBES = (
    _Probe("/props", _with_props),
    _Probe("/api/v1/models", _with_studio),
    _Probe("/api/v0/models", _with_old_studio),
    _Probe("/api/ps", _with_ollama),
)


def _with_tools(supported: Json) -> frozenset[str] | None:
    if not isinstance(supported, bool):
        return None
    return frozenset({"completion", "tools"} if supported else {"completion"})


def _objects(value: Json) -> list[dict[str, Json]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
