"""What the real daemon cannot be made to do: stale and broken edits, several files at once, old servers, floods."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import BUG, Start
from tests.neovim.driver import Editor

STANDIN = Path(__file__).parent / "standin.py"
Play = Callable[..., Editor]


def whole(text: str, new: str) -> list[dict[str, Any]]:
    """The edits that replace a text."""
    end = {"line": text.count("\n") + 1, "character": 0}
    return [{"range": {"start": {"line": 0, "character": 0}, "end": end}, "newText": new}]


def line_edit(line: int, new: str) -> dict[str, Any]:
    return {
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}},
        "newText": new,
    }


def apply(*changes: dict[str, Any], review: str = "r1") -> dict[str, Any]:
    """A step that proposes these changes."""
    annotations = {f"llamagent:{review}": {"label": "edit", "needsConfirmation": True}}
    edit = {"documentChanges": list(changes), "changeAnnotations": annotations}
    return {"request": ["workspace/applyEdit", {"label": "edit", "edit": edit}]}


def change(path: Path, edits: list[dict[str, Any]], version: int | None = None) -> dict[str, Any]:
    return {"textDocument": {"uri": path.as_uri(), "version": version}, "edits": edits}


@pytest.fixture
def play(start: Start, folder: Path, tmp_path: Path) -> Play:
    """Open `a.py` with a stand-in server that plays these steps for each ask."""

    def begin(*asks: list[dict[str, Any]], **script: Any) -> Editor:
        (tmp_path / "script.json").write_text(json.dumps({"asks": asks} | script), "utf-8")
        return start(
            folder / "a.py",
            cmd=[sys.executable, str(STANDIN), str(tmp_path / "script.json"), str(tmp_path / "log.jsonl")],
            settings={},
        )

    return begin


def answers(tmp_path: Path) -> list[Any]:
    """What the editor answered to the stand-in's requests, in order."""
    messages = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    return [message.get("result", message.get("error")) for message in messages if "method" not in message]


def sent(tmp_path: Path, method: str) -> list[Any]:
    messages = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    return [message.get("params") for message in messages if message.get("method") == method]


def test_an_edit_for_a_version_that_nobody_knows_is_refused(play: Play, folder: Path, tmp_path: Path) -> None:
    editor = play([apply(change(folder / "a.py", whole(BUG, "gone\n"), version=77))])
    editor.ask("go")
    editor.until_ended()
    [answer] = answers(tmp_path)
    assert (answer["applied"], answer["failed"]) == (False, True)
    assert answer["failureReason"] == "stale: a.py is at version 0, the edit is for 77"
    assert editor.lines() == BUG.splitlines()


def test_an_edit_for_the_very_first_version_is_checked_as_well(play: Play, folder: Path, tmp_path: Path) -> None:
    """Neovim itself never checks version 0."""
    editor = play([apply(change(folder / "a.py", [line_edit(1, "agent\n")], version=0))])
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'typed before the turn' })")
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path)[0]["applied"] is False
    assert "stale" in answers(tmp_path)[0]["failureReason"]
    assert editor.lines()[0] == "typed before the turn"


def test_when_one_file_is_stale_none_is_touched(play: Play, folder: Path, tmp_path: Path) -> None:
    (folder / "b.py").write_text(BUG, "utf-8")
    editor = play(
        [
            apply(
                change(folder / "b.py", [line_edit(1, "agent\n")]),
                change(folder / "a.py", [line_edit(1, "agent\n")], version=9),
            )
        ]
    )
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path)[0]["applied"] is False
    assert editor.lines(folder / "a.py") == BUG.splitlines()


def test_creating_a_file_that_is_there_never_truncates_it(play: Play, folder: Path, tmp_path: Path) -> None:
    """Neovim itself would make it empty, and say that it applied the edit."""
    uri = (folder / "a.py").as_uri()
    editor = play([apply({"kind": "create", "uri": uri}, change(folder / "a.py", whole("", "new\n")))])
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path)[0] == {"applied": False, "failed": True, "failureReason": "stale: a.py exists by now"}
    assert (folder / "a.py").read_text("utf-8") == BUG


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([{"kind": "rename", "oldUri": "file:///x"}], 'this plugin cannot review a file operation of kind "rename"'),
        ([{"kind": "delete", "uri": "file:///x"}], "stale: /x is not there any more"),
        ([{"kind": "delete", "uri": "file:///usr"}], "/usr is no ordinary file, so it is not removed"),
        ([], "the edit is empty"),
    ],
)
def test_what_cannot_be_reviewed_is_refused(
    play: Play, tmp_path: Path, changes: list[dict[str, Any]], reason: str
) -> None:
    editor = play([apply(*changes)])
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path) == [{"applied": False, "failed": True, "failureReason": reason}]


