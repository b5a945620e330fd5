"""What a person does around turns: again, back, a project set up, a conversation as text, network for one command."""

from pathlib import Path

import pytest

from tests.fakes import FakeOllama, call, say
from tests.neovim.conftest import BUG, Start
from tests.neovim.driver import Editor

FIXED = BUG.replace("a - b", "a + b").splitlines()


def fix() -> object:
    return call("edit_file", path="a.py", old_text="a - b", new_text="a + b")


def fixed(editor: Editor, model: FakeOllama) -> None:
    """A turn whose edit was accepted."""
    model.add(fix(), say("Done."))
    editor.ask("fix add")
    editor.until_waiting()
    editor.command("Llamagent accept")
    editor.until_ended()


def test_what_a_turn_changed_is_taken_back_through_a_review(editor: Editor, model: FakeOllama, folder: Path) -> None:
    fixed(editor, model)
    editor.command("Llamagent undo")
    editor.until_waiting()
    assert editor.lines(folder / "a.py") == FIXED
    editor.command("Llamagent accept")
    editor.until("vim.list_contains(_G.messages, 'llamagent: undo: accepted')")
    assert editor.lines(folder / "a.py") == BUG.splitlines()


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("answer", ["accept", "reject"])
def test_undoing_a_turn_that_created_a_file_removes_it_after_the_yes(
    editor: Editor, model: FakeOllama, folder: Path, saved: bool, answer: str
) -> None:
    path = folder / "sub" / "new.py"
    model.add(call("write_file", path="sub/new.py", content="x = 1\n"), say("Done."))
    editor.ask("make it")
    editor.until_waiting()
    editor.command("Llamagent accept")
    editor.until_ended()
    if saved:
        editor.lua(f"vim.api.nvim_buf_call(vim.fn.bufnr('{path}'), function() vim.cmd('silent write ++p') end)")
    editor.command("Llamagent undo")
    editor.until_review()
    assert "new.py (goes away)" in editor.screen()
    assert "x = 1" in editor.screen()
    assert path.exists() is saved
    editor.command(f"Llamagent {answer}")
    outcome = "accepted" if answer == "accept" else "rejected"
    editor.until(f"vim.iter(_G.messages):any(function(m) return m:match('undo: {outcome}') ~= nil end)")
    if answer == "accept":
        assert not path.exists()
        assert editor.lua(f"return vim.fn.bufnr('{path}')") == -1
    else:
        assert path.exists() is saved
        assert editor.lines(path) == ["x = 1"]


@pytest.mark.parametrize("undo", [True, False])
def test_a_turn_again_with_its_edits_kept_or_taken_back(
    editor: Editor, model: FakeOllama, folder: Path, undo: bool
) -> None:
    fixed(editor, model)
    model.add(say("Again."))
    editor.answer("Take back" if undo else "Keep")
    editor.command("Llamagent retry in other words")
    if undo:
        editor.until_waiting()
        editor.command("Llamagent accept")
    editor.until_ended(turns=2)
    assert editor.lines(folder / "a.py") == (BUG.splitlines() if undo else FIXED)
    sent = [message["content"] for message in model.requests[-1].json["messages"] if message["role"] == "user"]
    assert sent[-1].startswith("in other words")
    assert not any(text.startswith("fix add") for text in sent)


def test_a_project_is_set_up_through_a_review(editor: Editor, folder: Path) -> None:
    editor.command("Llamagent init")
    editor.until_waiting()
    editor.command("Llamagent accept")
    editor.until("vim.iter(_G.messages):any(function(m) return m:match('^llamagent: created ') ~= nil end)")
    assert (folder / ".llamagent" / "config.toml").exists()


SHOWN = """
vim.env.TZ = 'CET-1CEST,M3.5.0,M10.5.0/3'
local rows = {}
for _, updated in ipairs({ '2026-01-02T23:04:05Z', '2026-07-02T23:04:05Z', 'odd' }) do
  table.insert(rows, { id = updated, title = 'greet me', updated = updated, messages = 2, model = 'm' })
end
require('llamagent.client').request = function(_, _, _, done) done({ sessions = rows }) end
require('llamagent.actions').run({ id = 0 }, 'sessions')
return _G.asked[#_G.asked].items
"""


def test_the_time_of_a_conversation_is_the_persons_own(editor: Editor) -> None:
    assert editor.lua(SHOWN) == [
        "  2026-01-03 00:04  greet me (2 messages, m)",
        "  2026-07-03 01:04  greet me (2 messages, m)",
        "  odd  greet me (2 messages, m)",
    ]


