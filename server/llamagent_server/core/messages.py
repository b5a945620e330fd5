"""What a conversation is made of: messages, tool calls, tool specifications, replies and their usage."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]


class Origin(StrEnum):
    """How a tool call reached us."""

    NATIVE = "native"  # the server's own tool call
    TEXT = "text"  # recovered from a call that was written as text
    SCHEMA = "schema"  # a step constrained by a JSON schema


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is the parsed object; `problem` says why it could not be parsed (such a call is never run);
    `respelled`: its names were another agent's."""

    id: str
    name: str
    arguments: JsonObject
    origin: Origin = Origin.NATIVE
    problem: str | None = None
    respelled: bool = field(default=False, compare=False)  # for the trace; it is not kept with the conversation


@dataclass(frozen=True, slots=True)
class SystemMessage:
    content: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """`task` marks the words of the person, which no pruning may drop while their turn runs."""

    content: str
    task: bool = True


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    call_id: str
    name: str
    content: str


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told of a tool. `parameters` is a JSON schema object (type, properties, required)."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reported them; None where it did not. `seconds` is the wall time of the request."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    seconds: float = 0.0


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class Latency:
    first_token_seconds: float | None
    total_seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply of the model. A reply cut by the length limit carries no tool calls.

    `problem`: the text looks like a call, but nothing may be made of it; one line that tells the model why.
    """

    content: str
    thinking: str
    tool_calls: tuple[ToolCall, ...]
    finish: Finish
    usage: Usage
    latency: Latency
    problem: str | None = None
