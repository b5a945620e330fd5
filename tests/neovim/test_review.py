"""The gate in Neovim: nothing reaches a file without a yes, and no key that the person typed is lost."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeOllama, call, calls, say
from tests.fakes.script import Reply
from tests.neovim.conftest import BUG, Start
from tests.neovim.driver import Editor

FIXED = BUG.replace("a - b", "a + b").splitlines()
LONG = "".join(f"line {number}\n" for number in range(1, 41))


def fix() -> Reply:
    return call("edit_file", path="a.py", old_text="return a - b", new_text="return a + b")


def rewrite(name: str, content: str) -> Reply:
    return call("write_file", path=name, content=content)


def changed(text: str, *numbers: int) -> str:
    """`text` with these lines changed by the agent."""
    lines = text.splitlines(keepends=True)
    for number in numbers:
        lines[number - 1] = f"agent {number}\n"
    return "".join(lines)


def told(model: FakeOllama, request: int = -1) -> str:
    """The last tool result that the model was sent."""
    messages: list[dict[str, Any]] = model.requests[request].json["messages"]
    return str([message["content"] for message in messages if message["role"] == "tool"][-1])


@pytest.fixture
def long_file(folder: Path) -> Path:
    path = folder / "long.txt"
    path.write_text(LONG, "utf-8")
    return path


def to_panel(editor: Editor) -> None:
    editor.lua(
        "for _, w in ipairs(vim.api.nvim_list_wins()) do"
        " if vim.bo[vim.api.nvim_win_get_buf(w)].filetype == 'llamagent' then vim.api.nvim_set_current_win(w) end end"
    )


def proposal(editor: Editor) -> list[str]:
    """The lines of the proposal on the screen; the cursor is in it."""
    assert editor.nvim.current.buffer.name.startswith("llamagent://review/")
    return editor.lines()


# --- Small edits, in the panel


def test_a_small_edit_is_accepted_in_the_panel(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(fix(), say("Done."))
    editor.ask("fix add")
    editor.until_panel("+    return a + b")
    editor.until_waiting()
    assert not editor.lua("return require('llamagent.diffview').is_open()")
    to_panel(editor)
    editor.type("ga")
    editor.until_ended()
    assert editor.lines(folder / "a.py") == FIXED
    assert (folder / "a.py").read_text("utf-8") == BUG, "nothing is saved unasked"
    assert "accepted" in told(model)
    editor.until_panel("accepted")


def test_a_small_edit_is_rejected_in_the_panel_with_a_reason(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(fix(), say("Sorry."))
    editor.answer("use sum() instead")
    editor.ask("fix add")
    editor.until_waiting()
    to_panel(editor)
    editor.type("gr")
    editor.until_ended()
    assert editor.lines(folder / "a.py") == BUG.splitlines()
    assert "use sum() instead" in told(model)


def test_leaving_the_question_for_the_reason_does_not_reject(editor: Editor, model: FakeOllama) -> None:
    model.add(fix(), say("Done."))
    editor.answer(False)
    editor.ask("fix add")
    editor.until_waiting()
    to_panel(editor)
    editor.type("gr")
    editor.until("#_G.asked == 1")
    assert editor.lua("return require('llamagent.review').next() ~= nil")
    editor.command("Llamagent accept")
    editor.until_ended()
    assert "accepted" in told(model)


def test_the_edits_of_one_reply_are_one_review_of_which_a_part_is_kept(
    editor: Editor, model: FakeOllama, folder: Path
) -> None:
    (folder / "b.py").write_text(BUG, "utf-8")
    edits = [("edit_file", {"path": name, "old_text": "a - b", "new_text": "a + b"}) for name in ("a.py", "b.py")]
    model.add(calls(*edits), say("Done."))
    editor.answer("not this one")
    editor.ask("fix both")
    editor.until_waiting()
    editor.command("Llamagent review")
    editor.until_review()
    assert "proposal 1/2" in editor.screen()
    editor.type("ga")
    editor.until("require('llamagent.review').next().files[1].decision == 'accepted'")
    editor.type("gr")
    editor.until_ended()
    assert editor.lines(folder / "a.py") == FIXED
    assert (folder / "b.py").read_text("utf-8") == BUG
    results = [message["content"] for message in model.requests[-1].json["messages"] if message["role"] == "tool"]
    assert results[0].startswith("Edited a.py (+1 -1). The user accepted it.")
    assert results[1].startswith('The user rejected this edit of b.py. Their words: "b.py: not this one".')


# --- The diff


@pytest.mark.parametrize("keys", ["ga", ":w<CR>", "ZZ", ":x<CR>", ":wq<CR>"])
def test_every_way_to_say_yes_takes_the_edit(start: Start, model: FakeOllama, long_file: Path, keys: str) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("Done."))
    editor.ask("change it")
    editor.until_review()
    editor.type(keys)
    editor.until_ended()
    assert editor.lines(long_file) == changed(LONG, 3, 5, 30, 33).splitlines()
    assert long_file.read_text("utf-8") == LONG
    assert "accepted" in told(model)
    assert len(editor.nvim.tabpages) == 1
    assert editor.nvim.current.buffer.name == str(long_file)
    editor.command("silent undo")
    assert editor.lines() == LONG.splitlines(), "one undo step"


@pytest.mark.parametrize("keys", [":q<CR>", ":q!<CR>", ":tabclose<CR>", "<C-w>h:q<CR>", "<C-w>c"])
def test_closing_the_diff_is_a_no(start: Start, model: FakeOllama, long_file: Path, keys: str) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type(keys)
    editor.until_ended()
    assert editor.lines(long_file) == LONG.splitlines()
    assert long_file.read_text("utf-8") == LONG
    assert "rejected" in told(model)


def test_one_hunk_is_taken_and_the_others_are_not(start: Start, model: FakeOllama, long_file: Path) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 4, 20, 36)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type("]cgy")  # the cursor is on the first hunk, ]c goes to the second
    editor.until("require('llamagent.review').next().files[1].taken")
    editor.type(":q<CR>")
    editor.until_ended()
    assert editor.lines(long_file) == changed(LONG, 20).splitlines()
    assert "agent 20" in told(model) and "agent 36" not in told(model)


def test_one_hunk_is_refused_and_the_rest_accepted_in_one_undo_step(
    start: Start, model: FakeOllama, long_file: Path
) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 4, 20, 36)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type("gy]cgn")
    editor.until(
        "vim.deep_equal(#require('llamagent.merge').hunks("
        "vim.fn.getbufline(vim.fn.bufnr('long.txt'), 1, '$'), vim.api.nvim_buf_get_lines(0, 0, -1, true)), 1)"
    )
    editor.type("ga")
    editor.until_ended()
    assert editor.lines(long_file) == changed(LONG, 3, 4, 36).splitlines()
    editor.command("silent undo")
    assert editor.lines() == LONG.splitlines()


def test_when_every_hunk_is_settled_the_review_is_over(start: Start, model: FakeOllama, long_file: Path) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 20, 22)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type("gn]cgn]cgn]cgn")
    editor.until_ended()
    assert editor.lines(long_file) == LONG.splitlines()
    assert "rejected" in told(model)


def test_vims_own_diff_keys_work(start: Start, model: FakeOllama, long_file: Path) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 4, 20, 36)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type("do")  # takes the file's text into the proposal: refuses the hunk
    editor.until("vim.api.nvim_buf_get_lines(0, 2, 3, true)[1] == 'line 3'")
    editor.type(":w<CR>")
    editor.until_ended()
    assert editor.lines(long_file) == changed(LONG, 20, 36).splitlines()


def test_what_the_person_changes_in_the_proposal_is_what_counts(
    start: Start, model: FakeOllama, long_file: Path
) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("Fine."))
    editor.ask("change it")
    editor.until_review()
    editor.type("ccmine<Esc>:w<CR>")
    editor.until_ended()
    expected = changed(LONG, 3, 5, 30, 33).replace("agent 3\n", "mine\n").splitlines()
    assert editor.lines(long_file) == expected
    assert "mine" in told(model)


# --- The person works meanwhile


def test_typing_is_never_interrupted_and_the_review_opens_afterwards(
    start: Start, model: FakeOllama, long_file: Path
) -> None:
    editor = start(long_file, review={"idle_ms": 100})
    new = "".join(f"agent {number}\n" for number in range(8))
    model.add(call("edit_file", path="long.txt", old_text="line 3\nline 4\n", new_text=new), say("Done."))
    editor.type("ggOtyping")
    editor.until("vim.api.nvim_get_mode().mode == 'i'")
    editor.lua("require('llamagent').ask('change it')")
    editor.until_waiting()
    editor.type(" on and on")
    assert not editor.lua("return require('llamagent.diffview').is_open()")
    assert editor.lua("return vim.api.nvim_get_mode().mode") == "i"
    editor.type("<Esc>")
    editor.until_review()
    assert editor.lines(long_file)[0] == "typing on and on"
    editor.type("ga")
    editor.until_ended()
    assert editor.lines(long_file) == ["typing on and on", *LONG.replace("line 3\nline 4\n", new).splitlines()]


def test_an_edit_elsewhere_while_the_review_is_open_is_kept(start: Start, model: FakeOllama, long_file: Path) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("Done."))
    editor.ask("change it")
    editor.until_review()
    editor.type("<C-w>pGonew at the end<Esc>ggOnew at the top<Esc>")
    editor.until("vim.fn.getbufline(vim.fn.bufnr('long.txt'), 1)[1] == 'new at the top'")
    editor.type("<C-w>p")
    editor.until("vim.startswith(vim.api.nvim_buf_get_name(0), 'llamagent://review')")
    editor.until("vim.api.nvim_buf_get_lines(0, 0, 1, true)[1] == 'new at the top'", "the proposal follows")
    editor.type("ga")
    editor.until_ended()
    expected = ["new at the top", *changed(LONG, 3, 5, 30, 33).splitlines(), "new at the end"]
    assert editor.lines(long_file) == expected


def test_the_same_lines_changed_by_both_are_shown_as_a_conflict(
    start: Start, model: FakeOllama, long_file: Path
) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("Done."))
    editor.ask("change it")
    editor.until_review()
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('long.txt'), 2, 3, true, { 'mine 3' })")
    editor.type("ga")
    editor.until("vim.fn.search('^<<<<<<< ', 'cnw') > 0", "the conflict is marked in the proposal")
    assert "mine 3" in proposal(editor) and "agent 3" in proposal(editor)
    assert editor.lines(long_file)[2] == "mine 3", "the file is untouched"
    editor.type("ga")
    editor.until("#_G.messages >= 2", "marks are not accepted")
    assert editor.lines(long_file) == LONG.replace("line 3\n", "mine 3\n").splitlines()
    editor.lua("vim.cmd([[silent %s/^\\(<<<<<<<\\|=======\\|>>>>>>>\\).*\\n//]]) vim.cmd('silent g/^mine 3$/d')")
    editor.type("ga")
    editor.until_ended()
    assert editor.lines(long_file) == changed(LONG, 3, 5, 30, 33).splitlines()


def test_typing_right_before_the_proposal_arrives_is_merged(start: Start, model: FakeOllama, long_file: Path) -> None:
    """The edit is for an older version than the buffer's: it is carried over, not refused and not laid over it."""
    editor = start(long_file, review={"idle_ms": 0})
    editor.lua(
        "local review = require('llamagent.review') local receive = review.receive"
        " review.receive = function(...) vim.api.nvim_buf_set_lines(vim.fn.bufnr('long.txt'), 9, 10, true, {'typed'})"
        " return receive(...) end"
    )
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("Done."))
    editor.ask("change it")
    editor.until_review()
    editor.type("ga")
    editor.until_ended()
    assert editor.lines(long_file) == changed(LONG, 3, 5, 30, 33).replace("line 10\n", "typed\n").splitlines()


