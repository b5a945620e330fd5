"""Arguments against a tool's schema: what is missing or of the wrong type, said so that the next try succeeds."""

import json
import re
from dataclasses import dataclass

from llamagent_server.core.messages import Json, JsonObject, ToolSpec

_INTEGER = re.compile(r"\s*-?\d{1,18}\s*")


@dataclass(frozen=True, slots=True)
class Checked:
    """`repairs` says what was read with good will (a number in quotes, an argument that the tool does not have)."""

    arguments: JsonObject
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BadArguments:
    message: str


def check(spec: ToolSpec, arguments: JsonObject) -> Checked | BadArguments:
    """Validate `arguments`; a fault with one obvious reading is repaired, any other is named with what is valid."""
    properties = spec.parameters.get("properties")
    known: dict[str, Json] = properties if isinstance(properties, dict) else {}
    required = spec.parameters.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    given = {key: value for key, value in arguments.items() if value is not None}
    if missing := [name for name in names if name not in given]:
        return BadArguments(f"{spec.name} needs {_list(missing)}. {usage(spec)}")
    checked: dict[str, Json] = {}
    repairs = []
    for key, value in given.items():
        if key not in known:
            repairs.append(f"ignored the argument {key!r}, which {spec.name} does not have")
            continue
        wanted = _type(known[key])
        repaired = _coerce(value, wanted)
        if repaired is None:
            return BadArguments(f"{spec.name}: {key} must be {_article(wanted)}, not {_short(value)}. {usage(spec)}")
        if repaired != value or type(repaired) is not type(value):
            repairs.append(f"read {key} {_short(value)} as {_short(repaired)}")
        checked[key] = repaired
    return Checked(checked, tuple(repairs))


def usage(spec: ToolSpec) -> str:
    """`Use read_file(path: string, start?: integer)`: what a call of the tool looks like."""
    properties = spec.parameters.get("properties")
    required = spec.parameters.get("required")
    needed = required if isinstance(required, list) else []
    listed = [
        f"{name}{'' if name in needed else '?'}: {_type(schema)}"
        for name, schema in (properties.items() if isinstance(properties, dict) else ())
    ]
    return f"Use {spec.name}({', '.join(listed)})."


def _type(schema: Json) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else "string"


def _coerce(value: Json, wanted: str) -> Json:
    """`value` as the wanted type where there is one obvious reading, None where there is not."""
    match wanted, value:
        case ("integer", bool()):
            return None
        case ("integer", int()):
            return value
        case ("integer", float()) if value.is_integer():
            return int(value)
        case ("integer", str()) if _INTEGER.fullmatch(value):
            return int(value)
        case ("string", str()):
            return value
        case ("string", int() | float()) if not isinstance(value, bool):
            return json.dumps(value)
        case ("boolean", bool()):
            return value
        case _:
            return None


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


def _list(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " and " + names[-1]


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
