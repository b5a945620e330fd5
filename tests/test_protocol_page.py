"""docs/PROTOCOL.md says what the code does: its tables are compared with the code's, both ways."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest

from llamagent_server.agent import results
from llamagent_server.core.events import Actor, Decision, EventBody, StopReason, TurnUsage, camel
from llamagent_server.errors import ErrorKind
from llamagent_server.lsp.wire import COMMANDS, METHODS, PREFIX, PROTOCOL_VERSION, Flags, InitializationOptions
from llamagent_server.setting_rules import Value
from llamagent_server.settings import BY_KEY, SETTINGS, default
from llamagent_server.tools.base import make_tools

PAGES = Path(__file__).parent.parent / "docs"
PAGE = (PAGES / "PROTOCOL.md").read_text(encoding="utf-8")
# An ask with `detach` is answered at once by another result.
RESULTS_OF_TWO_KINDS = {
    "ask": (results.TurnResult, results.Started),
    "ask_about": (results.Started, results.Cancelled),
}


def rows(section: str) -> list[list[str]]:
    """The cells of the table lines of one section, without the heading's."""
    text = PAGE.partition(f"\n## {section}")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if not set(row[0]) <= set("-: ") and row[0] not in ("command", "kind", "key")]


def keys(shape: str) -> dict[str, bool]:
    """The keys of `{a*, b: [{c}], d?}` at the outermost level, with whether a star says that they are required."""
    inner = shape[shape.index("{") + 1 :]
    found, depth, word = [], 0, ""
    for character in inner:
        if depth == 0 and character in ",}":
            found.append(word.strip())
            word = ""
            if character == "}":
                break
            continue
        depth += (character in "[{(") - (character in ")]}")
        word += character
    names = [re.split(r"[:?]", item)[0].strip() for item in found if item]
    return {name.rstrip("*"): name.endswith("*") for name in names}


def shape(value: Any) -> dict[str, bool]:
    return {camel(field.name): _required(field) for field in fields(value)}


def _required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def commands() -> Mapping[str, tuple[str, str]]:
    return {
        name.removeprefix(PREFIX): (arguments, result)
        for names, arguments, result in rows("Commands")
        for name in re.findall(r"`([^`]+)`", names)
    }


def test_the_page_and_the_table_name_the_same_commands() -> None:
    assert sorted(commands()) == sorted(command.name for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_a_commands_arguments_and_result(command: Any) -> None:
    arguments, result = commands()[command.name]
    if result.startswith("as ask"):
        result = commands()["ask"][1]
    assert keys(arguments) == shape(command.arguments)
    for kind in RESULTS_OF_TWO_KINDS.get(command.name, (command.result,)):
        if kind is not None:
            shapes = [set(keys(text)) for text in re.findall(r"`(\{.*?\})`", result)]
            assert set(shape(kind)) in shapes


def test_our_own_messages_and_what_they_carry() -> None:
    for method in METHODS:
        assert f"`{method.name}`" in PAGE, method.name
        if method.params is not None:
            sent = re.search(rf"`{method.name}`\s+`(\{{.*?\}})`", PAGE, re.DOTALL)
            assert sent is not None and set(keys(sent.group(1))) == set(shape(method.params)), method.name
    named = set(re.findall(r"`(llamagent/\w+)`", PAGE))
    assert named == {method.name for method in METHODS}


def test_the_flags_and_options_of_a_client() -> None:
    listed = PAGE.partition("Client flags, all under")[2].partition("(booleans)")[0]
    assert re.findall(r"`(\w+)`", listed) == list(shape(Flags))
    options = re.search(r"`initializationOptions` = `(\{.*?\})`", PAGE)
    assert options is not None and set(keys(options.group(1))) == set(shape(InitializationOptions))
    assert f"{{protocol: {PROTOCOL_VERSION}}}" in PAGE


def test_each_event_and_what_it_carries() -> None:
    described = {name: cells[1] for cells in rows("Trace") for name in re.findall(r"`([^`]+)`", cells[0])}
    bodies = get_args(EventBody)
    assert sorted(described) == sorted(body.kind for body in bodies)
    for body in bodies:
        if body.kind not in ("tool.started", "tool.returned"):  # these share one row
            (carried,) = re.findall(r"`([^`]+)`", described[body.kind])[:1]
            assert set(keys("{" + carried + "}")) == set(shape(body)), body.kind


@pytest.mark.parametrize("closed", [Actor, Decision, ErrorKind], ids=lambda closed: str(closed.__name__))
def test_closed_sets_are_listed_whole(closed: type[StrEnum]) -> None:
    for word in closed:
        assert f"`{word}`" in PAGE or f'"{word}"' in PAGE, word


def test_stop_reasons_and_usage() -> None:
    listed = PAGE.partition("`stopReason`: ")[2].partition(". A failed ask")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(StopReason) - {StopReason.ERROR}
    usage = re.search(r"`usage`: `(\{.*?\})`", PAGE)
    assert usage is not None and set(keys(usage.group(1))) == set(shape(TurnUsage))


def test_the_tools_and_their_arguments() -> None:
    listed = PAGE.partition("## Tools of the model")[2].partition("Foreign spellings")[0]
    described = {name: arguments.split(", ") for name, arguments in re.findall(r"`(\w+)\(([^)]*)\)`", listed)}
    for tool in make_tools(_NOTHING, _NOTHING, _NOTHING):
        properties: Any = tool.spec.parameters["properties"]
        required: Any = tool.spec.parameters["required"]
        assert described.pop(tool.spec.name) == [name if name in required else f"{name}?" for name in properties]
    assert described == {}


_NOTHING: Any = None


def test_the_table_of_settings_is_the_codes() -> None:
    expected = [
        [
            f"`{setting.key}`",
            shown(default(setting.key)),
            setting.allowed,
            f"`{setting.file}`",
            "yes" if setting.workspace_may_set else "never",
        ]
        for setting in SETTINGS
    ]
    assert rows("Settings") == expected


def shown(value: Value) -> str:
    """A default as the page has it."""
    match value:
        case None:
            return "none"
        case "":
            return "empty"
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return "`[]`"
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case _:
            return f"`{value}`"


def test_the_readme_names_no_setting_that_does_not_exist() -> None:
    readme = (PAGES.parent / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)) <= set(BY_KEY)