def test_a_no_can_end_the_turn(start: Start, model: FakeOllama, long_file: Path) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("never asked for"))
    editor.ask("change it")
    editor.until_review()
    editor.type("gR")
    editor.until_ended()
    editor.until_panel("stopped by you")
    assert len(model.requests) == 1
    assert editor.lines(long_file) == LONG.splitlines()


# --- Files that are not open, or not there


def test_a_file_that_is_not_open_is_reviewed_and_gone_again_after_a_no(
    editor: Editor, model: FakeOllama, long_file: Path
) -> None:
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type(":q<CR>")
    editor.until_ended()
    editor.until("vim.fn.bufloaded(vim.fn.bufnr('long.txt')) == 0")
    assert long_file.read_text("utf-8") == LONG


def test_a_new_file_exists_only_after_the_yes(editor: Editor, model: FakeOllama, folder: Path) -> None:
    content = "".join(f"new {number}\n" for number in range(10))
    model.add(rewrite("src/new.py", content), say("Done."))
    editor.ask("make it")
    editor.until_review()
    assert not (folder / "src").exists()
    editor.type("ga")
    editor.until_ended()
    assert not (folder / "src").exists(), "accepted, but not saved"
    assert editor.lines(folder / "src" / "new.py") == content.splitlines()
    assert "accepted" in told(model) and "kept only" not in told(model)
    assert editor.lua("return vim.bo[vim.fn.bufnr('new.py')].filetype") == "python"
    editor.command(f"buffer {folder / 'src' / 'new.py'}")
    editor.command("silent write ++p")
    assert (folder / "src" / "new.py").read_bytes() == content.encode()


