"""What a model server says when it fails: one value, whatever the shape of the answer. No I/O."""

import json
from dataclasses import dataclass

from llamagent_server.core.messages import Json

_MOST_TOKENS = 1_000_000_000

MAX_ERROR_BYTES = 1024 * 1024
_KEPT = 20_000
_SHOWN = 400
# Ollama's error is a string that holds the whole body of its runner, whose error is an object with a message.
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Said:
    """`status`: HTTP, 200 for an error inside a stream. `text` is one line and may be empty.
    `prompt_tokens`: the server's count of a prompt too long; `location`: where a redirect leads."""

    status: int
    text: str
    prompt_tokens: int | None = None
    location: str | None = None

    @property
    def shown(self) -> str:
        """The text as it stands inside a sentence."""
        return _shortened(self.text, _SHOWN).rstrip(".")


def read_body(status: int, body: bytes, location: str | None = None) -> Said:
    """The body of an answer with an error status: JSON of any known shape, plain text, or nothing."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return Said(status, _shortened(text, _KEPT), location=location)
    return read_value(status, value, location)


def read_value(status: int, value: Json, location: str | None = None) -> Said:
    """An error as JSON: a string, {"error": string or object}, a flat {"message"}, FastAPI's {"detail"}, and JSON as a
    string inside any of these."""
    whole, tokens = value, None
    for _ in range(_DEPTH):
        if isinstance(value, dict):
            count = value.get("n_prompt_tokens")
            tokens = count if isinstance(count, int) and not isinstance(count, bool) else tokens
            value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), None)
        elif isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                break
    text = value if isinstance(value, str) else json.dumps(whole, ensure_ascii=False)
    return Said(status, _shortened(text, _KEPT), tokens, location)


def _shortened(text: str, size: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= size else line[:size] + "…"


def token_count(value: Json) -> int | None:
    """A number of tokens; None for what can be none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
