"""What a JSON value says as a call, and what the declared tools make of a name and of arguments."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from llamagent_server.core import spelling
from llamagent_server.core.messages import Json, ToolCall, ToolSpec
from llamagent_server.providers.textcalls.unescaped import read_unescaped
from llamagent_server.providers.textcalls.values import Unreadable, Work, put, read_loose, read_strict

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "action_input", "tool_input", "input", "params")
# What may stand beside them in a call that nothing marks as one. Anything else is somebody's data.
BESIDE_KEYS = frozenset(
    {"id", "type", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "explanation"}
)
MESSAGE_KEYS = ("tool_calls", "function_call", "tool_call")
_TYPE_WORDS = frozenset(
    {"string", "str", "integer", "int", "number", "float", "boolean", "bool", "object", "array", "string?", "integer?"}
)
_SCRIPT = ("run_python_script", "run_command")  # core.spelling writes its command
_NAMED_ARGUMENT = re.compile(r"\s*(\w+)\s*[=:]")
_NAMESPACES = ("functions.", "default_api.", "tools.", "tool.")


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call as it was written. `arguments` that are text stand for the one argument that a tool needs."""

    name: str
    arguments: Mapping[str, Json]


class Tools:
    """The declared tools: whose names count, and in which spellings."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._arguments = {spec.name: tuple(_properties(spec)) for spec in specs}
        self._known = {name: frozenset(names) for name, names in self._arguments.items()}

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """All names by which a declared tool may be called, the longest first."""
        foreign = [name for name, ours in (*spelling.TOOLS.items(), _SCRIPT) if ours in self._specs]
        return tuple(sorted({*self._specs, *foreign}, key=lambda name: (-len(name), name)))

    @cached_property
    def keys(self) -> frozenset[str]:
        """All keys that may stand in a call."""
        own = {key for keys in self._arguments.values() for key in keys}
        foreign = {key for key, ours in spelling.ARGUMENTS.items() if ours in own}
        return frozenset({*own, *foreign, *NAME_KEYS, *ARGUMENT_KEYS, *BESIDE_KEYS})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._specs)

    def declares(self, name: str) -> bool:
        return self.settled(TextCall(name, {})).name in self._specs

    def settled(self, call: TextCall) -> TextCall:
        """`call` in our spelling. Raises Unreadable where two spellings of one argument disagree."""
        name = bare_name(call.name)
        ours = spelling.canonical(ToolCall("", name, {}), self._known).name
        if name not in self._specs and name == _SCRIPT[0]:
            written = spelling.canonical(ToolCall("", name, call.arguments), self._known)
            return TextCall(written.name, written.arguments)
        found: dict[str, Json] = {}
        for key, value in call.arguments.items():
            foreign = key not in self._known.get(ours, ())
            alias = spelling.ARGUMENTS.get(key, key) if foreign else key
            put(found, alias if alias in self._known.get(ours, ()) else key, value)
        return TextCall(ours, found)

    def fits(self, call: TextCall) -> bool:
        """Whether `call` has what its tool needs, and nothing that it does not have."""
        try:
            settled = self.settled(call)
        except Unreadable:
            return False
        given = {key for key, value in settled.arguments.items() if value is not None}
        return settled.name in self._specs and self._required(settled.name) <= given <= self._known[settled.name]

    def order(self, name: str) -> tuple[str, ...]:
        """The names of a tool's arguments, as they are declared; none for a tool that is not."""
        return self._arguments.get(self.settled(TextCall(name, {})).name, ())

    def only_argument(self, name: str) -> str | None:
        """The argument that a text given to the tool can only mean."""
        names = self.order(name)
        if len(names) < 2:
            return next(iter(names), None)
        required = self._required(self.settled(TextCall(name, {})).name)
        return next(iter(required)) if len(required) == 1 else None

    def _required(self, name: str) -> set[str]:
        required = self._specs[name].parameters.get("required")
        return {str(key) for key in required} if isinstance(required, list) else set()


def bare_name(name: str) -> str:
    """A tool's name without the namespace that some models put before it."""
    name = name.strip()
    return next((name[len(space) :] for space in _NAMESPACES if name.startswith(space)), name)


def read_value(text: str, at: int, tools: Tools, work: Work, fits: Callable[[Json], bool]) -> tuple[Json, int]:
    """The value at `at`, and its end: as JSON, else with good will, else with quotes that were not escaped.

    `fits`: whether a value is what stands here. Raises Unreadable.
    """
    if (strict := read_strict(text, at)) is not None:
        return strict
    try:
        loose, end = read_loose(text, at, work)
        if fits(loose):
            return loose, end
    except Unreadable as error:
        return read_unescaped(text, at, tools.keys, fits, work, error)
    try:
        return read_unescaped(text, at, tools.keys, fits, work, None)
    except Unreadable:
        return loose, end


