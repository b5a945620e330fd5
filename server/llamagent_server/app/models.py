"""The model server in use: made anew when the settings name another one, prepared before the first request to it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from llamagent_server.agent.ports import Model, ModelInfo, Tell
from llamagent_server.errors import ModelError
from llamagent_server.providers.base import PROVIDERS
from llamagent_server.providers.config import ProviderConfig, provider_config
from llamagent_server.settings import Settings

QUICK_SECONDS = 2.0  # what a server may take to list its models, where the list is only a kindness


class Models:
    """`settings` gives those in force; a server that is no longer named is let go."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._config: ProviderConfig | None = None
        self._model: Model | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    def current(self) -> Model:
        settings = self._settings()
        config = provider_config(settings)
        if self._model is None or config != self._config:
            self._let_go()
            self._config, self._model = config, PROVIDERS[settings.provider](config)
        return self._model

    async def prepare(self, consent: Callable[[str], Awaitable[bool]], tell: Tell) -> None:
        """Get what the model needs before it can be asked, with the person's yes. Raises ModelError."""
        await self.current().prepare(consent, tell)

    async def listed_soon(self) -> Sequence[ModelInfo] | None:
        """The models of the server, None where it does not say in a moment."""
        try:
            async with asyncio.timeout(QUICK_SECONDS):
                return await self.current().list_models()
        except (ModelError, TimeoutError):
            return None

    async def close(self) -> None:
        self._let_go()
        if self._leaving:
            await asyncio.wait(self._leaving)

    def _let_go(self) -> None:
        if self._model is not None:
            task = asyncio.get_running_loop().create_task(self._model.close())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
            self._model = None
