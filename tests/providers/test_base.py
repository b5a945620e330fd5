"""The table of providers."""

from pathlib import Path

import pytest

from llamagent_server.providers.base import PROVIDERS, create_model
from llamagent_server.providers.config import provider_config
from llamagent_server.settings import Provider, Settings


def test_every_provider_that_can_be_set_has_a_row() -> None:
    assert set(PROVIDERS) == set(Provider)


@pytest.mark.parametrize("provider", [Provider.OLLAMA, Provider.OPENAI, Provider.SCRIPTED])
async def test_a_provider_is_made_from_the_settings(provider: Provider, tmp_path: Path) -> None:
    model = create_model(Settings(provider=provider, url=str(tmp_path / "x")))
    assert model.provider == provider.value
    await model.prepare(_no)
    await model.close()


def test_another_model_needs_no_other_provider_but_where_it_is_loaded_in_this_process() -> None:
    for provider in Provider:
        first = provider_config(Settings(provider=provider, model="a"))
        second = provider_config(Settings(provider=provider, model="b"))
        assert (first == second) is (provider is not Provider.EMBEDDED)


async def _no(words: str) -> bool:
    raise AssertionError(f"nothing is to be fetched: {words}")