def calls_in(value: Json, tools: Tools, work: Work, *, marked: bool) -> list[TextCall] | None:
    """The calls that `value` is; None where it is something else.

    `marked`: something around it says that it is a call, so that less is needed to see one in it. Raises Unreadable.
    """
    if isinstance(value, str) and marked:
        inner = read_strict(value.strip(), 0)
        return calls_in(inner[0], tools, work, marked=True) if inner and not isinstance(inner[0], str) else None
    if isinstance(value, list):
        found = [calls_in(element, tools, work, marked=marked) for element in value]
        flat = [call for calls in found if calls is not None for call in calls]
        return flat if flat and None not in found else None
    if not isinstance(value, dict):
        return None
    return _calls_in_object(value, tools, work, marked=marked)


def _calls_in_object(value: dict[str, Json], tools: Tools, work: Work, *, marked: bool) -> list[TextCall] | None:
    for key in MESSAGE_KEYS:
        if isinstance(value.get(key), dict | list):
            return calls_in(value[key], tools, work, marked=marked)
    names = {bare_name(word) for key in NAME_KEYS if isinstance(word := value.get(key), str)}
    inner = [held for key in NAME_KEYS if isinstance(held := value.get(key), dict)]
    if inner:
        return calls_in(inner[0], tools, work, marked=marked) if len(inner) == 1 and not names else None
    if not names:
        return _keyed_by_name(value, tools, work) if marked else None
    given = [value[key] for key in ARGUMENT_KEYS if key in value]
    beside = value.keys() - set(NAME_KEYS) - set(ARGUMENT_KEYS) - BESIDE_KEYS
    if not marked and (not given or beside or not all(map(tools.declares, names))):
        return None
    if len(names) > 1 and len({tools.settled(TextCall(name, {})).name for name in names}) > 1:
        raise Unreadable("it names more than one tool")
    name = min(names)
    if not given and marked:
        return [TextCall(name, {key: value[key] for key in beside})]
    call = _call(name, given, tools, work)
    return [call] if marked or not is_schema(call.arguments) else None


def _keyed_by_name(value: dict[str, Json], tools: Tools, work: Work) -> list[TextCall] | None:
    """`{"read_file": {"path": "a"}}`."""
    if len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    return [_call(name, [arguments], tools, work)] if tools.declares(name) else None


def _call(name: str, given: list[Json], tools: Tools, work: Work) -> TextCall:
    """The call of `name` with its arguments, which may be given under more than one key, if they agree."""
    objects = [arguments_of(name, arguments, tools, work) for arguments in given]
    filled = [tools.settled(TextCall(name, one)) for one in objects if one]
    if any(one != filled[0] for one in filled):
        raise Unreadable("it gives the arguments twice, and they differ")
    return filled[0] if filled else tools.settled(TextCall(name, {}))


def arguments_of(name: str, arguments: Json, tools: Tools, work: Work) -> Mapping[str, Json]:
    """Arguments as an object, also where they came as JSON in a text, or as the one text that the tool needs."""
    if arguments is None:
        return {}
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        raise Unreadable("its arguments are no object")
    text = arguments.strip()
    if text.startswith(("{", '"{')):
        strict = read_strict(text, 0)
        value, end = strict if strict is not None else read_loose(text, 0, work)
        if text[end:].strip():
            raise Unreadable("its arguments are not valid JSON")
        return arguments_of(name, value, tools, work)
    only = tools.only_argument(name)
    if not text:
        return {}
    named = _NAMED_ARGUMENT.match(text)
    if only is None or (named and named[1] in tools.order(name)):
        raise Unreadable("its arguments are a text, not an object")
    return {only: arguments}


def is_schema(arguments: Mapping[str, Json]) -> bool:
    """Whether these describe arguments instead of giving them, as documentation does."""
    if "properties" in arguments or arguments.get("type") == "object":
        return True
    described = [
        isinstance(value, dict) and ("type" in value or "description" in value) for value in arguments.values()
    ]
    named = {key for key, value in arguments.items() if isinstance(value, str) and value.strip().lower() in _TYPE_WORDS}
    # Somebody may well search for the word "string".
    return bool(arguments) and (all(described) or (len(named) == len(arguments) and named != {"pattern"}))


def _properties(spec: ToolSpec) -> Mapping[str, Json]:
    properties = spec.parameters.get("properties")
    return properties if isinstance(properties, dict) else {}
