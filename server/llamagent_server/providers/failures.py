"""What a model server says when it fails, in whatever shape, as an error of ours that says what to do."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from llamagent_server.core.messages import Json
from llamagent_server.errors import ContextOverflow, ModelError, ModelFailed, ModelLacksTools, ModelNotFound

MAX_ERROR_BYTES = 1024 * 1024
_SHOWN = 400
_DEPTH = 4


class ThinkingRefused(ModelFailed):
    """The server does not take `think` for this model: the same request may be sent without."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the server said. `status` is the HTTP status (200 for an error inside a stream), `text` may be empty."""

    status: int
    text: str
    kind: str = ""
    prompt_tokens: int | None = None
    is_json: bool = True
    location: str | None = None  # where a redirect leads


@dataclass(frozen=True, slots=True)
class Place:
    """Who was asked for which model, and the advice that fits there. `{model}` in `fetch` is the model's name."""

    url: str
    model: str
    server: str  # "Ollama", "the model server"
    start: str
    fetch: str
    forbidden: str

    @property
    def shown_url(self) -> str:
        return without_password(self.url)


def without_password(url: str) -> str:
    """The address as it may be shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def read_body(status: int, body: bytes, location: str | None = None) -> Said:
    """The body of an answer with an error status: JSON of any known shape, plain text, or nothing."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return Said(status, _shortened(text), is_json=False, location=location)
    return read_value(status, value, location)


def read_value(status: int, value: Json, location: str | None = None) -> Said:
    """An error as JSON: a string, {"error": string or object}, a flat {"message"}, FastAPI's {"detail"}, and JSON as a
    string inside any of these (Ollama passes its runner's whole body on that way)."""
    whole, text, kind, tokens = value, "", "", None
    for _ in range(_DEPTH):
        if isinstance(value, dict):
            kind = _string(value.get("type")) or kind
            count = value.get("n_prompt_tokens")
            tokens = count if isinstance(count, int) and not isinstance(count, bool) else tokens
            value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), None)
        elif isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                break
        else:
            break
    if isinstance(value, str):
        text = value
    elif not text:
        text = json.dumps(whole)
    return Said(status, _shortened(text), kind, tokens, location=location)


def to_error(said: Said, place: Place) -> ModelError:
    """The first rule that fits says what it is."""
    for rule in _RULES:
        if (rule.status is None or said.status in rule.status) and (rule.words is None or rule.words.search(said.text)):
            error = rule.make(said, place)
            error.detail = f"HTTP {said.status}: {said.text or 'no text'}"
            return error
    return _other(said, place)


# --- the rules


@dataclass(frozen=True, slots=True)
class _Rule:
    """`status` and `words` that must fit (None = any), and what is made of it."""

    words: re.Pattern[str] | None
    make: Callable[[Said, Place], ModelError]
    status: frozenset[int] | None = None


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _failed(message: str, hint: str | None = None, *, retryable: bool = False) -> Callable[[Said, Place], ModelError]:
    """`{server}`, `{url}`, `{model}`, `{said}` in the texts are filled in."""

    def make(said: Said, place: Place) -> ModelError:
        return ModelFailed(_filled(message, said, place), hint=hint and _filled(hint, said, place), retryable=retryable)

    return make


def _filled(text: str, said: Said, place: Place) -> str:
    values = {"server": place.server, "url": place.shown_url, "model": place.model, "said": said.text.rstrip(".")}
    return re.sub(r"\{(server|url|model|said)\}", lambda found: values[found[1]], text)


def _overflow(said: Said, place: Place) -> ModelError:
    counted = re.search(r"(?:request|input length) \((\d+) tokens\)|(\d+) input tokens", said.text)
    tokens = said.prompt_tokens or (int(counted[1] or counted[2]) if counted else None)
    size = f" ({tokens} tokens)" if tokens else ""
    return ContextOverflow(
        f"The conversation{size} does not fit the context of {place.model}.",
        hint="Compact it or start a new one, or raise num_ctx if the machine's memory allows.",
        prompt_tokens=tokens,
    )


def _lacks_tools(said: Said, place: Place) -> ModelError:
    parser = "parser" in said.text or "jinja" in said.text
    hint = "Start the server with the flags it names" if parser else "Choose a model with tools, such as qwen3.5:4b"
    return ModelLacksTools(f"{place.model} cannot be given tools: {said.text.rstrip('.')}.", hint=f"{hint}.")


def _cannot_think(_said: Said, place: Place) -> ModelError:
    return ThinkingRefused(f"{place.model} cannot think.", hint="Set `think` to false, or choose a model that can.")


def _not_found(_said: Said, place: Place) -> ModelError:
    fetch = place.fetch.replace("{model}", place.model)
    return ModelNotFound(f"{place.server} at {place.shown_url} does not have the model {place.model!r}.", hint=fetch)


