"""Retries of the agent wait no time in these tests."""

from collections.abc import Iterator

import pytest

from llamagent_server.agent import asking


@pytest.fixture(autouse=True, scope="package")
def no_waiting_between_retries() -> Iterator[None]:
    waits, asking.RETRY_SECONDS = asking.RETRY_SECONDS, (0.0, 0.0)
    yield
    asking.RETRY_SECONDS = waits
