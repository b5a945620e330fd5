"""A model inside the daemon's own keeping: llama.cpp as a child on a loopback port, spoken to like any such server."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from llamagent_server.agent.ports import ChatRequest, Failure, ModelEvent, ModelInfo, Tell, untold
from llamagent_server.errors import ModelError, ModelFailed, ModelNotFound, ModelUnreachable
from llamagent_server.processes.threads import off_loop
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.engine import Engine, EngineConfig, require_package, start_engine
from llamagent_server.providers.fetching import Progress, fetch_bundled
from llamagent_server.providers.fetching import Tell as TellProgress
from llamagent_server.providers.model_files import SMOLLM2, bundled_is_here, bundled_path, own_file
from llamagent_server.providers.openai_chat import OpenAIChat
from llamagent_server.settings import EMBEDDED_MODEL, Provider

_SIZE = f"{SMOLLM2.size / 1e6:.0f} MB"
WHAT = f"{EMBEDDED_MODEL} ({_SIZE}, from the Python package index)"
_TRAINED_CONTEXT = 8192
_DYING_SECONDS = 2.0

_log = logging.getLogger(__name__)


def create(config: ProviderConfig) -> "Embedded":
    return Embedded(config, _log_progress)


class Embedded:
    """The engine starts with the first request, and anew when the context length changes or when it had died.

    `tell` hears, in another thread, how far the download of the bundled model is.
    """

    provider = "embedded"
    url = "embedded"

    def __init__(self, config: ProviderConfig, tell: TellProgress) -> None:
        self._config = config
        self._tell = tell
        self._engine: Engine | None = None
        self._starting = asyncio.Lock()

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        try:
            engine = await self._running(request.options.num_ctx)
        except ModelError as error:
            yield Failure(error)
            return
        async with contextlib.aclosing(self._client(engine).chat(request)) as events:
            async for event in events:
                yield await _explained(event, engine) if isinstance(event, Failure) else event

    async def describe(self, model: str) -> ModelInfo:
        """Of the bundled model without starting the engine: it writes no tool calls of its own accord."""
        if model == EMBEDDED_MODEL:
            _require_bundled()
            return ModelInfo(
                model,
                capabilities=frozenset({"completion"}),
                context_length=_TRAINED_CONTEXT,
                loaded_context=min(self._config.num_ctx, _TRAINED_CONTEXT),
                size=SMOLLM2.size,
            )
        path = own_file(model)
        told = await self._client(await self._running(self._config.num_ctx)).describe(model)
        return replace(told, name=model, size=path.stat().st_size)

    async def list_models(self) -> Sequence[ModelInfo]:
        """The model in use first. Raises ModelNotFound where it is not on this machine, ModelFailed without engine."""
        require_package()
        return [ModelInfo(self._config.model, size=_file(self._config.model).stat().st_size)]

    async def identity(self, model: str) -> str:
        """The file's size and time: with the engine in this very package there is no more to tell apart."""
        try:
            found = _file(model).stat()
        except (OSError, ModelError):
            return ""
        return f"{found.st_size} {found.st_mtime_ns}"

    async def prepare(self, consent: Callable[[str], Awaitable[bool]], tell: Tell = untold) -> None:
        """Fetch the bundled model where it is wanted and missing. Raises ModelError."""
        require_package()
        if self._config.model != EMBEDDED_MODEL:
            own_file(self._config.model)
        elif not bundled_is_here():
            if not await consent(WHAT):
                raise ModelNotFound(
                    f"{EMBEDDED_MODEL} is not on this machine, and was not fetched without a yes.",
                    hint="Ask again and say yes, or set `model` to the full path of a GGUF file.",
                )

            def both(progress: Progress) -> None:
                self._tell(progress)
                tell(progress.words, progress.percent)

            await fetch_bundled(SMOLLM2, both)

    async def close(self) -> None:
        async with self._starting:
            if self._engine is not None:
                self._engine.end()
                self._engine = None

    async def _running(self, num_ctx: int) -> Engine:
        """The engine, loaded with `num_ctx`. Raises ModelError."""
        async with self._starting:
            wanted = EngineConfig(_file(self._config.model), num_ctx)
            if self._engine is not None and (self._engine.gone() or self._engine.config != wanted):
                self._engine.end()
                self._engine = None
            if self._engine is None:
                self._engine = await off_loop(
                    lambda cancel: start_engine(wanted, cancel), name="llamagent-engine-start"
                )
            return self._engine

    def _client(self, engine: Engine) -> OpenAIChat:
        return OpenAIChat(
            replace(self._config, provider=Provider.OPENAI, url=engine.address, api_key_env=None, api_key=engine.key)
        )


def _file(model: str) -> Path:
    """Raises ModelNotFound."""
    if model != EMBEDDED_MODEL:
        return own_file(model)
    _require_bundled()
    return bundled_path()


def _require_bundled() -> None:
    if not bundled_is_here():
        raise ModelNotFound(
            f"{EMBEDDED_MODEL} is not on this machine yet.", hint=f"The next ask fetches it ({_SIZE}), after a yes."
        )


async def _explained(failure: Failure, engine: Engine) -> Failure:
    """An engine that died is not to be started by the person: it starts anew with the next request."""
    # The end of the connection is seen a little before the end of the process.
    if not await off_loop(lambda _: engine.gone(_DYING_SECONDS if _broke_off(failure.error) else 0)):
        return failure
    error = ModelFailed(
        "The embedded engine ended in the middle of a reply.",
        hint="Ask again: it starts anew. If it happens each time, try a smaller num_ctx or a smaller model.",
        detail=f"{failure.error}\n{engine.last_words}",
        retryable=True,
    )
    return Failure(error, failure.content)


def _broke_off(error: ModelError) -> bool:
    return isinstance(error, ModelUnreachable) or (isinstance(error, ModelFailed) and error.retryable)


def _log_progress(progress: Progress) -> None:
    # At the level that reaches stderr: it is the only sign of life while a big file comes.
    if progress.percent % 10 == 0:
        _log.warning("%s", progress.words)
