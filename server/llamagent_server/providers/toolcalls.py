"""Tool calls from a server's word to ours: ids that are unique, arguments that parse or a reason why not."""

import itertools
import json
import os
import string
from collections.abc import Iterable

from llamagent_server.core.messages import AssistantMessage, Json, JsonObject, Message, ToolCall

_ALPHABET = string.digits + string.ascii_lowercase
_COUNTER = itertools.count(1)
_MAX_ID = 100
UNNAMED = "unnamed"  # an empty name would be refused when the conversation is sent again
_SHOWN = 200


def ids_in(messages: Iterable[Message]) -> set[str]:
    """The call ids that a conversation uses already."""
    return {call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls}


def make_call(call_id: object, name: object, arguments: object, taken: set[str]) -> ToolCall:
    """A call with an id that is not in `taken`, to which it is added. `arguments`: an object, or JSON as a string."""
    parsed, problem = _object(arguments)
    if not isinstance(name, str) or not name.strip():
        name, problem = UNNAMED, "the call names no tool"
    chosen = call_id if isinstance(call_id, str) and _usable(call_id) and call_id not in taken else _mint(taken)
    taken.add(chosen)
    return ToolCall(chosen, name.strip(), parsed, problem=problem)


def sent_arguments(call: ToolCall) -> dict[str, Json]:
    """The arguments as they are sent again: `{}` for what JSON cannot hold (not all calls were made here)."""
    arguments = dict(call.arguments)
    return {} if _unsendable(arguments) else arguments


def _usable(call_id: str) -> bool:
    return 0 < len(call_id) <= _MAX_ID and call_id.isascii() and call_id.isprintable()


def _mint(taken: set[str]) -> str:
    """Nine letters and digits, which is the one form that every chat template accepts (Mistral's demand it)."""
    while True:
        number = next(_COUNTER)
        count = "".join(_ALPHABET[number // 36**place % 36] for place in (2, 1, 0))
        call_id = "c" + count + "".join(_ALPHABET[byte % 36] for byte in os.urandom(5))
        if call_id not in taken:
            return call_id


def _object(arguments: object) -> tuple[JsonObject, str | None]:
    """The arguments as an object, or {} and what is wrong with them."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}, None
    value: Json | object = arguments
    # Some models encode the object twice.
    for _ in range(2):
        if isinstance(value, str):
            try:
                value = json.loads(value, strict=False)
            except (ValueError, RecursionError) as error:
                return {}, f"the arguments are no JSON ({error}): {_shown(arguments)}"
    if not isinstance(value, dict):
        return {}, f"the arguments are no JSON object: {_shown(arguments)}"
    problem = _unsendable(value)
    return ({}, problem) if problem else (value, None)


def _unsendable(value: dict[str, Json]) -> str | None:
    """What was received is sent again in the next request, so it must be a JSON that every server reads."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return "the arguments hold a number that JSON does not have (NaN or Infinity)"
    return None


def _shown(arguments: object) -> str:
    text = arguments if isinstance(arguments, str) else repr(arguments)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
