"""eglot 1.9 without any plugin: ask, the review by a question, its limits."""

from pathlib import Path

from tests.emacs.conftest import WRONG
from tests.emacs.driver import Emacs
from tests.fakes import FakeOllama, call, say

FIX = call("edit_file", path="a.py", old_text="a - b", new_text="a + b")
RIGHT = WRONG.replace("a - b", "a + b")


def test_an_ask_returns_at_once_and_its_answer_is_a_message(editor: Emacs, model: FakeOllama) -> None:
    before = len(model.requests)
    model.add(say("It adds two numbers.", hold_after=1))
    editor.ask("What does a.py do?")
    model.wait_until(lambda: len(model.requests) == before + 1)
    assert editor.eval("(+ 1 1)") == 2  # the turn waits for its model, and Emacs for nothing
    model.release()
    editor.until_said("It adds two numbers.")


def test_an_edit_is_accepted_in_the_minibuffer(editor: Emacs, model: FakeOllama, folder: Path) -> None:
    model.add(FIX, say("Done."))
    editor.ask("Fix add")
    question = editor.until_asked("proposes an edit")
    assert "a.py (+1 −1)" in question
    assert editor.text(folder / "a.py") == WRONG
    editor.type("Accept\r")
    editor.until_text(folder / "a.py", RIGHT)
    editor.until_said("Done.")
    assert editor.modified(folder / "a.py")
    assert (folder / "a.py").read_text() == WRONG  # saving is the person's
    assert "The user accepted it" in model.requests[-1].json["messages"][-1]["content"]


def test_an_edit_is_rejected_or_the_question_is_left(editor: Emacs, model: FakeOllama, folder: Path) -> None:
    for turn, keys in enumerate(("Reject\r", "\r", "\x1d"), 1):
        model.add(FIX, say(f"Then not, {turn}."))
        editor.ask("Fix add")
        editor.until_asked("proposes an edit")
        editor.type(keys)
        editor.until_said(f"Then not, {turn}.")
        assert editor.text(folder / "a.py") == WRONG
        assert not editor.modified(folder / "a.py")


def test_show_diff_shows_the_whole_diff_in_a_window_until_the_answer(
    editor: Emacs, model: FakeOllama, folder: Path
) -> None:
    model.add(FIX, say("Done."))
    editor.ask("Fix add")
    editor.until_asked("proposes an edit")
    editor.type("Show diff\r")
    window = '(get-buffer-window "*llamagent*")'
    editor.until(f"(and {window} t)", "the diff is shown")
    shown = editor.eval('(with-current-buffer "*llamagent*" (buffer-string))')
    assert "-    return a - b\n+    return a + b" in shown
    editor.until(f"(and (pos-visible-in-window-p (point-min) {window}) t)", "its beginning is seen")
    editor.until(f'(and (pos-visible-in-window-p (with-current-buffer "*llamagent*" (point-max)) {window}) t)')
    editor.until_asked("Accept, Reject")
    editor.type("Accept\r")
    editor.until_text(folder / "a.py", RIGHT)
    editor.until(f"(null {window})", "the window is gone")


def test_a_new_file_is_an_edit_that_eglot_asks_about_once_more(editor: Emacs, model: FakeOllama, folder: Path) -> None:
    model.add(call("write_file", path="b.py", content="x = 1\n"), say("Made."))
    editor.ask("Make b.py")
    editor.until_asked("proposes an edit: b.py")
    editor.type("Accept\r")
    editor.until_asked("Proceed?")
    editor.type("y")
    editor.until_text(folder / "b.py", "x = 1\n")
    editor.until_said("Made.")
    assert not (folder / "b.py").exists()


