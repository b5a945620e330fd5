"""What both dialects share: a request to the configured server, its stream read, its failure in our words."""

import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Protocol

from llamagent_server.agent.ports import Delta, Failure, ModelEvent
from llamagent_server.core.messages import Json, Reply
from llamagent_server.errors import ModelError, ModelFailed, ModelUnreachable
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.failures import Place, sentence, to_error
from llamagent_server.providers.lines import MAX_LINE_BYTES, Garbage
from llamagent_server.providers.said import MAX_ERROR_BYTES, read_body
from llamagent_server.providers.transport import HttpRequest, Response, exchange

_MAX_ANSWER_BYTES = 8_000_000
# A streamed token comes in some hundred bytes of JSON, a tool call in one long line.
_BYTES_PER_TOKEN = 2000
# For questions that a server answers from memory.
_QUICK_SECONDS = 15.0


class Reading(Protocol):
    """One dialect's reading of a streamed reply. Its methods raise ModelError for what is no reply."""

    @property
    def done(self) -> bool:
        """Nothing more is expected."""
        ...

    @property
    def text(self) -> str:
        """The content so far."""
        ...

    def feed(self, data: bytes, content_type: str) -> Iterator[Delta]: ...

    def close(self) -> Iterator[Delta]:
        """The body has ended: what was held back. Raises ModelFailed when the reply is not complete."""
        ...

    def reply(self) -> Reply: ...


async def events(deltas: AsyncGenerator[Delta, None], reading: Reading) -> AsyncGenerator[ModelEvent, None]:
    """The deltas, then the one Reply or Failure."""
    try:
        async with aclosing(deltas):
            async for delta in deltas:
                yield delta
    except ModelError as error:
        yield Failure(error, reading.text)
        return
    yield reading.reply()


async def stream(http: HttpRequest, reading: Reading, place: Place) -> AsyncGenerator[Delta, None]:
    """Send a chat request and read its reply to the end. Raises ModelError."""
    try:
        async with exchange(http) as response:
            await accept(response, place)
            while not reading.done and (data := await response.chunk()):
                for delta in reading.feed(data, response.head.content_type):
                    yield delta
            for delta in reading.close():
                yield delta
    except ModelUnreachable as error:
        error.hint = error.hint or place.start
        raise


async def fetch_json(http: HttpRequest, place: Place) -> dict[str, Json]:
    """The JSON object that answers a request. Raises ModelError."""
    try:
        async with exchange(http) as response:
            await accept(response, place)
            body = await response.read(_MAX_ANSWER_BYTES)
    except ModelUnreachable as error:
        error.hint = error.hint or place.start
        raise
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise garbage(Garbage(f"no JSON ({error})", body[:200].decode("utf-8", "replace")), place) from error
    if not isinstance(value, dict):
        raise garbage(Garbage("JSON, but no object", body[:200].decode("utf-8", "replace")), place)
    return value


def chat_http(config: ProviderConfig, url: str, body: bytes, num_predict: int) -> HttpRequest:
    """`num_predict`: the tokens asked for, which bound the bytes of the reply."""
    max_bytes = 2 * MAX_LINE_BYTES + num_predict * _BYTES_PER_TOKEN
    return HttpRequest("POST", url, headers(config), body, config.request_timeout, max_bytes)


def ask_http(config: ProviderConfig, url: str, question: Json = None) -> HttpRequest:
    """A question other than a chat: GET, or POST where there is something to say."""
    seconds = min(config.request_timeout, _QUICK_SECONDS)
    if question is None:
        return HttpRequest("GET", url, headers(config), None, seconds, _MAX_ANSWER_BYTES)
    return HttpRequest("POST", url, headers(config), encoded(question), seconds, _MAX_ANSWER_BYTES)


def encoded(value: Json) -> bytes:
    """JSON as UTF-8, keys in their order, so that equal values are equal bytes. Half a surrogate pair, which UTF-8
    cannot hold, becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def headers(config: ProviderConfig) -> dict[str, str]:
    """No Origin: servers refuse foreign ones. Raises ModelFailed when the key cannot stand in a header."""
    made = {
        "Content-Type": "application/json",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "User-Agent": "llamagent-server",
    }
    key = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else config.api_key
    if not key.isascii() or not key.isprintable():
        raise ModelFailed(
            f"The key in the environment variable {config.api_key_env} has characters that no key has.",
            hint="Set it again, without line ends and quotes.",
        )
    return made | {"Authorization": f"Bearer {key}"} if key else made


def garbage(found: Garbage, place: Place) -> ModelFailed:
    return ModelFailed(
        sentence(f"{place.server} at {place.shown_url} sent what cannot be read: {found.problem}."),
        hint="Check that `url` and `provider` fit the server, and that nothing between changes its answers.",
        detail=found.excerpt,
    )


def incomplete(*, anything: bool) -> ModelFailed:
    """The stream ended without its closing mark. `anything`: whether some of the reply had come."""
    hint = "Try again; if it happens each time, look at the log of the model server."
    if anything:
        return ModelFailed("The reply stopped half way: the model server ended it early.", hint=hint, retryable=True)
    return ModelFailed("The model server ended the connection without a reply.", hint=hint, retryable=True)


async def accept(response: Response, place: Place) -> None:
    """Raises what an answer other than 200 says."""
    head = response.head
    if head.status != 200:
        raise to_error(read_body(head.status, await response.read(MAX_ERROR_BYTES), head.location), place)