def _forbidden(said: Said, place: Place) -> ModelError:
    return ModelFailed(
        f"{place.server} at {place.shown_url} refused the request (HTTP {said.status}){_quoted(said)}.",
        hint=place.forbidden,
    )


def _not_this_server(said: Said, place: Place) -> ModelError:
    return ModelFailed(
        f"What answers at {place.shown_url} is not {place.server} (HTTP {said.status}{_quoted(said)}).",
        hint="Check `url` and `provider`: `ollama` for Ollama, `openai` for llama.cpp, LM Studio, vLLM and the like.",
    )


def _redirected(said: Said, place: Place) -> ModelError:
    target = without_password(said.location or "nowhere")
    return ModelFailed(
        f"The server at {place.shown_url} redirects to {target}, which is not followed.",
        hint=f"If that is your model server, set `url` to {target}.",
    )


def _other(said: Said, place: Place) -> ModelError:
    if said.status == 200:
        return ModelFailed(f"{place.server} reported an error in its reply{_quoted(said)}.")
    return ModelFailed(
        f"{place.server} failed with HTTP {said.status}{_quoted(said)}.",
        hint="The log of the model server may say more.",
    )


_SMALLER = "Use a smaller model or a smaller num_ctx, or close what else uses the memory."

_RULES: tuple[_Rule, ...] = (
    _Rule(None, _redirected, frozenset({301, 302, 303, 307, 308})),
    _Rule(
        _words(
            r"exceeds? the available context size",
            r"longer than the context length",
            r"exceeds? the model'?s (maximum )?context",
            r"maximum context length is",
            r"context the overflows",
            r"context (size|length|window) (has been|was) exceeded",
            r"exceeds? .{0,40}context (size|length|window)",
        ),
        _overflow,
    ),
    _Rule(
        _words(r"does not support tools", r"tool-call-parser", r"tool_choice.{0,40}requires", r"requires --jinja"),
        _lacks_tools,
    ),
    _Rule(_words(r"does not support thinking", r"chat_template_kwargs", r"enable_thinking"), _cannot_think),
    _Rule(
        _words(r"invalid think value", r"think must be"),
        _failed(
            "{server} does not accept this value of `think`: {said}.", "Set it to false, true, low, medium or high."
        ),
    ),
    _Rule(
        _words(r"does not support chat"),
        _failed("{model} cannot chat: {said}.", "Choose a chat model, such as qwen3.5:4b."),
    ),
    _Rule(
        _words(
            r"out[- ]of[- ]memory",
            r"failed to allocate",
            r"malloc failed",
            r"not enough memory",
            r"requires more system memory",
            r"insufficient memory",
            r"\bOOM\b",
        ),
        _failed("There is not enough memory for {model}: {said}.", _SMALLER),
    ),
    _Rule(
        _words(
            r"failed to parse JSON",
            r"XML syntax error",
            r"error parsing tool call",
            r"incomplete \w+ tool call",
            r"invalid tool call arguments",
            r"^tool '.*' not found",
            r"^(unexpected )?EOF$",
        ),
        _failed("The model wrote a tool call that {server} could not read: {said}.", retryable=True),
        frozenset({200, 500}),
    ),
    _Rule(
        _words(r"runner has unexpectedly stopped", r"error was encountered while running the model"),
        _failed("The model's process broke down: {said}.", _SMALLER, retryable=True),
    ),
    _Rule(
        _words(r"llama-server process has terminated", r"waiting for llama-server", r"unable to load model"),
        _failed("{server} could not load {model}: {said}.", f"{_SMALLER} Or update the model server."),
    ),
    _Rule(
        _words(r"may be incompatible with your version"),
        _failed("{server} cannot load {model}: {said}.", "Update the model server."),
    ),
    _Rule(
        _words(r"cloud is disabled", r"^unauthorized$", r"ollama\.com"),
        _failed("The cloud behind {server} does not serve {model}: {said}.", "Choose a model that runs locally."),
        frozenset({401, 403, 502}),
    ),
    _Rule(
        _words(r"loading model", r"model is (still )?loading"),
        _failed("{server} is still loading the model.", "Try again in a moment.", retryable=True),
    ),
    _Rule(
        None,
        _failed("{server} is busy: {said}.", "Try again in a moment.", retryable=True),
        frozenset({429, 503}),
    ),
    _Rule(None, _forbidden, frozenset({401, 403})),
    _Rule(_words(r"invalid model name", r"model is required"), _not_found),
    _Rule(
        _words(r"model.{0,200}(not found|does not exist|not loaded)", r"no model"), _not_found, frozenset({400, 404})
    ),
    _Rule(None, _not_this_server, frozenset({404, 405})),
)


def _quoted(said: Said) -> str:
    return f": {said.text.rstrip('.')}" if said.text else ""


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
