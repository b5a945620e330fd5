"""Asking in Neovim: the command, the picker, the prompt, and what goes along with the words."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeOllama, call, say
from tests.neovim.conftest import Start
from tests.neovim.driver import Editor


def asked(model: FakeOllama, request: int = -1) -> str:
    """What the person said last, as the model got it."""
    messages: list[dict[str, Any]] = model.requests[request].json["messages"]
    return str([message["content"] for message in messages if message["role"] == "user"][-1])


def test_an_answer_streams_into_the_panel(editor: Editor, model: FakeOllama) -> None:
    model.add(say("It **adds** two numbers."))
    editor.ask("what does it do?")
    editor.until_ended()
    editor.until_panel("It **adds** two numbers.")
    assert "what does it do?" in editor.panel()
    assert "answered · 1 step" in editor.panel()
    assert editor.nvim.current.buffer.name.endswith("a.py"), "the focus stays where it was"


def test_a_range_goes_along_with_its_diagnostics(editor: Editor, model: FakeOllama) -> None:
    model.add(say("I see."))
    editor.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, {"
        " { lnum = 1, col = 4, message = 'wrong sign', severity = 1, source = 'lint' },"
        " { lnum = 4, col = 0, message = 'elsewhere', severity = 2 } })"
    )
    editor.command("1,2Llamagent ask what is wrong?")
    editor.until_ended()
    text = asked(model)
    assert "a.py lines 1-2" in text
    assert "return a - b" in text and "print" not in text
    assert "2: error: wrong sign (lint)" in text and "elsewhere" not in text


@pytest.mark.parametrize(
    ("keys", "expected", "absent"), [("ggVj", "def add(a, b):\n    return a - b", "print"), ("ggwve", "add", "return")]
)
def test_a_visual_selection_goes_along(
    editor: Editor, model: FakeOllama, keys: str, expected: str, absent: str
) -> None:
    model.add(say("I see."))
    editor.type(keys + ":Llamagent ask what is this?<CR>")
    editor.until_ended()
    assert expected in asked(model)
    assert absent not in asked(model)


def test_an_unnamed_buffer_is_sent_inline(start: Start, model: FakeOllama, folder: Path) -> None:
    editor = start()
    editor.command(f"cd {folder}")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'only in here' })")
    model.add(say("I see."), say("Again."))
    editor.ask("what is this?")
    editor.until_ended()
    assert "only in here" in asked(model)
    editor.command("Llamagent! ask and now?")
    editor.until_ended(turns=2)
    assert "only in here" in asked(model)
    assert editor.lua("return vim.lsp.get_clients({ bufnr = 0 })") == []


def test_files_named_with_at_go_along(editor: Editor, model: FakeOllama, folder: Path) -> None:
    (folder / "notes.md").write_text("buy milk\n", "utf-8")
    model.add(say("I see."))
    editor.ask("what do @notes.md and @a.py:1-1 say?")
    editor.until_ended()
    text = asked(model)
    assert "buy milk" in text and "def add" in text and "print" not in text


def test_a_bang_means_that_nothing_is_changed(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(call("edit_file", path="a.py", old_text="a - b", new_text="a + b"), say("I may not."))
    editor.command("Llamagent! ask fix it")
    editor.until_ended()
    assert "refuse" in editor.panel()
    assert "a - b" in (folder / "a.py").read_text("utf-8") and "    return a - b" in editor.lines()


def test_without_a_command_all_are_offered(editor: Editor) -> None:
    editor.answer("Conversations")
    editor.command("Llamagent")
    editor.until("#_G.asked >= 1")
    titles = editor.asked()[0]["items"]
    assert titles[0].startswith("Ask ") and any(title.startswith("Undo a turn") for title in titles)
    assert not any(title.startswith("Complete ") for title in titles)


def test_an_unknown_command_says_how_to_ask(editor: Editor) -> None:
    editor.command("Llamagent explain this")
    assert "`:Llamagent ask explain this`" in editor.messages()


def test_the_command_line_completes_commands_models_sessions_and_paths(
    editor: Editor, model: FakeOllama, folder: Path
) -> None:
    (folder / "notes.md").write_text("x", "utf-8")
    model.add(say("Hello."))
    editor.ask("hello")
    editor.until_ended()

    def complete(line: str) -> list[str]:
        return list(editor.nvim.funcs.getcompletion(line, "cmdline"))

    assert complete("Llamagent sess") == ["sessions"]
    assert "set_model" in complete("Llamagent ") and "complete" not in complete("Llamagent ")
    assert complete("Llamagent model ") == ["qwen3.5:4b"]
    assert len(complete("Llamagent resume ")) == 1
    assert complete("Llamagent ask look at @no") == ["@notes.md"]


def test_models_are_listed_and_chosen(editor: Editor) -> None:
    editor.answer("* qwen3.5:4b")
    editor.command("Llamagent models")
    editor.until("#_G.messages >= 1")
    assert "the model is now qwen3.5:4b" in editor.messages()


def test_reports_are_shown_in_a_float(editor: Editor) -> None:
    for command, expected in (("context", "tokens"), ("config", "num_ctx"), ("help", ":Llamagent ask")):
        editor.command(f"Llamagent {command}")
        editor.until("vim.api.nvim_win_get_config(0).relative == 'editor'", command)
        assert expected in "\n".join(editor.lines())
        editor.type("q")
        editor.until("vim.api.nvim_win_get_config(0).relative == ''")


def test_a_session_is_resumed_and_drawn_again(editor: Editor, model: FakeOllama) -> None:
    model.add(say("Answer number one."), say("Answer number two."))
    editor.ask("first question")
    editor.until_ended()
    editor.command("Llamagent new")
    editor.until("vim.tbl_contains(_G.events, 'LlamagentSession')")
    editor.until(
        "#vim.trim(table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('llamagent://panel'), 0, -1, true))) == 0"
    )
    editor.ask("second question")
    editor.until_panel("Answer number two.")
    assert "first question" not in editor.panel()
    editor.command("Llamagent resume 2")
    editor.until_panel("Answer number one.")
    assert "first question" in editor.panel() and "second question" not in editor.panel()


def test_a_model_server_that_is_not_there_is_said_with_what_to_do(start: Start, folder: Path) -> None:
    editor = start(folder / "a.py", settings={"url": "http://127.0.0.1:9"})
    editor.ask("hello")
    editor.until_ended()
    assert "127.0.0.1:9" in editor.panel()
    assert editor.panel().count("127.0.0.1:9") == 1, "said once"


# --- The prompt


def test_the_prompt_sends_multi_line_text_and_keeps_a_history(editor: Editor, model: FakeOllama) -> None:
    model.add(say("One."), say("Two."))
    editor.command("Llamagent ask")
    editor.until("vim.bo.filetype == 'llamagent-prompt' and vim.api.nvim_get_mode().mode == 'i'")
    editor.type("first line<C-j>second line<CR>")
    editor.until_ended()
    assert asked(model) == "first line\nsecond line"
    assert editor.lua("return vim.api.nvim_get_mode().mode") == "n"
    editor.type("ia draft<Up>")
    editor.until("vim.api.nvim_buf_line_count(0) == 2")
    assert editor.lines() == ["first line", "second line"]
    editor.type("<Down>")
    editor.until("vim.api.nvim_get_current_line() == 'a draft'")
    editor.type("<CR>")
    editor.until_ended(turns=2)
    assert asked(model) == "a draft"
    assert (
        not editor.nvim.current.buffer.options["modified"] or editor.nvim.current.buffer.options["buftype"] == "nofile"
    )


def test_a_selection_waits_in_the_prompt_for_the_words(editor: Editor, model: FakeOllama) -> None:
    model.add(say("I see."), say("Nothing."))
    editor.type("ggVj:Llamagent ask<CR>")
    editor.until("vim.bo.filetype == 'llamagent-prompt' and vim.api.nvim_get_mode().mode == 'i'")
    assert "with a.py:1-2" in editor.screen()
    editor.type("what is this?<CR>")
    editor.until_ended()
    assert "a.py lines 1-2" in asked(model)
    editor.type("iand without?<CR>")
    editor.until_ended(turns=2)
    assert asked(model) == "and without?"


def test_slash_commands_run_from_the_prompt(editor: Editor, model: FakeOllama) -> None:
    editor.command("Llamagent ask")
    editor.until("vim.bo.filetype == 'llamagent-prompt' and vim.api.nvim_get_mode().mode == 'i'")
    editor.type("/context<CR>")
    editor.until("vim.api.nvim_win_get_config(0).relative == 'editor'")
    editor.type("q")
    editor.until("vim.bo.filetype == 'llamagent-prompt'")
    editor.type("i/nonsense<CR>")
    editor.until("#_G.messages >= 1")
    assert "there is no command /nonsense" in editor.messages()
    assert editor.lines() == ["/nonsense"], "the words are kept"
    assert model.requests == []


def test_files_and_commands_complete_in_the_prompt(editor: Editor, folder: Path) -> None:
    (folder / "notes.md").write_text("x", "utf-8")
    editor.command("Llamagent ask")
    editor.until("vim.bo.filetype == 'llamagent-prompt' and vim.api.nvim_get_mode().mode == 'i'")
    editor.type("look at @no")
    editor.until("vim.fn.pumvisible() == 1")
    editor.type("<C-n><CR>")
    editor.until("vim.api.nvim_get_current_line() == 'look at @notes.md'", "Enter took the match and sent nothing")
    editor.type("<C-u>/comp")
    editor.until("vim.fn.pumvisible() == 1")
    words = editor.lua("return vim.tbl_map(function(i) return i.word end, vim.fn.complete_info({ 'items' }).items)")
    assert words == ["/compact"]


def test_a_second_ask_waits_and_a_third_is_taken_back(editor: Editor, model: FakeOllama) -> None:
    model.add(say("a b c d", hold_after=2), say("Second."))
    editor.ask("first")
    editor.until_panel("a b")
    editor.ask("second")
    editor.ask("third")
    editor.until_queued(2)
    assert "2 queued" in editor.screen()
    editor.answer("third")
    editor.command("Llamagent unqueue")
    editor.until_queued(1)
    model.release()
    editor.until_ended(turns=2)
    assert [asked(model, 0), asked(model, 1)] == ["first", "second"]


def test_a_running_turn_is_steered(editor: Editor, model: FakeOllama) -> None:
    model.add(say("I go on for ever.", hold_after=2), say("I stop."))
    editor.ask("read it")
    editor.until_panel("I go")
    editor.command("Llamagent steer stop now")
    editor.until_panel("stop now")  # at once, and the model still talks
    model.release()
    editor.until_ended()
    assert [asked(model, index) for index in range(len(model.requests))] == ["read it", "stop now"]


def test_a_conversation_that_is_left_ends_and_is_not_shown_in_the_next(editor: Editor, model: FakeOllama) -> None:
    model.add(say("I go on for ever.", hold_after=2), say("Anew."))
    editor.ask("read it")
    editor.until_panel("I go")
    editor.ask("What waits behind it.")
    editor.until_queued(1)
    editor.command("Llamagent new")
    editor.until("not require('llamagent.conversation').of(vim.lsp.get_clients()[1].id).running")
    editor.ask("something else")
    editor.until_panel("Anew.")
    editor.until_ended()
    shown = editor.panel()
    assert "something else" in shown
    assert not any(words in shown for words in ("I go", "What waits", "cancelled"))
    assert [asked(model, index) for index in range(len(model.requests))] == ["read it", "something else"]


def test_what_is_said_to_a_running_turn_stands_above_what_the_model_says_just_then(
    editor: Editor, model: FakeOllama
) -> None:
    model.add(say("I go on for ever.", hold_after=2), say("I stop."))
    editor.ask("read it")
    editor.until_panel("I go")
    before = editor.panel().splitlines()
    row = before.index("I go")
    editor.command("Llamagent steer stop now")
    editor.until_panel("stop now")
    assert editor.panel().splitlines() == [*before[:row], "stop now", "I go"]
    assert editor.signs()[row:] == ["LlamagentUser", "LlamagentModel"]
    model.release()
    editor.until_ended()
    assert editor.panel().splitlines()[row : row + 3] == ["stop now", "I go on for ever.", "I stop."]
    assert editor.signs()[row : row + 3] == ["LlamagentUser", "LlamagentModel", "LlamagentModel"]


def test_the_statusline_says_what_happens(editor: Editor, model: FakeOllama) -> None:
    model.add(call("edit_file", path="a.py", old_text="a - b", new_text="a + b"), say("Done."))
    editor.ask("fix it")
    editor.until_waiting()
    assert editor.lua("return require('llamagent').status()") == "llamagent: 1 to review"
    editor.command("Llamagent accept")
    editor.until_ended()
    assert editor.lua("return require('llamagent').status()") == "llamagent: ready"
    assert {"LlamagentStarted", "LlamagentReview", "LlamagentReviewClosed", "LlamagentStatus"} <= set(
        editor.lua("return _G.events")
    )


def test_checkhealth_tells_what_is_there(editor: Editor) -> None:
    editor.command("checkhealth llamagent")
    text = "\n".join(editor.lines())
    assert "position encoding utf-8, buffers: 1" in text and "the model server answers; models: 1" in text
    assert "ERROR" not in text
