"""Conversations that the `llamagent` terminal agent saved, read as records of ours. They are never written.

One JSON object a file: `{id, title, updated, model, messages}`; the messages are those of Ollama's /api/chat without
the system message, `updated` is local time.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from llamagent_server.core.messages import (
    AssistantMessage,
    Json,
    JsonObject,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from llamagent_server.core.records import message_record
from llamagent_server.store.summaries import Summary, short_title


@dataclass(frozen=True, slots=True)
class Foreign:
    """`updated` is in seconds since the epoch, None where the file does not say."""

    summary: Summary
    updated: float | None
    messages: tuple[Message, ...]

    @property
    def records(self) -> tuple[dict[str, Json], ...]:
        return tuple(map(message_record, self.messages))


def read_foreign(data: bytes) -> Foreign:
    """Never raises: what cannot be read is `damaged`."""
    try:
        saved = json.loads(data)
    except (ValueError, RecursionError):
        saved = None
    listed = saved.get("messages") if isinstance(saved, dict) else None
    if not isinstance(saved, dict) or not isinstance(listed, list):
        return Foreign(Summary(damaged=True), None, ())
    messages = tuple(_messages(item for item in listed if isinstance(item, dict)))
    counted = sum(isinstance(message, UserMessage | AssistantMessage) for message in messages)
    title = short_title(_text(saved, "title")) or next(
        (short_title(message.content) for message in messages if isinstance(message, UserMessage)), ""
    )
    return Foreign(Summary(title, _text(saved, "model"), counted), _seconds(_text(saved, "updated")), messages)


def _messages(saved: Iterable[JsonObject]) -> Iterator[Message]:
    pending: list[ToolCall] = []
    for number, item in enumerate(saved, start=1):
        content = _text(item, "content")
        match item.get("role"):
            case "user":
                yield UserMessage(content)
            case "assistant":
                pending = list(_calls(item.get("tool_calls"), f"saved-{number}"))
                yield AssistantMessage(content, tuple(pending), _text(item, "thinking"))
            case "tool" if pending:
                call = pending.pop(0)  # results stand in the order of the calls
                yield ToolMessage(call.id, call.name, content)
            case _:
                pass


def _calls(saved: Json, prefix: str) -> Iterator[ToolCall]:
    for number, item in enumerate(saved if isinstance(saved, list) else []):
        function = item.get("function") if isinstance(item, dict) else None
        if isinstance(function, dict) and _text(function, "name"):
            arguments = function.get("arguments")
            known = arguments if isinstance(arguments, dict) else {}
            yield ToolCall(f"{prefix}-{number}", _text(function, "name"), known)


def _text(saved: JsonObject, key: str) -> str:
    value = saved.get(key)
    return value if isinstance(value, str) else ""


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
