"""What a provider is told when it is made."""

from dataclasses import dataclass, field

from llamagent_server.settings import Provider, Settings


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """`request_timeout`: seconds without a byte after which a request is given up. `api_key_env`: the name of the
    environment variable that holds the key; `api_key` is one that we made ourselves. `model` and `num_ctx` are told
    only to who loads the model itself."""

    provider: Provider = Provider.OLLAMA
    url: str = "http://localhost:11434"
    request_timeout: float = 600.0
    api_key_env: str | None = None
    allow_cloud: bool = False
    model: str = ""
    num_ctx: int = 0
    api_key: str = field(default="", repr=False)


def provider_config(settings: Settings) -> ProviderConfig:
    """Two that are equal need only one provider: it serves every model, unless it has the one model in this process."""
    loads = settings.provider is Provider.EMBEDDED
    return ProviderConfig(
        provider=settings.provider,
        url=settings.url,
        request_timeout=settings.request_timeout,
        api_key_env=settings.api_key_env,
        allow_cloud=settings.allow_cloud,
        model=settings.model if loads else "",
        num_ctx=settings.num_ctx if loads else 0,
    )