def test_no_to_the_second_question_is_no_edit(editor: Emacs, model: FakeOllama, folder: Path) -> None:
    for turn, keys in enumerate(("n", "\x1d"), 1):
        model.add(call("write_file", path=f"c{turn}.py", content="x = 1\n"), say(f"Not made, {turn}."))
        editor.ask("Make it")
        editor.until_asked("proposes an edit")
        editor.type("Accept\r")
        editor.until_asked("Proceed?")
        editor.type(keys)
        editor.until_said(f"Not made, {turn}.")
        assert not editor.text(folder / f"c{turn}.py")
        assert not (folder / f"c{turn}.py").exists()


def test_a_command_runs_after_a_yes_in_the_minibuffer(editor: Emacs, model: FakeOllama) -> None:
    model.add(call("run_command", command="echo out"), say("Ran."))
    editor.ask("Run it")
    editor.until_asked("echo out")
    editor.type("Run\r")
    editor.until_said("Ran.")
    assert "out" in model.requests[-1].json["messages"][-1]["content"]


def test_the_region_goes_along(editor: Emacs, model: FakeOllama) -> None:
    model.add(say("A difference."))
    editor.type("\x1b<\x0e\x00\x05")  # to the second line, a mark, to its end
    editor.until("(with-current-buffer (window-buffer) (use-region-p))")
    editor.ask("What is this?")
    editor.until_said("A difference.")
    assert "    return a - b" in model.requests[-1].json["messages"][-1]["content"]


def test_a_turn_is_stopped(editor: Emacs, model: FakeOllama) -> None:
    before, left = len(model.requests), model.disconnects
    model.add(say("on and " * 5000, delay=0.02))
    editor.ask("Count")
    model.wait_until(lambda: len(model.requests) == before + 1)
    editor.type("\x1bxllamagent-stop\r")
    model.wait_until(lambda: model.disconnects == left + 1)
    editor.until_said("llamagent: (:cancelled t)")


def test_what_a_person_types_meanwhile_is_kept(editor: Emacs, model: FakeOllama, folder: Path) -> None:
    """The edit is computed anew on the text as it is after the yes."""
    model.add(FIX, say("Done."))
    editor.ask("Fix add")
    editor.until_asked("proposes an edit")
    editor.type("\x18o\x1b<# mine\r")
    editor.until('(with-current-buffer "a.py" (and (buffer-modified-p) (null eglot--recent-changes)))', "it is sent")
    editor.type("\x18oAccept\r")
    editor.until_text(folder / "a.py", f"# mine\n{RIGHT}")


def test_the_result_of_a_command_and_its_failure_are_messages(editor: Emacs) -> None:
    editor.eval('(with-current-buffer "a.py" (llamagent--do "allow" :prefix "make test") t)')
    editor.until_said('llamagent: (:allowed ["make test"])')
    editor.eval('(with-current-buffer "a.py" (llamagent--do "set_temperature" :value 9) t)')
    editor.until_said("from 0 to 2")


def test_a_comment_asks_by_a_code_action(editor: Emacs, model: FakeOllama, folder: Path) -> None:
    editor.begin(folder, f"# llamagent: fix add\n{WRONG}")
    model.add(FIX, say("Done."))
    editor.type("\x1bxeglot-code-actions\r")
    editor.until_asked("Pick an action")
    editor.type("Ask\t\r")
    editor.until_asked("proposes an edit")
    editor.type("Accept\r")
    editor.until_text(folder / "a.py", f"# llamagent: fix add\n{RIGHT}")
    editor.until_said("Done.")
    assert "fix add" in model.requests[-2].json["messages"][-1]["content"]


def test_a_region_is_explained_by_a_code_action(editor: Emacs, model: FakeOllama) -> None:
    model.add(say("It takes b away from a."))
    editor.type("\x1b<\x00\x0e\x0e")
    editor.until("(with-current-buffer (window-buffer) (use-region-p))")
    editor.type("\x1bxeglot-code-actions\r")
    editor.until_asked("Pick an action")
    editor.type("Explain\t\r")
    editor.until_said("It takes b away from a.")
    assert "return a - b" in model.requests[-1].json["messages"][-1]["content"]
