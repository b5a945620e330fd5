"""The extension's mirror of the wire, its settings and its commands, against the daemon's tables. Needs no Node."""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import pytest

import llamagent_server
from llamagent_server.agent import results
from llamagent_server.core import events
from llamagent_server.core.events import EventBody, camel
from llamagent_server.lsp import wire
from llamagent_server.setting_rules import Setting, Type
from llamagent_server.settings import SETTINGS, default

EXTENSION = Path(__file__).parents[2] / "clients" / "vscode"
WORDS: dict[str, str] = json.loads((EXTENSION / "package.nls.json").read_text("utf-8"))
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
WIRE = (EXTENSION / "src" / "wire.ts").read_text("utf-8")
PROPERTIES: dict[str, Any] = MANIFEST["contributes"]["configuration"]["properties"]


def fields_of(body: str) -> dict[str, bool]:
    """The fields of an interface's body, and whether each may be left out. Nested braces are skipped."""
    while (flat := re.sub(r"\{[^{}]*\}", "object", body)) != body:
        body = flat
    return {name: bool(optional) for name, optional in re.findall(r"(\w+)(\??):", body)}


def blocks(pattern: str) -> dict[str, str]:
    """What stands between the braces that follow each match of `pattern`, by the match's first group."""
    found = {}
    for match in re.finditer(pattern + r"\s*\{", WIRE):
        depth, at = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(WIRE[at], 0)
            at += 1
        found[match[1]] = WIRE[match.end() : at - 1]
    return found


INTERFACES = {name: fields_of(body) for name, body in blocks(r"export interface (\w+)").items()}


def optional(field: Field[Any]) -> bool:
    """With a default, or left out of a record where it is None."""
    has_default = field.default is not MISSING or field.default_factory is not MISSING
    return has_default or (NoneType in get_args(field.type) and not field.metadata.get("nullable"))


def mirrored(value: type) -> dict[str, bool]:
    return {camel(field.name): optional(field) for field in fields(value)}


