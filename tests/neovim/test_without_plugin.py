"""The recipe for a Neovim without our plugin (docs/editors), as it is written there."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import FakeOllama, call, say
from tests.neovim.conftest import BUG
from tests.neovim.driver import ROOT, Editor, neovim

FIX = call("edit_file", path="a.py", old_text="a - b", new_text="a + b")


@pytest.fixture
def bare(tmp_path: Path, folder: Path, model: FakeOllama, monkeypatch: pytest.MonkeyPatch) -> Iterator[Editor]:
    """A Neovim with nothing but the recipe, which shows `a.py`."""
    page = (ROOT / "docs" / "editors" / "README.md").read_text("utf-8")
    [recipe] = re.findall(r"```lua\n(.*?)```", page, re.DOTALL)
    program = tmp_path / "bin" / "llamagent-server"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m llamagent_server "$@"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    home = tmp_path / "home"
    (home / ".llamagent").mkdir(parents=True)
    monkeypatch.setenv("LLAMAGENT_HOME", str(home / ".llamagent"))
    (home / ".llamagent" / "config.toml").write_text(f"url = {json.dumps(model.url)}\n", "utf-8")
    with neovim(home, before=recipe, plugin=tmp_path / "none") as editor:
        editor.open(folder / "a.py")
        yield editor


def test_an_edit_is_asked_about_by_the_editor_s_own_picker(bare: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(FIX, say("Done."))
    bare.answer("Accept")
    bare.command("Ask fix add")
    bare.until("vim.api.nvim_buf_get_lines(0, 1, 2, true)[1] == '    return a + b'")
    assert "a.py (+1 −1)" in bare.asked()[0]["prompt"]
    assert (folder / "a.py").read_text() == BUG  # saving is the person's
    model.wait_until(lambda: len(model.requests) == 2)
    assert "The user accepted it" in model.requests[-1].json["messages"][-1]["content"]


def test_a_comment_asks_by_a_code_action(bare: Editor, model: FakeOllama) -> None:
    model.add(FIX, say("Done."))
    bare.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# llamagent: fix add' })")
    bare.command("1")
    bare.answer("Reject")
    bare.lua("vim.lsp.buf.code_action({ apply = true })")
    model.wait_until(lambda: len(model.requests) == 2)
    assert "fix add" in model.requests[0].json["messages"][-1]["content"]
    assert bare.lines()[2] == "    return a - b"


def test_our_own_files_are_judged_and_a_command_can_be_asked(bare: Editor, folder: Path) -> None:
    """Neovim 0.11 pulls problems: they are there once, and go when the text is mended."""
    file = folder / ".llamagent" / "config.toml"
    file.parent.mkdir()
    file.write_text('modle = "a"\n', "utf-8")
    bare.open(file)
    bare.until("#vim.diagnostic.get(0) == 1")
    assert 'Did you mean "model"' in bare.lua("return vim.diagnostic.get(0)[1].message")
    bare.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'temperature = 9' })")
    bare.until("#vim.diagnostic.get(0) == 1 and vim.diagnostic.get(0)[1].message:find('from 0 to 2') ~= nil")
    bare.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'temperature = 1' })")
    bare.until("#vim.diagnostic.get(0) == 0")
    bare.command("Ask /temp")
    bare.until("vim.fn.execute('messages'):find('temperature: 0.2', 1, true) ~= nil")