def test_an_accepted_edit_of_a_file_that_is_locked_by_now_is_said_to_have_failed(
    play: Play, folder: Path, tmp_path: Path
) -> None:
    editor = play([apply(change(folder / "a.py", whole(BUG, "new\n" * 9)))])
    editor.ask("go")
    editor.until_review()
    bufnr = f"vim.fn.bufnr('{folder / 'a.py'}')"
    editor.lua(f"vim.bo[{bufnr}].modifiable = false")
    editor.type("ga")
    editor.until_ended()
    [answer] = answers(tmp_path)
    assert answer["applied"] is False
    assert "failureReason" not in answer
    assert list(answer["failed"]) == [(folder / "a.py").as_uri()]
    assert "a.py" in answer["failed"][(folder / "a.py").as_uri()]
    assert editor.lines(folder / "a.py") == BUG.splitlines()


def remove(path: Path) -> dict[str, Any]:
    return apply({"kind": "delete", "uri": path.as_uri()})


def test_a_file_goes_after_the_yes_and_its_windows_stay(play: Play, folder: Path, tmp_path: Path) -> None:
    (folder / "b.py").write_text(BUG, "utf-8")
    editor = play([remove(folder / "b.py")])
    editor.command(f"split {folder / 'b.py'}")
    editor.command("wincmd p")
    windows = editor.lua("return #vim.api.nvim_tabpage_list_wins(0)")
    editor.ask("go")
    editor.until_review()
    assert "b.py (goes away)" in editor.screen()
    assert (folder / "b.py").exists()
    editor.type("ga")
    editor.until_ended()
    assert answers(tmp_path) == [{"applied": True}]
    assert not (folder / "b.py").exists()
    assert editor.lua(f"return vim.fn.bufnr('{folder / 'b.py'}')") == -1
    assert editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") == windows + 2  # the panel and its prompt
    assert editor.lines(folder / "a.py") == BUG.splitlines()


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_file_with_unsaved_changes_does_not_go(play: Play, folder: Path, tmp_path: Path, when: str) -> None:
    editor = play([remove(folder / "a.py")])
    typing = f"vim.api.nvim_buf_set_lines(vim.fn.bufnr('{folder / 'a.py'}'), 0, 0, true, {{ 'mine' }})"
    if when == "before":
        editor.lua(typing)
    editor.ask("go")
    if when == "during":
        editor.until_review()
        editor.lua(typing)
        editor.type("ga")
    editor.until_ended()
    [answer] = answers(tmp_path)
    assert answer["applied"] is False
    assert "has unsaved changes, so it is not removed" in str(answer)
    assert answer["failed"]
    assert (folder / "a.py").read_text("utf-8") == BUG
    assert editor.lines(folder / "a.py") == ["mine", *BUG.splitlines()]


def test_a_file_that_changed_on_disk_during_the_review_does_not_go(play: Play, folder: Path, tmp_path: Path) -> None:
    (folder / "b.py").write_text(BUG, "utf-8")
    editor = play([remove(folder / "b.py")])
    editor.ask("go")
    editor.until_review()
    (folder / "b.py").write_text(BUG + "precious = 1\n", "utf-8")
    editor.type("ga")
    editor.until_ended()
    [answer] = answers(tmp_path)
    assert answer["applied"] is False
    assert "was changed during the review, so it is not removed" in str(answer["failed"])
    assert (folder / "b.py").read_text("utf-8") == BUG + "precious = 1\n"


def test_lines_that_the_person_puts_back_into_a_proposal_to_remove_are_kept(
    play: Play, folder: Path, tmp_path: Path
) -> None:
    editor = play([remove(folder / "a.py")])
    editor.ask("go")
    editor.until_review()
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'print(1)' })")
    editor.until("require('llamagent.review').next().files[1].proposed[1] == 'print(1)'")
    editor.type("ga")
    editor.until_ended()
    assert answers(tmp_path) == [{"applied": True}]
    assert editor.lines(folder / "a.py") == ["print(1)"]
    assert (folder / "a.py").read_text("utf-8") == BUG


