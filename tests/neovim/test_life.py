"""Which files are known to the server, what a command needs, and what happens when somebody leaves."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.fakes import FakeOllama, call, say
from tests.neovim.conftest import BUG, Start
from tests.neovim.driver import PLUGIN, Editor, alive, neovim, project

LONG = "".join(f"line {number}\n" for number in range(1, 41))


def big_edit() -> object:
    return call("write_file", path="a.py", content="".join(f"new {number}\n" for number in range(12)))


def run(command: str) -> object:
    return call("run_command", command=command)


def server_pid(editor: Editor) -> int:
    [pid] = editor.server_pids()
    return pid


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


# --- Attaching


def test_it_works_with_vim_lsp_enable_alone(tmp_path: Path, folder: Path) -> None:
    program = tmp_path / "bin" / "llamagent-server"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m llamagent_server "$@"\n', "utf-8")
    program.chmod(0o755)
    before = f"vim.env.PATH = '{program.parent}:' .. vim.env.PATH vim.lsp.enable('llamagent')"
    with neovim(tmp_path / "home", before=before) as editor:
        editor.open(folder / "a.py")
        assert editor.lua("return vim.lsp.get_clients()[1].root_dir") == str(folder)
        assert editor.lua("return vim.lsp.get_clients()[1].server_info.name") == "llamagent"


@pytest.mark.parametrize("way", ["packadd", "the runtime path"])
def test_it_is_installed_as_the_readme_says(tmp_path: Path, way: str) -> None:
    pack = tmp_path / "home" / "data" / "nvim" / "site" / "pack" / "llamagent" / "opt"
    pack.mkdir(parents=True)
    (pack / "llamagent").symlink_to(PLUGIN)
    plugin = PLUGIN if way == "the runtime path" else tmp_path / "nothing"
    before = "vim.cmd.packadd('llamagent')" if way == "packadd" else ""
    with neovim(tmp_path / "home", before=before, plugin=plugin) as editor:
        assert editor.nvim.funcs.exists(":Llamagent") == 2
        assert editor.lua("return vim.lsp.config.llamagent.name") == "llamagent"


def test_the_users_own_folder_does_not_make_the_home_a_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".llamagent").mkdir(parents=True)
    (home / "notes").mkdir()
    roots = "return {attach.working_root() or 'none', attach.root_of(vim.fn.bufadd(...)) or 'none'}"
    with neovim(home) as editor:
        for folder, root in [(home / "notes", str(home / "notes")), (home, "none"), (Path("/"), "none")]:
            editor.command(f"cd {folder}")
            asked = editor.lua(f"local attach = require('llamagent.attach') {roots}", str(home / "notes" / "a.py"))
            assert asked == [root, root]


def test_a_missing_program_is_said_once_with_how_to_install_it(start: Start, folder: Path) -> None:
    editor = start(cmd=["llamagent-server-that-is-not-there"])
    editor.command(f"edit {folder / 'a.py'}")
    editor.command("Llamagent ask hello")
    editor.command(f"edit {folder / 'b.py'}")
    assert editor.messages().count("was not found") == 1
    assert "`pipx install .` in a clone" in editor.messages()


def test_files_without_a_type_and_new_files_are_attached(start: Start, folder: Path) -> None:
    (folder / "noext").write_text("x\n", "utf-8")
    editor = start(folder / "noext", folder / "not-there-yet.py")
    editor.command("enew")
    assert editor.lua("return vim.lsp.get_clients({ bufnr = 0 })") == []


def test_a_project_has_one_client_and_two_projects_have_two(start: Start, tmp_path: Path, model: FakeOllama) -> None:
    one = project(tmp_path / "one", {"a.py": BUG, "b.py": BUG})
    two = project(tmp_path / "two", {"a.py": BUG})
    editor = start(one / "a.py", one / "b.py", two / "a.py")
    assert editor.lua("return #vim.lsp.get_clients()") == 2
    model.add(say("Answer in two."), say("Answer in one."))
    editor.ask("who?")
    editor.until_ended()
    editor.until_panel("Answer in two.")
    editor.command(f"buffer {one / 'a.py'}")
    editor.ask("who?")
    editor.until_ended(turns=2)
    shown = editor.lua(
        "for _, w in ipairs(vim.api.nvim_list_wins()) do local b = vim.api.nvim_win_get_buf(w)"
        " if vim.bo[b].filetype == 'llamagent' then return vim.api.nvim_buf_get_lines(b, 0, -1, true) end end"
    )
    assert "Answer in one." in shown and "Answer in two." not in shown


@pytest.mark.parametrize("command", ["file {new}", "saveas {new}"])
def test_a_new_name_is_followed(editor: Editor, model: FakeOllama, folder: Path, command: str) -> None:
    new = folder / "renamed.py"
    editor.command("silent " + command.format(new=new))
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# typed after the renaming' })")
    model.add(call("read_file", path="renamed.py"), say("I see."))
    editor.ask("read it")
    editor.until_ended()
    editor.until_panel("# typed after the renaming")


def test_unsaved_text_is_what_the_model_reads(editor: Editor, model: FakeOllama) -> None:
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# not on disk' })")
    model.add(call("read_file", path="a.py"), say("I see."))
    editor.ask("read it")
    editor.until_ended()
    editor.until_panel("# not on disk")


# --- Commands


@pytest.mark.parametrize(
    ("answer", "runs"), [("Run", True), ("Always in this session", True), ("Refuse", False), (False, False)]
)
def test_a_command_runs_only_after_a_yes(
    editor: Editor, model: FakeOllama, folder: Path, answer: object, runs: bool
) -> None:
    model.add(run("touch made"), say("Done."))
    editor.answer(answer)
    editor.ask("make it")
    editor.until_ended()
    assert (folder / "made").exists() == runs
    prompt = editor.asked()[0]["prompt"]
    assert "$ touch made" in prompt
    assert editor.asked()[0]["items"][0] == "Run", "the yes comes first"


def test_a_refusal_carries_the_reason_to_the_model(editor: Editor, model: FakeOllama) -> None:
    model.add(run("touch made"), say("Done."))
    editor.answer("Refuse, and say why", "not in this folder")
    editor.ask("make it")
    editor.until_ended()
    assert "not in this folder" in str(model.requests[-1].json["messages"])


def test_a_refusal_can_end_the_turn(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(run("touch made"), say("never asked for"))
    editor.answer("Refuse, and end the turn")
    editor.ask("make it")
    editor.until_ended()
    editor.until_panel("stopped by you")
    assert len(model.requests) == 1 and not (folder / "made").exists()


def test_a_question_waits_while_the_person_types(start: Start, model: FakeOllama, folder: Path) -> None:
    editor = start(folder / "a.py", review={"idle_ms": 100})
    model.add(run("touch made"), say("Done."))
    editor.answer("Run")
    editor.type("ggO# 1")
    editor.until("vim.api.nvim_get_mode().mode == 'i'")
    editor.lua("require('llamagent').ask('make it')")
    editor.until("vim.tbl_contains(_G.events, 'LlamagentQuestion')")
    editor.type("1")
    assert editor.asked() == [] and not (folder / "made").exists()
    editor.type("<Esc>")
    editor.until_ended()
    assert (folder / "made").exists()
    assert editor.lines(folder / "a.py")[0] == "# 11"


def test_a_picker_that_went_without_a_word_can_be_called_again(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(run("touch made"), say("Done."))
    editor.ask("make it")
    editor.until("#_G.asked == 1")
    editor.answer("Run")
    editor.command("Llamagent review")
    editor.until_ended()
    assert (folder / "made").exists()


def test_accepted_edits_are_on_disk_before_a_command_runs_and_changed_files_are_read_again(
    start: Start, model: FakeOllama, folder: Path
) -> None:
    (folder / "other.txt").write_text("old\n", "utf-8")
    editor = start(folder / "other.txt", folder / "a.py")
    model.add(
        call("edit_file", path="a.py", old_text="a - b", new_text="a + b"),
        run("grep -c 'a + b' a.py > other.txt"),
        say("Done."),
    )
    editor.answer("Run")
    editor.ask("fix it and count")
    editor.until_waiting()
    assert "a - b" in (folder / "a.py").read_text("utf-8")
    editor.command("Llamagent accept")
    editor.until_ended()
    assert "a + b" in (folder / "a.py").read_text("utf-8")
    editor.until("vim.fn.getbufline(vim.fn.bufnr('other.txt'), 1)[1] == '1'")
    assert not editor.nvim.current.buffer.options["modified"]


def test_the_persons_own_unsaved_text_is_not_replaced_by_what_a_command_wrote(
    start: Start, model: FakeOllama, folder: Path
) -> None:
    (folder / "other.txt").write_text("old\n", "utf-8")
    editor = start(folder / "other.txt")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'mine' })")
    model.add(run("echo theirs > other.txt"), say("Done."))
    editor.answer("Run")
    editor.ask("write it")
    editor.until_ended()
    assert editor.lines() == ["mine"]
    assert (folder / "other.txt").read_text("utf-8") == "theirs\n"


# --- Stopping


def test_a_turn_is_cancelled_while_it_streams(editor: Editor, model: FakeOllama) -> None:
    model.add(say("one two three four", hold_after=2))
    editor.ask("count")
    editor.until_panel("one two")
    editor.command("Llamagent cancel")
    editor.until_ended()
    editor.until_panel("cancelled")
    model.wait_until(lambda: model.disconnects == 1)
    assert editor.lua("return require('llamagent').status()") == "llamagent: ready"


def test_a_turn_is_cancelled_while_a_review_is_open(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(big_edit(), say("Done."))
    editor.ask("change it")
    editor.until_review()
    editor.command("Llamagent cancel")
    editor.until_ended()
    assert not editor.lua("return require('llamagent.diffview').is_open()")
    assert len(editor.nvim.tabpages) == 1
    assert editor.lines(folder / "a.py") == BUG.splitlines()


def test_a_dead_server_is_said_its_review_is_closed_and_restart_brings_it_back(
    editor: Editor, model: FakeOllama, folder: Path
) -> None:
    model.add(big_edit())
    editor.ask("change it")
    editor.until_review()
    os.kill(server_pid(editor), signal.SIGKILL)
    editor.until("vim.tbl_contains(_G.events, 'LlamagentExit')")
    assert "the server stopped" in editor.messages() and ":Llamagent restart" in editor.messages()
    assert not editor.lua("return require('llamagent.diffview').is_open()")
    assert editor.lines(folder / "a.py") == BUG.splitlines()
    assert "server stopped" in editor.screen()
    assert ":Llamagent resume" in editor.messages()
    model.add(say("I am back."))
    editor.command("Llamagent restart")
    editor.until("#vim.lsp.get_clients({ bufnr = vim.fn.bufnr('a.py') }) == 1")
    editor.command("Llamagent resume 1")
    editor.until("vim.tbl_contains(_G.events, 'LlamagentSession')")
    editor.until_panel("change it")
    editor.ask("are you there?")
    editor.until_panel("I am back.")
    assert "change it" in [message["content"] for message in model.requests[-1].json["messages"]]


def test_a_server_killed_while_it_streams_leaves_nothing_waiting(editor: Editor, model: FakeOllama) -> None:
    model.add(say("one two three four", hold_after=2))
    editor.ask("count")
    editor.until_panel("one two")
    os.kill(server_pid(editor), signal.SIGKILL)
    editor.until("vim.tbl_contains(_G.events, 'LlamagentExit')")
    assert not editor.lua("return require('llamagent.conversation').of(1).running")
    assert editor.lua("return require('llamagent').status()") in ("", "llamagent: server stopped")


@pytest.mark.parametrize("what", ["streaming", "review"])
@pytest.mark.parametrize("how", ["quit", "kill"])
def test_leaving_neovim_leaves_no_server(editor: Editor, model: FakeOllama, what: str, how: str) -> None:
    model.add(say("one two three four", hold_after=2) if what == "streaming" else big_edit())  # type: ignore[arg-type]
    editor.ask("do something")
    if what == "streaming":
        editor.until_panel("one two")
    else:
        editor.until_review()
    pid, own = server_pid(editor), editor.nvim.funcs.getpid()
    if how == "kill":
        os.kill(own, signal.SIGKILL)
    else:
        editor.type(":qa<CR>")
    assert gone(own), "nothing stands in the way of :qa"
    assert gone(pid)


# --- The panel


def test_thinking_and_tool_output_are_folded_and_told_apart(editor: Editor, model: FakeOllama, folder: Path) -> None:
    (folder / "long.txt").write_text(LONG, "utf-8")
    thoughts = "".join(f"thought {number}\n" for number in range(10))
    model.add(call("read_file", path="long.txt"), say("I have read it.", thinking=thoughts))
    editor.ask("read it")
    editor.until_ended()
    screen = editor.screen()
    assert "line 20" not in screen and "lines" in screen
    assert "▸ read_file · ok" in screen and "● I have read it." in screen and "◆ allow" in screen


def test_the_panel_follows_until_the_person_scrolls_up(editor: Editor, model: FakeOllama) -> None:
    text = "".join(f"word{number}\n\n" for number in range(120))
    model.add(say(text), say(text))
    editor.ask("talk")
    editor.until_ended()
    to_panel = (
        "for _, w in ipairs(vim.api.nvim_list_wins()) do"
        " if vim.bo[vim.api.nvim_win_get_buf(w)].filetype == 'llamagent' then vim.api.nvim_set_current_win(w) end end"
    )
    editor.lua(to_panel)
    assert editor.lua("return vim.fn.line('.') == vim.fn.line('$')")
    editor.type("10Gzt")
    editor.until("vim.fn.line('w0') == 10")
    editor.command("Llamagent ask more")
    editor.until_ended(turns=2)
    assert editor.lua("return { vim.fn.line('.'), vim.fn.line('w0') }") == [10, 10]
    assert "G follows" in editor.screen()
    editor.type("G")
    editor.until("vim.fn.line('.') == vim.fn.line('$')")


def test_the_panel_is_drawn_again_from_the_trace(editor: Editor, model: FakeOllama) -> None:
    model.add(call("read_file", path="a.py"), say("I have **read** it."))
    editor.ask("read it")
    editor.until_ended()
    before = editor.panel()
    editor.command("Llamagent panel")
    assert "llamagent" not in editor.lua("return vim.bo.filetype")
    editor.lua("vim.cmd('bwipeout! ' .. vim.fn.bufnr('llamagent://panel'))")
    editor.command("Llamagent panel")
    editor.until_panel("I have **read** it.")
    assert editor.panel() == before
    editor.command("Llamagent panel")
    editor.until("#vim.api.nvim_list_wins() == 1")


def test_turns_are_walked_through_and_q_hides_the_panel(editor: Editor, model: FakeOllama) -> None:
    model.add(say("One."), say("Two."))
    editor.ask("first")
    editor.until_ended()
    editor.ask("second")
    editor.until_ended(turns=2)
    editor.type("<C-w>l")
    editor.until("vim.bo.filetype == 'llamagent'")
    editor.type("G[[")
    editor.until("vim.api.nvim_get_current_line() == 'second'")
    editor.type("[[")
    editor.until("vim.api.nvim_get_current_line() == 'first'")
    editor.type("]]")
    editor.until("vim.api.nvim_get_current_line() == 'second'")
    editor.type("q")
    editor.until("#vim.api.nvim_list_wins() == 1")
