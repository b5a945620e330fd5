"""Nothing leaves the machine unasked: models that a local Ollama would pass on to its cloud are refused."""

from llamagent_server.core.messages import Json
from llamagent_server.errors import ModelError, ModelFailed
from llamagent_server.providers.client import ask_http, fetch_json
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.failures import Place

CLOUD = "ollama.com"


def is_cloud_name(model: str) -> bool:
    return model.lower().endswith((":cloud", "-cloud"))


def cloud_refused(model: str, host: str) -> ModelFailed:
    return ModelFailed(
        f"{model} does not run on this machine: Ollama would send the conversation to {host}.",
        hint="Choose a local model, or set `allow_cloud` to true in your own settings.",
    )


class CloudGuard:
    """Asked before a prompt leaves. `root`: the server's address without the path of an API."""

    def __init__(self, config: ProviderConfig, root: str) -> None:
        self._config = config
        self._root = root
        self._local: set[str] = set()

    def note_local(self, model: str, remote_host: str | None) -> None:
        """What the server said of a model anyway."""
        if remote_host is None and not is_cloud_name(model):
            self._local.add(model)

    async def check(self, model: str, place: Place) -> None:
        """Raises ModelFailed for a model that runs elsewhere. Its name shows that, or only what the server says."""
        if self._config.allow_cloud or model in self._local:
            return
        host = CLOUD if is_cloud_name(model) else await self._remote_host(model, place)
        if host is not None:
            raise cloud_refused(model, host)
        self._local.add(model)

    async def _remote_host(self, model: str, place: Place) -> str | None:
        """A server that does not say is no Ollama, or asked no further: its reply is watched for the same sign."""
        question: Json = {"model": model}
        try:
            shown = await fetch_json(ask_http(self._config, f"{self._root}/api/show", question), place)
        except ModelError:
            return None  # the chat request meets the same fault and reports it
        host = shown.get("remote_host")
        return host if isinstance(host, str) and host else None