SHAPES = {
    name: shape
    for module in (wire, results, events)
    for name, shape in vars(module).items()
    if isinstance(shape, type) and is_dataclass(shape) and name in INTERFACES and name != "ToolCall"  # sent in part
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_an_interface_has_the_fields_of_its_dataclass(name: str) -> None:
    assert INTERFACES[name] == mirrored(SHAPES[name])


def test_the_shapes_of_the_wire_are_all_mirrored() -> None:
    ours = {command.arguments.__name__ for command in wire.COMMANDS} | {
        shape.__name__ for method in wire.METHODS for shape in (method.params, method.result) if shape is not None
    }
    assert sorted(ours - set(INTERFACES) - {"NoArguments"}) == []


def test_the_command_table_has_every_command_with_its_arguments() -> None:
    (table,) = blocks(r"export interface (CommandTable)").values()
    rows = dict(re.findall(r"^  (\w+): \{\s*arguments: (\w+);", table, re.MULTILINE))
    assert rows == {command.name: command.arguments.__name__ for command in wire.COMMANDS}


def test_every_kind_of_event_carries_the_same() -> None:
    (table,) = blocks(r"export interface (EventTable)").values()
    ours = {}
    for kind, body in re.findall(r'^  "?([a-z.]+)"?: (\{.*?\}|\w+);$', table, re.MULTILINE | re.DOTALL):
        ours[kind] = set(fields_of(body[1:-1])) if body.startswith("{") else set(INTERFACES[body])
    theirs = {body.kind: {camel(field.name) for field in fields(body)} for body in get_args(EventBody)}
    assert ours == theirs


def test_the_messages_have_the_same_names() -> None:
    names = set(re.findall(r'= "(llamagent/\w+)";', WIRE))
    assert names == {method.name for method in wire.METHODS}
    assert f"PROTOCOL_VERSION = {wire.PROTOCOL_VERSION};" in WIRE


def test_all_flags_are_declared() -> None:
    declared = re.search(r"FLAGS = \{(.*?)\}", WIRE, re.DOTALL)
    assert declared is not None
    assert fields_of(declared[1]).keys() == {camel(flag.name) for flag in fields(wire.Flags)}


# --- Settings ------------------------------------------------------------------------------------------------------


def expected_schema(setting: Setting) -> Mapping[str, Any]:
    value = default(setting.key)
    schema: dict[str, Any] = {
        "default": list(value) if isinstance(value, tuple) else value,
        "scope": "window" if setting.workspace_may_set else "machine",
        "markdownDescription": setting.help + (f" In {setting.unit}." if setting.unit else ""),
    }
    if setting.choices:
        schema["enum"] = [*((False, True) if setting.type is Type.SWITCH else ()), *setting.choices]
    if setting.minimum is not None:
        schema["minimum"] = setting.minimum
    if setting.maximum is not None:
        schema["maximum"] = setting.maximum
    return schema


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_setting_is_offered_as_the_daemon_has_it(setting: Setting) -> None:
    found = dict(PROPERTIES[f"llamagent.{setting.key}"])
    found["markdownDescription"] = WORDS[found["markdownDescription"].strip("%")]
    expected = expected_schema(setting)
    assert {key: found.get(key) for key in expected} == expected
    assert {"enum", "minimum", "maximum"} & found.keys() <= expected.keys()


def test_no_setting_is_offered_that_the_daemon_does_not_know() -> None:
    own = {"llamagent.server.command", "llamagent.server.interpreter"}
    assert PROPERTIES.keys() - own == {f"llamagent.{setting.key}" for setting in SETTINGS}
    assert {PROPERTIES[key]["scope"] for key in own} == {"machine"}


def test_the_lists_of_settings_in_the_code_are_the_daemons() -> None:
    code = (EXTENSION / "src" / "settings.ts").read_text("utf-8")
    keys, machine = (re.search(rf"{name}.*?\[(.*?)\]", code, re.DOTALL) for name in ("const KEYS", "const MACHINE"))
    assert keys is not None and machine is not None
    assert re.findall(r'"(\w+)"', keys[1]) == [setting.key for setting in SETTINGS]
    assert set(re.findall(r'"(\w+)"', machine[1])) == {s.key for s in SETTINGS if not s.workspace_may_set}


def test_an_untrusted_folder_sets_nothing() -> None:
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert set(restricted) == {f"llamagent.{setting.key}" for setting in SETTINGS if setting.workspace_may_set}


# --- Commands ------------------------------------------------------------------------------------------------------


def test_every_command_of_the_manifest_is_in_the_code_and_the_other_way_round() -> None:
    code = (EXTENSION / "src" / "commands.ts").read_text("utf-8")
    table = re.search(r"return \{\n(.*?)\n  \};", code, re.DOTALL)
    assert table is not None
    names = {f"llamagent.ui.{name}" for name in re.findall(r"^    (\w+):", table[1], re.MULTILINE)}
    assert {command["command"] for command in MANIFEST["contributes"]["commands"]} == names


def test_no_command_has_an_id_that_the_daemons_take() -> None:
    theirs = {command.id for command in wire.COMMANDS}
    assert not theirs & {command["command"] for command in MANIFEST["contributes"]["commands"]}


def test_every_command_of_the_daemon_is_within_reach() -> None:
    code = (EXTENSION / "src" / "commands.ts").read_text("utf-8")
    table = re.search(r"REACHED: .*? = \{\n(.*?)\n\};", code, re.DOTALL)
    assert table is not None
    reached = dict(re.findall(r'^  (\w+): (?:"(\w+)"|null)', table[1], re.MULTILINE))
    assert reached.keys() == {command.name for command in wire.COMMANDS if command.served}
    # VS Code's own trust; the panel shows the trace, completes the prompt and takes back what waits.
    assert {name for name, command in reached.items() if not command} == {"trust", "trace", "complete", "unqueue"}
    ours = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    assert {f"llamagent.ui.{command}" for command in reached.values() if command} <= ours


def test_menus_keys_and_walkthrough_name_commands_that_exist() -> None:
    known = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    contributes = json.dumps([MANIFEST["contributes"][part] for part in ("menus", "keybindings")] + [WORDS])
    assert set(re.findall(r"llamagent\.ui\.\w+", contributes)) <= known


def test_the_versions_agree() -> None:
    assert MANIFEST["version"] == llamagent_server.__version__


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))
    hosts = {
        re.sub(r"^(https?://[^/]+).*", r"\1", row["resolved"]) for row in lock["packages"].values() if "resolved" in row
    }
    assert hosts <= {"https://registry.npmjs.org"}
