"""The plugin's tables against the daemon's, and its documents against its tables."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from llamagent_server.core.events import camel
from llamagent_server.lsp import wire
from tests.neovim.driver import PLUGIN, ROOT, Editor, neovim


@pytest.fixture(scope="module")
def nvim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    with neovim(tmp_path_factory.mktemp("home")) as editor:
        yield editor


def test_the_command_table_mirrors_the_daemons(nvim: Editor) -> None:
    rows: list[dict[str, Any]] = nvim.lua("return require('llamagent.commands').SERVER")
    mine = [(row["name"], row["title"], row["help"], row["arguments"]) for row in rows]
    theirs = [(c.name, c.title, c.help, [camel(f.name) for f in fields(c.arguments)]) for c in wire.COMMANDS]
    assert mine == theirs


def test_every_message_of_the_daemon_has_a_handler(nvim: Editor) -> None:
    handled = set(nvim.lua("return vim.tbl_keys(require('llamagent.handlers'))"))
    expected = {method.name for method in wire.METHODS if method.direction is wire.Direction.TO_CLIENT}
    assert expected | {"workspace/applyEdit", "window/showMessageRequest", "$/progress"} == handled


def test_all_flags_of_the_daemon_are_declared(nvim: Editor) -> None:
    declared = nvim.lua("return require('llamagent.client').config().capabilities.experimental.llamagent")
    assert declared == {camel(flag.name): True for flag in fields(wire.Flags)}


def test_what_a_command_takes_is_one_of_its_arguments(nvim: Editor) -> None:
    rows: list[dict[str, Any]] = nvim.lua("return require('llamagent.commands').SERVER")
    assert [row["name"] for row in rows if row.get("takes") and row["takes"] not in row["arguments"]] == []


def test_the_help_names_every_command_option_key_group_and_event(nvim: Editor) -> None:
    text = (PLUGIN / "doc" / "llamagent.txt").read_text("utf-8")
    commands = nvim.lua("return vim.tbl_map(function(c) return c.name end, require('llamagent.commands').visible())")
    options = nvim.lua(
        "local out = {} for k, v in pairs(require('llamagent.config').options) do table.insert(out, k)"
        " if type(v) == 'table' and k ~= 'keys' and k ~= 'settings' and not vim.islist(v) then"
        " for name in pairs(v) do table.insert(out, k .. '.' .. name) end end end return out"
    )
    groups = nvim.lua("return vim.tbl_keys(require('llamagent.highlights').LINKS)")
    events = {
        f"Llamagent{name}"
        for path in PLUGIN.rglob("*.lua")
        for name in re.findall(r"say\.event\('(\w+)'", path.read_text("utf-8"))
    }
    assert events
    assert sorted(name for name in {*commands, *groups, *events} if name not in text) == []
    assert sorted(name for name in options if name.split(".")[-1] not in text) == []


def test_the_help_has_tags_that_neovim_finds(nvim: Editor) -> None:
    nvim.command(f"helptags {PLUGIN / 'doc'}")
    for topic in ("llamagent", ":Llamagent", "llamagent-options", "llamagent-review", "llamagent-panel"):
        nvim.command(f"help {topic}")
        assert nvim.nvim.current.buffer.name.endswith("llamagent.txt")


def test_every_public_function_has_types_and_every_module_says_its_duty() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("neovim_check", PLUGIN / "check.py")
    assert spec is not None and spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    assert list(check.type_problems()) == []


def test_the_check_of_types_finds_what_is_missing() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("neovim_check", PLUGIN / "check.py")
    assert spec is not None and spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    text = (
        "--- A module.\nlocal M = {}\n\n--- Does it.\n---@param a integer\nfunction M.go(a, b)\n  return a + b\nend\n"
    )
    [function] = check.public_functions(text)
    assert list(check.annotation_problems(function)) == ["M.go: no ---@param b", "M.go: no ---@return"]


def test_the_readmes_lines_for_installing_are_there() -> None:
    text = (PLUGIN / "README.md").read_text("utf-8")
    for way in ("lazy.nvim", "vim.pack.add", "packadd", "vim.lsp.enable('llamagent')", ":checkhealth llamagent"):
        assert way in text, way
    assert ROOT.joinpath("clients/neovim/lsp/llamagent.lua").exists()
