"""JSON into frozen dataclasses with nothing guessed: unknown and missing keys and wrong types are errors with words."""

import types
import typing
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union

from llamagent_server.core.events import camel
from llamagent_server.errors import BadArgument

T = TypeVar("T")

_NAMES: dict[type, str] = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}


def parse(cls: type[T], value: object, where: str = "") -> T:
    """`value` (decoded JSON, an object) as an instance of the dataclass `cls`.

    Keys are the camelCase names of the fields; a field with a default may be absent or null. `where` names the value in
    the words of the error. Raises BadArgument.
    """
    if not isinstance(value, Mapping):
        raise BadArgument(f"{where or 'The argument'} must be an object, not {_seen(value)}.")
    known = _fields(typing.cast(Hashable, cls))
    for key in value:
        if key not in known:
            names = ", ".join(known) or "none"
            raise BadArgument(f"{_path(where, str(key))} is not known here.", hint=f"Valid keys: {names}.")
    found = {}
    for key, (field, hint) in known.items():
        if value.get(key) is not None:
            found[field.name] = _value(hint, value[key], _path(where, key))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise BadArgument(f"{_path(where, key)} is missing.", hint=f"It must be {_expected(hint)}.")
    return cls(**found)


def parse_known(cls: type[T], value: object) -> T:
    """As `parse`, but keys that are unknown here are passed over: a newer client may answer more than we ask."""
    known = _fields(typing.cast(Hashable, cls))
    if isinstance(value, Mapping):
        value = {key: item for key, item in value.items() if key in known}
    return parse(cls, value, "The answer")


def type_name(hint: Any) -> str:
    """How a person would name the type `hint` of a field: `a string`, `"agent" or "read"`, `a list`, ..."""
    return _expected(hint)


@cache
def _fields(cls: Any) -> dict[str, tuple[Field[Any], Any]]:
    if not is_dataclass(cls):
        raise TypeError(f"not a dataclass: {cls!r}")
    hints = typing.get_type_hints(cls)
    return {camel(field.name): (field, hints[field.name]) for field in fields(cls)}


def _value(hint: Any, value: object, where: str) -> object:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return _one_of(typing.get_args(hint), hint, value, where)
    if origin is tuple:
        item = typing.get_args(hint)[0]
        _require(isinstance(value, list), hint, value, where)
        return tuple(_value(item, entry, f"{where}[{i}]") for i, entry in enumerate(typing.cast(list[object], value)))
    if origin is Mapping or origin is dict:
        return _mapping(hint, value, where)
    if origin is Literal:
        _require(isinstance(value, str) and value in typing.get_args(hint), hint, value, where)
        return value
    if is_dataclass(hint):
        return parse(typing.cast(type, hint), value, where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        _require(value in [member.value for member in hint], hint, value, where)
        return hint(value)
    _require(_is(hint, value), hint, value, where)
    return value


def _one_of(hints: tuple[Any, ...], hint: Any, value: object, where: str) -> object:
    if value is None and type(None) in hints:
        return None
    structured: list[Any] = [h for h in hints if h is not type(None)]
    if len(structured) == 1:
        return _value(structured[0], value, where)
    _require(any(_is(h, value) for h in structured), hint, value, where)
    return value


def _mapping(hint: Any, value: object, where: str) -> dict[str, object]:
    _require(isinstance(value, dict), hint, value, where)
    item = typing.get_args(hint)[1]
    entries = typing.cast(dict[str, object], value)
    if _is_json(item):
        return entries
    return {key: _value(item, entry, _path(where, key)) for key, entry in entries.items()}


def _is_json(hint: Any) -> bool:
    """Whether `hint` is the Json alias, which allows anything that JSON can say."""
    arguments = typing.get_args(hint)
    return type(None) in arguments and bool in arguments and str in arguments


_PLAIN: dict[type, Callable[[object], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def _is(hint: Any, value: object) -> bool:
    check = _PLAIN.get(hint)
    if check is None:
        raise TypeError(f"fields of type {hint!r} cannot be read from JSON")
    return check(value)


def _require(condition: bool, hint: Any, value: object, where: str) -> None:
    if not condition:
        raise BadArgument(f"{where} must be {_expected(hint)}, not {_seen(value)}.")


def _expected(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_expected(h) for h in typing.get_args(hint) if h is not type(None))
    if origin is Literal:
        return " or ".join(f'"{choice}"' for choice in typing.get_args(hint))
    if origin is tuple:
        return "a list"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " or ".join(f'"{member.value}"' for member in hint)
    return _NAMES.get(hint, "an object")


def _seen(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if len(value) <= 40 else "a long string"
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case _:
            return "an object"


def _path(where: str, key: str) -> str:
    return f"{where}.{key}" if where else f"`{key}`" if not key.isidentifier() else key
