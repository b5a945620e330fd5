"""What a model server said, as an error of ours that says what to do: one table of rules."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from llamagent_server.errors import (
    ContextOverflow,
    ModelError,
    ModelFailed,
    ModelLacksTools,
    ModelLoading,
    ModelNotFound,
    UnreadableCall,
)
from llamagent_server.providers.said import Said


class ThinkingRefused(ModelFailed):
    """The server does not take `think` for this model: the same request may be sent without."""


@dataclass(frozen=True, slots=True)
class Place:
    """Who was asked for which model (`server` as it is called inside a sentence), and the advice that fits there: how
    to start it, how to get the model, what to do when it refuses to serve."""

    url: str
    model: str
    server: str
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


def to_error(said: Said, place: Place) -> ModelError:
    """The first rule that fits says what it is."""
    error = next((rule.make for rule in _RULES if rule.fits(said)), _other)(said, place)
    error.detail = f"HTTP {said.status}: {said.text or 'no text'}"
    return error


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- the rules


@dataclass(frozen=True, slots=True)
class _Rule:
    """`status` and `words` that must fit (None = any), and what is made of it."""

    words: re.Pattern[str] | None
    make: Callable[[Said, Place], ModelError]
    status: frozenset[int] | None = None

    def fits(self, said: Said) -> bool:
        return (self.status is None or said.status in self.status) and (
            self.words is None or self.words.search(said.text) is not None
        )


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _failed(
    message: str, hint: str | None = None, *, retryable: bool = False, kind: type[ModelFailed] = ModelFailed
) -> Callable[[Said, Place], ModelError]:
    """`{server}`, `{model}` and `{said}` in the message are filled in."""

    def make(said: Said, place: Place) -> ModelError:
        return kind(sentence(_filled(message, said, place)), hint=hint, retryable=retryable)

    return make


def _filled(text: str, said: Said, place: Place) -> str:
    values = {"server": place.server, "model": place.model, "said": said.shown}
    return re.sub(r"\{(server|model|said)\}", lambda found: values[found[1]], text)


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
    return ModelLacksTools(f"{place.model} cannot be given tools: {said.shown}.", hint=f"{hint}.")


def _cannot_think(_said: Said, place: Place) -> ModelError:
    return ThinkingRefused(f"{place.model} cannot think.", hint="Set `think` to false, or choose a model that can.")


def _not_found(_said: Said, place: Place) -> ModelError:
    return ModelNotFound(
        sentence(f"{place.server} at {place.shown_url} does not have the model {place.model!r}."), hint=place.fetch
    )


def _forbidden(said: Said, place: Place) -> ModelError:
    return ModelFailed(
        sentence(f"{place.server} at {place.shown_url} refused the request (HTTP {said.status}){_quoted(said)}."),
        hint=place.forbidden,
    )


def _not_this_server(said: Said, place: Place) -> ModelError:
    return ModelFailed(
        f"What answers at {place.shown_url} is not {place.server} (HTTP {said.status}{_quoted(said)}).",
        hint="Check `url` and `provider`: `ollama` for Ollama, `openai` for llama.cpp, LM Studio, vLLM and the like.",
    )


# What a request adds to the address that is set.
_ENDPOINT = re.compile(r"(?:/api/[a-z0-9/]+|/chat/completions|/completions|/models)?/?(?:[?#].*)?$")


def _redirected(said: Said, place: Place) -> ModelError:
    target = without_password(said.location or "nowhere")
    base = _ENDPOINT.sub("", target)
    usable = base.startswith(("http://", "https://"))
    return ModelFailed(
        f"The server at {place.shown_url} redirects to {target}, which is not followed.",
        hint=f"If that is your model server, set `url` to {base}." if usable else "Check `url`.",
    )


def _other(said: Said, place: Place) -> ModelError:
    if said.status == 200:
        return ModelFailed(sentence(f"{place.server} reported an error in its reply{_quoted(said)}."))
    return ModelFailed(
        sentence(f"{place.server} failed with HTTP {said.status}{_quoted(said)}."),
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
        _failed("The model {model} cannot chat: {said}.", "Choose a chat model, such as qwen3.5:4b."),
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
        _failed(
            "The model wrote a tool call that {server} could not read: {said}.", retryable=True, kind=UnreadableCall
        ),
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
        _failed("{server} is still loading the model.", "Try again in a moment.", retryable=True, kind=ModelLoading),
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
    return f": {said.shown}" if said.text else ""
