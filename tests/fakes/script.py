"""What a scripted model server answers, as values."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `arguments` is normally a dict; a str is sent as the raw text of the arguments (malformed, say).
    `id` None = the server mints one; "" = the server sends none, as old builds did."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model.

    Content and thinking are sent a word a chunk. Seconds: `before` the headers (prompt evaluation), `delay` before each
    chunk. `hold_after` n: after n chunks wait until the client leaves or the test releases. `end`: `done` = the reply
    is complete; `eof` = the body ends without the closing line; `drop` = the connection breaks inside the body.
    `error`: after the chunks an error line ends the stream. `split`: bytes in one HTTP chunk (None = one line each).
    `prompt_tokens` None = estimated from the request.
    """

    content: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: Literal["stop", "length", "abort"] = "stop"
    before: float = 0.0
    delay: float = 0.0
    hold_after: int | None = None
    end: Literal["done", "eof", "drop"] = "done"
    error: str | Mapping[str, Any] | None = None
    split: int | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer instead of a stream. A `body` that is not bytes is sent as JSON."""

    status: int
    body: Any = b""
    content_type: str = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are, one HTTP chunk each; `endless` = over and over; `drop` = then the connection breaks."""

    pieces: Sequence[bytes]
    endless: bool = False
    drop: bool = False


Item: TypeAlias = "Reply | Refusal | Raw"
ScriptItem: TypeAlias = "Item | Callable[[dict[str, Any]], Item]"
Script: TypeAlias = Iterable[ScriptItem]


def say(content: str, **behaviour: Any) -> Reply:
    return Reply(content=content, **behaviour)


def call(name: str, /, **arguments: Any) -> Reply:
    return Reply(calls=(Call(name, arguments),))


def calls(*named: tuple[str, Mapping[str, Any] | str], content: str = "", **behaviour: Any) -> Reply:
    return Reply(content=content, calls=tuple(Call(name, arguments) for name, arguments in named), **behaviour)


def words(text: str) -> list[str]:
    """The text in pieces as a model streams it: each word with the blanks before it."""
    return re.findall(r"\s*\S+|\s+", text)


def reply_from_json(record: Mapping[str, Any]) -> Reply:
    """`{"content", "thinking", "tool_calls": [{"name", "arguments", "id"?}], "finish", "delay", ...}`."""
    known = {field.name for field in fields(Reply)} - {"calls"}
    unknown = set(record) - known - {"tool_calls"}
    if unknown:
        raise ValueError(f"unknown keys in a scripted reply: {sorted(unknown)}")
    made = tuple(Call(**item) for item in record.get("tool_calls", ()))
    return Reply(calls=made, **{key: record[key] for key in known if key in record})


def load_script(path: Path) -> list[Reply]:
    lines = path.read_text("utf-8").splitlines()
    return [reply_from_json(json.loads(line)) for line in lines if line.strip()]