def test_several_files_are_reviewed_one_after_the_other(play: Play, folder: Path, tmp_path: Path) -> None:
    for name in ("b.py", "c.py"):
        (folder / name).write_text(BUG, "utf-8")
    new = "".join(f"new {number}\n" for number in range(9))
    created = {"kind": "create", "uri": (folder / "d.py").as_uri()}
    edits = [change(folder / name, whole(BUG, new)) for name in ("b.py", "c.py")]
    editor = play([apply(*edits, created, change(folder / "d.py", whole("", new)))])
    editor.answer("not this one")
    editor.ask("go")
    editor.until_review()
    assert "proposal 1/3" in editor.screen()
    editor.type("ga")
    editor.until("require('llamagent.review').next().files[1].decision == 'accepted'")
    editor.type("]f[fgr")
    editor.until("require('llamagent.review').next().files[2].decision == 'rejected'")
    editor.type("ga")
    editor.until_ended()
    assert answers(tmp_path) == [{"applied": True, "failureReason": "c.py: not this one"}]
    assert editor.lines(folder / "b.py") == new.splitlines()
    assert editor.lines(folder / "d.py") == new.splitlines()
    assert (folder / "c.py").read_text("utf-8") == BUG
    assert editor.lua("return vim.fn.bufloaded(...)", str(folder / "c.py")) == 0


def test_all_files_of_a_proposal_are_accepted_at_once(play: Play, folder: Path, tmp_path: Path) -> None:
    new = "".join(f"new {number}\n" for number in range(9))
    (folder / "b.py").write_text(BUG, "utf-8")
    editor = play([apply(*(change(folder / name, whole(BUG, new)) for name in ("a.py", "b.py")))])
    editor.answer("All files")
    editor.ask("go")
    editor.until_review()
    editor.type("gA")
    editor.until_ended()
    assert answers(tmp_path) == [{"applied": True}]
    assert editor.lines(folder / "a.py") == editor.lines(folder / "b.py") == new.splitlines()


def test_a_proposal_taken_back_closes_its_review(play: Play, folder: Path, tmp_path: Path) -> None:
    new = "".join(f"new {number}\n" for number in range(9))
    editor = play([apply(change(folder / "a.py", whole(BUG, new), version=0))])
    editor.ask("go")
    editor.until_review()
    editor.lua("require('llamagent.handlers')['llamagent/reviewClosed'](nil, { reviewId = 'r1' }, {})")
    editor.until_ended()
    assert not editor.lua("return require('llamagent.diffview').is_open()")
    assert answers(tmp_path)[0]["applied"] is False


def test_the_servers_own_questions_are_asked_and_no_answer_is_null(play: Play, tmp_path: Path) -> None:
    question = {"type": 3, "message": "Trust it?", "actions": [{"title": "Trust"}, {"title": "Not now"}]}
    step = {"request": ["window/showMessageRequest", question]}
    editor = play([step, step])
    editor.answer("Trust", False)
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path) == [{"title": "Trust"}, None]


def test_free_text_is_asked_for(play: Play, tmp_path: Path) -> None:
    step = {"request": ["llamagent/input", {"title": "Explain what?", "text": "this"}]}
    editor = play([step, step])
    editor.answer("that", False)
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path) == [{"text": "that"}, {}]


SPEAK = (
    "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 1, { { lnum = 0, col = 0, message = '%s', severity = 1 } })"
)


def test_diagnostics_of_the_new_text_are_waited_for_and_the_editor_stays_free(
    play: Play, folder: Path, tmp_path: Path
) -> None:
    step = {"request": ["llamagent/diagnostics", {"uris": [(folder / "a.py").as_uri()]}]}
    editor = play([step])
    editor.lua(SPEAK % "the old one")
    count = "_G.ticks = _G.ticks + 1"
    editor.lua(f"_G.ticks = 0; vim.uv.new_timer():start(0, 10, vim.schedule_wrap(function() {count} end))")
    editor.lua(f"vim.defer_fn(function() {SPEAK % 'the new one'} end, 300)")
    editor.ask("go")
    editor.until_ended()
    [answer] = answers(tmp_path)
    [found] = answer["diagnostics"][(folder / "a.py").as_uri()]
    assert found["message"] == "the new one"
    assert editor.lua("return _G.ticks") > 10


def test_diagnostics_that_stay_as_they_are_are_given_after_a_moment(play: Play, folder: Path, tmp_path: Path) -> None:
    step = {"request": ["llamagent/diagnostics", {"uris": [(folder / "a.py").as_uri()]}]}
    editor = play([step, step])
    editor.lua(SPEAK % "the only one")
    editor.ask("go")
    editor.until_ended()
    messages = [answer["diagnostics"][(folder / "a.py").as_uri()][0]["message"] for answer in answers(tmp_path)]
    assert messages == ["the only one"] * 2


