"""A model onto the person's Ollama: /api/pull streamed. Ollama keeps what has come, and goes on with it next time."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from llamagent_server.core.messages import Json, JsonObject
from llamagent_server.errors import BadArgument, ModelError, ModelFailed, ModelNotFound
from llamagent_server.providers.client import accept, encoded, garbage, headers
from llamagent_server.providers.cloud import CLOUD, cloud_refused, is_cloud_name
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.failures import Place, sentence
from llamagent_server.providers.lines import Garbage, Record
from llamagent_server.providers.ndjson import NdjsonParser
from llamagent_server.providers.transport import HttpRequest, exchange

_MOST_BYTES = 1_000_000_000  # of lines about the progress, which come for hours on a slow line
_ASK_AGAIN = "Ask again: it goes on where it stopped."


@dataclass(frozen=True, slots=True)
class Pulled:
    """How far it is: `done` of the `total` bytes that Ollama has named so far (0: none yet); `status` in its words."""

    status: str
    done: int = 0
    total: int = 0

    @property
    def percent(self) -> int | None:
        return self.done * 100 // self.total if self.total else None

    @property
    def words(self) -> str:
        return f"{self.done / 1e9:.1f} of {self.total / 1e9:.1f} GB" if self.total else self.status


async def pulled(config: ProviderConfig, place: Place) -> AsyncGenerator[Pulled, None]:
    """Have Ollama fetch `place.model`; ends when it is there. Closing it hangs up, and Ollama stops.

    Raises BadArgument, ModelError.
    """
    check_name(place.model, config)
    question: Json = {"model": place.model, "stream": True}
    http = HttpRequest(
        "POST", f"{place.url}/api/pull", headers(config), encoded(question), config.request_timeout, _MOST_BYTES
    )
    reading = _Reading(place)
    async with exchange(http) as response:
        await accept(response, place)
        parser = NdjsonParser()
        while data := await response.chunk():
            for found in parser.feed(data):
                yield reading.read(_object(found, place))
        for found in parser.close():
            yield reading.read(_object(found, place))
    if not reading.complete:
        raise ModelFailed(f"The download of {place.model} broke off.", hint=_ASK_AGAIN, retryable=True)


def check_name(model: str, config: ProviderConfig) -> None:
    """Raises BadArgument for what is no name, ModelFailed for a model that would not run here."""
    if not model.strip() or not model.isprintable() or any(character.isspace() for character in model):
        raise BadArgument("That is no name of a model.", hint="Names are like qwen3.5:4b.")
    if is_cloud_name(model) and not config.allow_cloud:
        raise cloud_refused(model, CLOUD)


def _object(found: Record | Garbage, place: Place) -> JsonObject:
    if isinstance(found, Garbage):
        raise garbage(found, place)
    return found.value


class _Reading:
    """The sums over the layers that Ollama fetches one after the other."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._layers: dict[str, tuple[int, int]] = {}
        self.complete = False

    def read(self, line: JsonObject) -> Pulled:
        """Raises ModelError where the line says that it failed."""
        if (error := line.get("error")) is not None:
            raise _failed(str(error), self._place)
        status = str(line.get("status") or "")
        self.complete = self.complete or status == "success"
        if isinstance(digest := line.get("digest"), str):
            self._layers[digest] = _count(line.get("completed")), _count(line.get("total"))
        done = sum(done for done, _ in self._layers.values())
        return Pulled(status, done, sum(total for _, total in self._layers.values()))


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _failed(words: str, place: Place) -> ModelError:
    """What Ollama says in the middle of the stream, whose status was 200."""
    if "file does not exist" in words or "not found" in words or "invalid model name" in words:
        return ModelNotFound(
            f"Ollama's library has no model {place.model!r}.", hint="Look for its name at ollama.com.", detail=words
        )
    if "no space" in words or "disk" in words:
        hint = f"Make room on the disk where Ollama keeps its models. {_ASK_AGAIN}"
    elif "newer version" in words:
        hint = "Update Ollama."
    else:
        hint = f"Look at the network. {_ASK_AGAIN}"
    return ModelFailed(sentence(f"{place.server} could not fetch {place.model}: {words}."), hint=hint, retryable=True)