def test_a_new_file_that_was_refused_leaves_nothing(editor: Editor, model: FakeOllama, folder: Path) -> None:
    model.add(rewrite("new.py", "".join(f"new {number}\n" for number in range(10))), say("All right."))
    editor.ask("make it")
    editor.until_review()
    editor.type(":q<CR>")
    editor.until_ended()
    assert not (folder / "new.py").exists()
    assert editor.lua("return vim.fn.bufexists(...)", str(folder / "new.py")) == 0


def test_a_file_that_appears_during_the_review_is_not_overwritten(
    editor: Editor, model: FakeOllama, folder: Path
) -> None:
    model.add(rewrite("new.py", "".join(f"new {number}\n" for number in range(10))), say("All right."))
    editor.ask("make it")
    editor.until_review()
    (folder / "new.py").write_text("somebody else's\n", "utf-8")
    editor.type("ga")
    editor.until_ended()
    assert (folder / "new.py").read_text("utf-8") == "somebody else's\n"
    assert "exists by now" in told(model)


def test_what_the_person_should_know_of_a_match_stands_over_the_file(
    start: Start, model: FakeOllama, long_file: Path
) -> None:
    editor = start(long_file)
    lines = LONG.splitlines()[4:14]
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 5))
    model.add(
        call("edit_file", path="long.txt", old_text=numbered, new_text="\n".join(f"new {line}" for line in lines)),
        say("Done."),
    )
    editor.ask("change it")
    editor.until_review()
    note = editor.lua("return require('llamagent.review').next().files[1].note")
    assert "line number" in note
    assert f"long.txt  {note}" in editor.screen()
    editor.type("ga")
    editor.until_ended()