def test_diagnostics_are_given_in_the_servers_encoding(play: Play, folder: Path, tmp_path: Path) -> None:
    step = {"request": ["llamagent/diagnostics", {"uris": [(folder / "a.py").as_uri(), "file:///none"]}]}
    editor = play([step])
    editor.lua(
        "vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'é = 1' })"
        " vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0,"
        " { { lnum = 0, col = 3, end_col = 4, message = 'no', severity = 1, source = 'lint' } })"
    )
    editor.ask("go")
    editor.until_ended()
    [answer] = answers(tmp_path)
    [found] = answer["diagnostics"][(folder / "a.py").as_uri()]
    assert found["message"] == "no"
    assert found["range"] == {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 4}}
    assert answer["diagnostics"]["file:///none"] == []


def test_saving_says_what_is_really_on_disk(play: Play, folder: Path, tmp_path: Path) -> None:
    uris = [(folder / "a.py").as_uri(), (folder / "never-opened.py").as_uri()]
    editor = play([{"request": ["llamagent/save", {"uris": uris}]}], [{"request": ["llamagent/save", {"uris": uris}]}])
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })")
    editor.ask("go")
    editor.until_ended()
    assert answers(tmp_path) == [{"saved": [(folder / "a.py").as_uri()]}]
    assert (folder / "a.py").read_text("utf-8").startswith("mine\n")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine again' })")
    (folder / "a.py").write_text("somebody else's\n", "utf-8")
    editor.ask("go")
    editor.until_ended(turns=2)
    assert answers(tmp_path)[1] == {"saved": []}
    assert (folder / "a.py").read_text("utf-8") == "somebody else's\n"
    assert editor.lines()[0] == "mine again"


def test_a_server_of_another_protocol_is_said(play: Play) -> None:
    editor = play(capabilities={"experimental": {"llamagent": {"protocol": 2}}})
    assert "the server speaks protocol 2, this plugin 1" in editor.messages()


def test_the_prompt_is_completed_by_a_server_that_can(play: Play, tmp_path: Path) -> None:
    provider = {
        "completionProvider": {"triggerCharacters": ["@", "/"]},
        "positionEncoding": "utf-8",
        "textDocumentSync": {"openClose": True, "change": 2},
    }
    editor = play(capabilities=provider)
    editor.command("Llamagent ask")
    editor.until("vim.bo.filetype == 'llamagent-prompt' and vim.api.nvim_get_mode().mode == 'i'")
    editor.type("look at @")
    deadline = time.monotonic() + editor.TIMEOUT
    while not sent(tmp_path, "textDocument/completion"):
        assert time.monotonic() < deadline, editor.situation()
        time.sleep(0.005)
    opened = [document["textDocument"]["uri"] for document in sent(tmp_path, "textDocument/didOpen")]
    assert "llamagent://prompt" in opened
    [asked, *_] = sent(tmp_path, "textDocument/completion")
    assert asked["textDocument"]["uri"] == "llamagent://prompt"
    assert asked["position"] == {"line": 0, "character": 9}


def test_a_flood_of_events_is_drawn_whole_and_typing_goes_on(play: Play) -> None:
    editor = play([{"flood": [3000, 10000, "word"]}])
    editor.ask("go")
    editor.until_panel("word10 ")
    editor.type("Otyped meanwhile<Esc>")
    editor.until_ended()
    editor.until_panel("word2999 ")
    assert editor.lines()[0] == "typed meanwhile"
    words = editor.panel().split()
    assert [word for word in words if word.startswith("word")] == [f"word{number}" for number in range(3000)]


def test_a_reply_that_differs_from_what_streamed_replaces_it(play: Play) -> None:
    replied = {
        "kind": "model.replied", "actor": "model", "requestId": "r", "model": "m", "content": "the truth",
        "toolCalls": [], "usage": {}, "latency": {"totalSeconds": 1.0}, "finishReason": "stop",
    }  # fmt: skip
    delta = {"kind": "model.delta", "actor": "model", "channel": "content", "text": "a fable\nof two lines"}
    editor = play([{"event": delta}, {"event": replied}])
    editor.ask("go")
    editor.until_ended()
    assert "the truth" in editor.panel() and "fable" not in editor.panel() and "two lines" not in editor.panel()


def test_old_lines_leave_a_long_panel(start: Start, folder: Path, tmp_path: Path) -> None:
    text = "line\n" * 400
    delta = {"kind": "model.delta", "actor": "model", "channel": "content", "text": text}
    (tmp_path / "script.json").write_text(json.dumps({"asks": [[{"event": delta}] * 3]}), "utf-8")
    command = [sys.executable, str(STANDIN), str(tmp_path / "script.json"), str(tmp_path / "log.jsonl")]
    editor = start(folder / "a.py", cmd=command, settings={}, panel={"max_lines": 500})
    editor.ask("go")
    editor.until_ended()
    assert len(editor.panel().splitlines()) <= 550
    assert "answered" in editor.panel()
