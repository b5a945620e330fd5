"""Where a redirect leads is said, and as an address that can be set."""

import pytest

from llamagent_server.providers.failures import _ENDPOINT


@pytest.mark.parametrize(
    ("target", "base"),
    [
        ("https://models.example/api/chat", "https://models.example"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("http://h:1/v1/models?x=1", "http://h:1/v1"),
        ("http://h:1/ollama/api/tags/", "http://h:1/ollama"),
        ("http://h:1/", "http://h:1"),
        ("http://h:1", "http://h:1"),
    ],
)
def test_the_hint_names_the_address_without_the_request(target: str, base: str) -> None:
    assert _ENDPOINT.sub("", target, count=1) == base