def test_a_buffer_that_may_not_be_changed_is_not(start: Start, model: FakeOllama, long_file: Path) -> None:
    editor = start(long_file)
    editor.command("setlocal nomodifiable")
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 30, 33)), say("All right."))
    editor.ask("change it")
    editor.until_review()
    editor.type("ga")
    editor.until_ended()
    assert editor.lines(long_file) == LONG.splitlines()
    assert "nomodifiable" in told(model)
    assert "The user did not reject it" in told(model)


# --- Bytes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\nTWO\r\nthree\r\n"),
        (b"\xef\xbb\xbfone\ntwo\nthree\n", b"\xef\xbb\xbfone\nTWO\nthree\n"),
        ("één\ntwo\ndrié\n".encode("latin-1"), "één\nTWO\ndrié\n".encode("latin-1")),
        (b"one\ntwo\nthree", b"one\nTWO\nthree"),
        (b"one\r\ntwo\nthree\n", b"one\r\nTWO\nthree\n"),
        (b"one\r\ntwo\r\nthree", b"one\r\nTWO\r\nthree"),
        ("one\ntwo\n\u2028three\x0b\n".encode(), "one\nTWO\n\u2028three\x0b\n".encode()),
    ],
    ids=["crlf", "bom", "latin-1", "no final newline", "mixed", "crlf, no final newline", "odd separators"],
)
def test_bytes_on_disk_are_kept(start: Start, model: FakeOllama, folder: Path, before: bytes, after: bytes) -> None:
    path = folder / "bytes.txt"
    path.write_bytes(before)
    editor = start(path, settings={"url": model.url, "save": "on_accept"})
    model.add(call("edit_file", path="bytes.txt", old_text="two", new_text="TWO"), say("Done."))
    editor.ask("change it")
    editor.until_waiting()
    editor.command("Llamagent accept")
    editor.until_ended()
    editor.until_disk(path, after)
    assert "kept only" not in told(model)


