"""A model that plays a transcript: for tests and demonstrations without any model.

`settings.url` is the transcript: a file's path or a `file://` URL. It is JSON Lines, one reply an object, blank lines
and lines that begin with `#` ignored. Each request plays the next one:

    {"content": "Hello.", "thinking": "", "tool_calls": [{"name": "read_file", "arguments": {"path": "a.py"}}],
     "delay": 0.05, "finish": "stop", "usage": {"prompt_tokens": 100, "completion_tokens": 7},
     "error": {"kind": "model_error", "message": "...", "hint": "...", "retryable": false}}

Every key may be missing. `delay`: seconds before each word; `finish`: `stop` or `length`; an `error` (an object, or its
message alone) ends the reply where it is, after the content; `arguments` may be a string, as a model may have it.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from llamagent_server.agent.ports import ChatRequest, Delta, Failure, ModelEvent, ModelInfo, Tell, untold
from llamagent_server.core.messages import Finish, Json, Usage
from llamagent_server.errors import (
    ContextOverflow,
    ErrorKind,
    ModelError,
    ModelFailed,
    ModelLacksTools,
    ModelNotFound,
    ModelUnreachable,
)
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.reply import ReplyBuilder

_ERRORS: dict[str, type[ModelError]] = {
    ErrorKind.MODEL_UNREACHABLE: ModelUnreachable,
    ErrorKind.MODEL_NOT_FOUND: ModelNotFound,
    ErrorKind.MODEL_LACKS_TOOLS: ModelLacksTools,
    ErrorKind.CONTEXT_OVERFLOW: ContextOverflow,
}
_CAPABILITIES = frozenset({"completion", "tools", "thinking"})


class Scripted:
    provider = "scripted"

    def __init__(self, config: ProviderConfig) -> None:
        self.url = config.url
        self._path = transcript_path(config.url)
        self._played = 0

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        builder = ReplyBuilder(request)
        try:
            line = self._next()
            for delta in _deltas(line, builder):
                await asyncio.sleep(_seconds(line.get("delay")))
                yield delta
                if builder.stuck:
                    break
            if line.get("error") is not None:
                raise _error(line["error"])
            for call in _objects(line.get("tool_calls")):
                builder.call(call.get("id"), call.get("name"), call.get("arguments"))
            for delta in builder.close():
                yield delta
        except ModelError as error:
            yield Failure(error, builder.text)
            return
        finish = Finish.LENGTH if line.get("finish") == "length" else Finish.STOP
        yield builder.reply(finish, _usage(line.get("usage")))

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, capabilities=_CAPABILITIES)

    async def list_models(self) -> Sequence[ModelInfo]:
        return [ModelInfo(self._path.stem, capabilities=_CAPABILITIES)]

    async def identity(self, model: str) -> str:  # noqa: ARG002
        return ""

    async def prepare(self, consent: Callable[[str], Awaitable[bool]], tell: Tell = untold) -> None:
        """Nothing is needed."""

    async def close(self) -> None:
        """Nothing is held open."""

    def _next(self) -> dict[str, Json]:
        """The next reply. Raises ModelUnreachable without a transcript, ModelFailed at its end or for a bad line."""
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ModelUnreachable(
                f"The transcript {self._path} cannot be read ({error}).",
                hint="Set `url` to a file of replies, one JSON object a line.",
            ) from error
        replies = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if self._played >= len(replies):
            raise ModelFailed(
                f"The transcript {self._path} has {len(replies)} replies, and this is request {self._played + 1}.",
                hint="Add a reply to it.",
            )
        self._played += 1
        return _parsed(replies[self._played - 1], self._path, self._played)


def transcript_path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.scheme == "file":
        # Here and not at the top: it imports an HTTP client, and start-up is measured.
        from urllib.request import url2pathname

        return Path(url2pathname(unquote(parts.path)))
    return Path(url).expanduser()


def _parsed(text: str, path: Path, number: int) -> dict[str, Json]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFailed(
            f"Reply {number} of the transcript {path} is no JSON ({error}).", hint="Correct it."
        ) from error
    if not isinstance(line, dict):
        raise ModelFailed(f"Reply {number} of the transcript {path} is no JSON object.", hint="Correct it.")
    return line


def _deltas(line: dict[str, Json], builder: ReplyBuilder) -> Iterator[Delta]:
    for word in _words(line.get("thinking")):
        yield from builder.thinking(word)
    for word in _words(line.get("content")):
        yield from builder.content(word)


def _words(text: Json) -> list[str]:
    """As a model streams it: each word with the blanks before it."""
    return re.findall(r"\s*\S+|\s+", text) if isinstance(text, str) else []


def _error(value: Json) -> ModelError:
    if not isinstance(value, dict):
        return ModelFailed(str(value))
    message, hint = str(value.get("message") or "The transcript has an error here."), value.get("hint")
    words = hint if isinstance(hint, str) else None
    made = _ERRORS.get(str(value.get("kind")))
    if made is None:
        return ModelFailed(message, hint=words, retryable=value.get("retryable") is True)
    return made(message, hint=words)


def _usage(value: Json) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    return Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")))


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) else None


def _seconds(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _objects(value: Json) -> list[dict[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
