"""Tools for models that have none: each reply is one JSON object, constrained by a schema, and read back as a call.

The reply is `{"tool": <name>, "arguments": {...}}` or `{"answer": <text>}`. The conversation is rewritten for such a
model: the system message is short and holds the tools, worked examples follow it (agent/examples.py), calls are the
objects that the model wrote, results are user messages that repeat the task, which small models lose else. Everything
is a function of the messages alone, so that an earlier request stays a prefix of a later one.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llamagent_server.agent.examples import EXAMPLES
from llamagent_server.agent.prompt import fenced, general
from llamagent_server.core.messages import (
    AssistantMessage,
    Json,
    JsonObject,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

_ROLE = "You are llamagent, a coding agent in the user's editor."
_RULES = (
    'Reply with one JSON object and nothing else: {"tool": name, "arguments": {...}} to call a tool, or '
    '{"answer": text} when the task is done.'
)


_ORDER = ("write_file", "run_command", "read_file", "edit_file", "search_text", "list_files")
_TASK_CHARS = 200  # of the task's first line, repeated with each result


@dataclass(frozen=True, slots=True)
class Answer:
    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """`message` tells the model what was wrong."""

    message: str


def schema(tools: Sequence[ToolSpec]) -> JsonObject:
    """A JSON schema that every reply must fit: one choice for each tool, then the answer."""
    calls: list[Json] = [_call_schema(tool) for tool in _in_order(tools)]
    answer: Json = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"anyOf": [*calls, answer]}


def _call_schema(tool: ToolSpec) -> Json:
    return {
        "type": "object",
        "properties": {
            "tool": {"const": tool.name},
            "arguments": {**tool.parameters, "additionalProperties": False},
        },
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def as_messages(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tuple[Message, ...]:
    """The conversation for a model without tools. Neighbours of one role are joined: templates want them in turn."""
    plain: list[Message] = []
    task = ""
    for message in messages:
        if isinstance(message, UserMessage) and message.task:
            task = message.content.strip().partition("\n")[0][:_TASK_CHARS]
        previous = plain[-1] if plain else None
        rewritten = _rewritten(message, tools, task)
        if isinstance(previous, UserMessage) and isinstance(rewritten, UserMessage):
            plain[-1] = UserMessage(f"{previous.content}\n\n{rewritten.content}", task=previous.task)
        else:
            plain.append(rewritten)
        if isinstance(message, SystemMessage):
            plain += [_rewritten(step, tools, example.task) for example in EXAMPLES for step in example.messages(tools)]
    return tuple(plain)


def _rewritten(message: Message, tools: Sequence[ToolSpec], task: str) -> Message:
    match message:
        case SystemMessage(content=content):
            return SystemMessage(_system(content, tools))
        case AssistantMessage(content=content, tool_calls=()):
            return AssistantMessage(_dumped({"answer": content}))
        case AssistantMessage(tool_calls=calls):
            return AssistantMessage("\n".join(_dumped(_call_object(call)) for call in calls))
        case ToolMessage(name=name, content=content):
            return UserMessage(f"Task: {task}\n{fenced(f'Result of {name}', content)}", task=False)
        case UserMessage():
            return message


def _system(content: str, tools: Sequence[ToolSpec]) -> str:
    """With our short words instead of the general ones, which are too many for the smallest models."""
    about = content.removeprefix(general()).strip()
    return "\n".join([f"{_ROLE} {_RULES}", "Tools:", *map(_described, _in_order(tools)), about])


def _in_order(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Those that do the work first: the smallest models take what stands first."""
    return sorted(tools, key=lambda tool: _ORDER.index(tool.name) if tool.name in _ORDER else len(_ORDER))


def _call_object(call: ToolCall) -> dict[str, Json]:
    return {"tool": call.name, "arguments": dict(call.arguments)}


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _described(tool: ToolSpec) -> str:
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    names = [
        name if isinstance(required, list) and name in required else f"{name}?"
        for name in (properties if isinstance(properties, dict) else ())
    ]
    return f"- {tool.name}({', '.join(names)}): {tool.description}"


def parse(content: str, tools: Sequence[ToolSpec], new_id: Callable[[str], str]) -> ToolCall | Answer | Malformed:
    """What a constrained reply means. It is checked all the same: some servers ignore the schema."""
    try:
        value = json.loads(content)
    except ValueError:
        if content.strip() and "{" not in content:
            return Answer(content.strip())
        return Malformed(f"Your reply was no complete JSON object. {_RULES}")
    match value:
        case {"answer": str(text)}:
            return Answer(text)
        case {"tool": str(name), "arguments": dict(arguments)}:
            return ToolCall(new_id("call"), name, arguments, origin=Origin.SCHEMA)
        case {"tool": str(name)} if name in {tool.name for tool in tools}:
            return ToolCall(new_id("call"), name, {}, origin=Origin.SCHEMA)
        case _:
            return Malformed(f"Your reply was another object than these. {_RULES}")


_ANSWER_START = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_LOW = re.compile(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_UNFINISHED = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|[^"\\]')


class AnswerText:
    """The text of an answer while its JSON object arrives: `feed` gives what is new of it, decoded."""

    def __init__(self) -> None:
        self._buffer = ""
        self._at: int | None = None
        self._ended = False

    def feed(self, text: str) -> str:
        self._buffer += text
        if self._at is None:
            start = _ANSWER_START.match(self._buffer)
            if start is None:
                return ""
            self._at = start.end()
        pieces = []
        while not self._ended and (piece := _ESCAPE.match(self._buffer, self._at)) is not None:
            end = piece.end()
            if _is_high(piece.group()):
                # Half of a surrogate pair waits for the other half.
                if _UNFINISHED.fullmatch(self._buffer, end):
                    break
                end = piece.end() + 6 if _LOW.match(self._buffer, end) else end
            pieces.append(json.loads(f'"{self._buffer[self._at : end]}"', strict=False))
            self._at = end
        self._ended = self._ended or self._buffer.startswith('"', self._at)
        return "".join(pieces)


def _is_high(escape: str) -> bool:
    return escape.startswith("\\u") and 0xD800 <= int(escape[2:], 16) < 0xDC00