def test_a_rejected_edit_leaves_bytes_and_flags_alone(start: Start, model: FakeOllama, folder: Path) -> None:
    path = folder / "bytes.txt"
    path.write_bytes(b"one\r\ntwo")
    editor = start(path)
    model.add(call("edit_file", path="bytes.txt", old_text="two", new_text="TWO"), say("Done."))
    editor.ask("change it")
    editor.until_waiting()
    editor.command("Llamagent reject")
    editor.until_ended()
    assert path.read_bytes() == b"one\r\ntwo"
    assert not editor.nvim.current.buffer.options["modified"]


def test_an_empty_file_is_made_and_saved_empty(start: Start, model: FakeOllama, folder: Path) -> None:
    editor = start(folder / "a.py", settings={"url": model.url, "save": "on_accept"})
    model.add(rewrite("pkg/__init__.py", ""), say("Done."))
    editor.ask("make it")
    editor.until_waiting()
    editor.command("Llamagent accept")
    editor.until_ended()
    editor.until_disk(folder / "pkg" / "__init__.py", b"")
    assert "Created" in told(model)


def test_a_new_file_without_a_final_newline_stays_so(start: Start, model: FakeOllama, folder: Path) -> None:
    editor = start(folder / "a.py", settings={"url": model.url, "save": "on_accept"})
    model.add(rewrite("new.txt", "one\ntwo"), say("Done."))
    editor.ask("make it")
    editor.until_waiting()
    editor.command("Llamagent accept")
    editor.until_ended()
    editor.until_disk(folder / "new.txt", b"one\ntwo")
    assert "Created" in told(model)


# --- Standing orders


def test_the_rest_of_the_turns_edits_to_a_file_can_be_accepted_at_once(
    start: Start, model: FakeOllama, long_file: Path
) -> None:
    editor = start(long_file)
    once, twice = changed(LONG, 3, 5, 7, 9), changed(LONG, 3, 5, 7, 9, 30, 32, 34, 36)
    model.add(rewrite("long.txt", once), rewrite("long.txt", twice), fix(), say("Done."))
    editor.answer("Every edit of this turn to long.txt")
    editor.ask("change it")
    editor.until_review()
    editor.type("gA")
    editor.until("vim.endswith(vim.tbl_get(require('llamagent.review').next() or {}, 'files', 1, 'uri') or '', 'a.py')")
    assert editor.lines(long_file) == twice.splitlines()
    editor.command("Llamagent reject")
    editor.until_ended()


def test_everything_in_this_turn_can_be_accepted_and_the_order_ends_with_the_turn(
    start: Start, model: FakeOllama, long_file: Path, folder: Path
) -> None:
    editor = start(long_file)
    model.add(rewrite("long.txt", changed(LONG, 3, 5, 7, 9)), fix(), say("Done."))
    editor.answer("Every edit of this turn")
    editor.ask("change it")
    editor.until_review()
    editor.lua("_G.answers = {} vim.ui.select = function(items, _, cb) cb(items[#items]) end")
    editor.type("gA")
    editor.until_ended()
    assert editor.lines(folder / "a.py") == FIXED
    model.add(call("edit_file", path="a.py", old_text="a + b", new_text="b + a"), say("Done."))
    editor.ask("again")
    editor.until_waiting()
    editor.command("Llamagent reject")
    editor.until_ended(turns=2)
    assert editor.lines(folder / "a.py") == FIXED


BAR = (
    "local id = vim.lsp.get_clients()[1].id;"
    " return vim.api.nvim_eval_statusline(require('llamagent.winbar').text(id, ..., false), { maxwidth = 200 }).str"
)


def test_at_120_columns_nothing_that_matters_is_cut(editor: Editor, model: FakeOllama) -> None:
    editor.command("set columns=120 lines=40")
    model.add(say("Hello."), fix(), say("Done."))
    editor.ask("greet me")
    editor.until_ended()
    editor.ask("fix add")
    editor.until_waiting()
    editor.until_panel("(in this window; elsewhere :Llamagent accept)")
    assert re.search(r"waiting for you.* \d+%", editor.lua(BAR, 48))
    editor.lua("require('llamagent.conversation').of(vim.lsp.get_clients()[1].id).model = ('long'):rep(9)")
    assert re.search(r"longlongl…  waiting for you.* \d+%", editor.lua(BAR, 36))
    editor.command("Llamagent review")
    editor.until_review()
    screen = editor.screen()
    assert "proposal 1/1  hunk 1/1  ga accept  gr reject" in screen, screen
    editor.command("Llamagent accept")
    editor.until_ended(turns=2)