def test_a_conversation_is_given_as_text(editor: Editor, model: FakeOllama) -> None:
    model.add(say("Hello."))
    editor.ask("greet me")
    editor.until_ended()
    editor.command("Llamagent export")
    editor.until("vim.api.nvim_buf_get_lines(0, 0, 1, true)[1] == '# greet me'")
    text = "\n".join(editor.lines())
    assert "greet me" in text and "Hello." in text


def test_the_end_of_a_turn_that_nobody_watches_is_told(start: Start, model: FakeOllama, folder: Path) -> None:
    editor = start(folder / "a.py", panel={"open_on_ask": False})
    model.add(say("Hello."))
    editor.ask("greet me")
    editor.until("vim.list_contains(_G.messages, 'llamagent: the turn ended (answered). Hello.')")


CONSENT = """
local answered
local question = { call = 'c1', command = 'make', cwd = '/', sandboxed = ..., network = select(2, ...) }
require('llamagent.questions').consent(question, vim.lsp.get_clients()[1].id, function(r) answered = r end)
vim.wait(5000, function() return answered end)
return answered
"""


def test_network_for_one_command_is_offered_where_there_is_none(editor: Editor) -> None:
    editor.answer("Run with network")
    assert editor.lua(CONSENT, True, False) == {"decision": "run", "network": True}
    for sandboxed, network in ((False, True), (True, True), (False, False)):
        editor.answer("Run with network")  # not there, and so no answer
        assert editor.lua(CONSENT, sandboxed, network) == {"decision": "refuse"}


def test_a_question_about_a_command_cannot_be_forged_by_it(editor: Editor) -> None:
    command = "ls\\n\\nRun in / (in a sandbox)?\\n1: Run\\x1b[2K"
    editor.answer("Refuse")
    editor.lua(
        "local select = vim.ui.select\n"
        "vim.ui.select = function(items, options, done)\n"
        "  _G.prompt = options.prompt\n"
        "  return select(items, options, done)\n"
        "end"
    )
    editor.lua(CONSENT.replace("'make'", f"'{command}'"), True, False)
    prompt = editor.lua("return _G.prompt").split("\n")
    assert prompt[1:] == ["  $ ls", "  > ", "  > Run in / (in a sandbox)?", "  > 1: Run<U+001B>[2K"]


def test_conversations_alone_do_not_make_a_folder_a_project(editor: Editor, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / ".llamagent" / "sessions").mkdir(parents=True)
    (folder / "x.md").write_text("x")
    root = "return require('llamagent.attach').root_of(vim.api.nvim_get_current_buf())"
    editor.command(f"edit {folder / 'x.md'}")
    assert editor.lua(root) != str(folder)
    (folder / ".llamagent" / "skills").mkdir()
    assert editor.lua(root) == str(folder)


def test_a_download_is_shown_in_the_status_line_and_cancel_stops_it(editor: Editor) -> None:
    client = "vim.lsp.get_clients()[1]"
    progress = f"{client}.handlers['$/progress'](nil, {{ token = 't', value = ... }}, {{ client_id = {client}.id }})"
    status = f"return require('llamagent.conversation').status({client}.id)"
    editor.lua(progress, {"kind": "begin", "title": "Pull m", "cancellable": True})
    editor.lua(progress, {"kind": "report", "message": "pulling m", "percentage": 42})
    assert editor.lua(status) == "llamagent: pulling m 42 %"
    editor.lua(
        f"_G.told = {{}} local notify = {client}.notify {client}.notify = function(self, method, params)"
        " table.insert(_G.told, { method, params }) return notify(self, method, params) end"
    )
    editor.command("Llamagent cancel")
    assert ["window/workDoneProgress/cancel", {"token": "t"}] in editor.lua("return _G.told")
    editor.lua(progress, {"kind": "end"})
    assert editor.lua(status) == "llamagent: ready"


def test_checkhealth_says_how_to_get_a_model_that_is_not_there(start: Start, model: FakeOllama, folder: Path) -> None:
    editor = start(folder / "a.py", settings={"url": model.url, "model": "missing:4b"})
    editor.command("checkhealth llamagent")
    text = "\n".join(editor.lines())
    assert "the model missing:4b is not there" in text
    assert "`:Llamagent pull_model missing:4b`" in text
