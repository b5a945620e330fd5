"""What a person is used to from the `llamagent` terminal agent works here, and what is asked before it is done."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llamagent_terminal import leftovers
from llamagent_terminal.apply import perform, plan
from tests.fakes import FakeOllama, call, say
from tests.terminal.scripts import Stage, consent, edit, ended
from tests.terminal.terminals import environment, piped


def commands(stage: Stage) -> list[tuple[str, dict[str, object]]]:
    sent = [m["params"] for m in stage.sent if m.get("method") == "workspace/executeCommand"]
    return [(params["command"].removeprefix("llamagent."), params["arguments"][0]) for params in sent]


def test_its_words_are_commands_here(stage: Stage) -> None:
    typed = "/temp 0.5\n/ctx 4096\n/model m\n/skill s\n/resume\n/resume 2\n/delete 2\n/allow 5\n/undo\n/quit\n"
    piped(stage.arguments(ended(), "chat"), stage.env, typed)
    assert commands(stage) == [
        ("set_temperature", {"value": 0.5}),
        ("set_num_ctx", {"value": 4096}),
        ("set_model", {"value": "m"}),
        ("load_skill", {"name": "s"}),
        ("resume", {}),
        ("resume", {"ref": 2}),
        ("delete_session", {"ref": 2}),
        ("allow", {"prefix": "5"}),
        ("undo_turn", {}),
    ]


def test_a_setting_s_word_alone_asks_for_its_value(stage: Stage) -> None:
    piped(stage.arguments(ended(), "chat"), stage.env, "/temp\n/ctx\n/model\n")
    assert [name for name, _ in commands(stage)] == ["config"] * 3


def test_deleting_is_asked_about_in_a_terminal(stage: Stage) -> None:
    terminal = stage.terminal(ended(), "chat")
    for answer in ("n", "y"):
        terminal.expect("› ")
        terminal.type("/delete 1\n")
        terminal.expect('Delete conversation 1 "Make it <ESC>[31mpolite, and then tell ever…"? [y/N] ')
        terminal.type(f"{answer}\n")
    terminal.expect("› ")
    terminal.type("/quit\n")
    assert terminal.ended() == 0
    assert [(name, given) for name, given in commands(stage) if name != "sessions"] == [("delete_session", {"ref": 1})]


def test_retry_takes_back_the_edits_where_the_person_wants_it(stage: Stage) -> None:
    (stage.folder / "a.py").write_text("old\n")
    terminal = stage.terminal([edit(stage.folder / "a.py", "new", end=3), *ended()], "chat")
    terminal.expect("› ")
    terminal.type("change it\n")
    terminal.expect("Apply to a.py?")
    terminal.type("y\n")
    terminal.expect("› ")
    terminal.type("/retry in other words\n")
    terminal.expect("Take back what the turn changed, first? [y/N] ")
    terminal.type("y\n")
    terminal.expect("› ")
    terminal.type("/retry\n")
    terminal.expect("› ")
    terminal.type("/quit\n")
    assert terminal.ended() == 0
    assert commands(stage)[1:] == [("retry", {"text": "in other words", "undo": True}), ("retry", {"undo": False})]


@pytest.mark.parametrize(("typed", "answer"), [("w", {"decision": "run", "network": True}), ("y", {"decision": "run"})])
def test_a_command_behind_walls_can_be_run_once_with_network(stage: Stage, typed: str, answer: object) -> None:
    question = consent("pip install x")
    question["params"] |= {"sandboxed": True, "network": False}
    terminal = stage.terminal([question, *ended()])
    terminal.expect("Run it? [y/N, a = always in this session, w = once, with network] ")
    terminal.type(f"{typed}\n")
    terminal.ended()
    assert answer in stage.answers


def test_with_network_is_no_answer_where_it_was_not_offered(stage: Stage) -> None:
    terminal = stage.terminal([consent("make"), *ended()])
    terminal.expect("[y/N, a = always in this session] ")
    terminal.type("w\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    terminal.ended()
    assert {"decision": "refuse"} in stage.answers


def test_one_long_line_is_one_line(stage: Stage) -> None:
    terminal = stage.terminal([consent("x" * 1200), *ended()])
    terminal.expect("Run all of it (1 line, 1,200 characters)?")
    terminal.type("\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    terminal.ended()


def test_the_words_of_an_ask_need_no_quotes_and_the_folder_comes_from_the_environment(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "proj", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    with FakeOllama(replies=[call("read_file", path="a.py"), say("One.")]) as model:
        env = environment(tmp_path / "home", LLAMAGENT_WORKDIR=str(folder), OLLAMA_URL=model.url, NO_COLOR="1")
        done = subprocess.run(
            [sys.executable, "-P", "-m", "llamagent_server", "ask", "what", "is", "x?"],
            env=env,
            cwd=elsewhere,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "One." in done.stdout
    assert model.requests[0].json["messages"][-1]["content"] == "what is x?"
    assert "x = 1" in model.requests[1].json["messages"][-1]["content"]
    assert list(elsewhere.iterdir()) == []


def _edit(file: Path, new: str) -> dict[str, object]:
    return {"documentChanges": [edit(file, new)["params"]["edit"]["documentChanges"][0]]}


def test_a_copy_that_a_killed_client_left_is_removed_at_the_next_start(stage: Stage) -> None:
    target = stage.folder / "a.py"
    target.write_text("old\n")
    killed_while_writing = (
        "import os, signal, sys, pathlib\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from llamagent_terminal.apply import perform, plan\n"
        "root = pathlib.Path(sys.argv[1])\n"
        f"perform(plan({_edit(target, 'new ')!r}, root, 'utf-16'), root)\n"
    )
    env = stage.env | {"LLAMAGENT_HOME": str(stage.home / ".llamagent")}
    code = [sys.executable, "-c", killed_while_writing, str(stage.folder)]
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    assert subprocess.run(code, env=env, check=False, timeout=30).returncode == -signal.SIGKILL
    [left] = stage.folder.glob(".llamagent-*")
    assert target.read_text() == "old\n"
    stage.env = env
    stage.piped(ended())
    assert not left.exists()
    assert list((stage.home / ".llamagent" / "unfinished").iterdir()) == []


def test_nothing_but_a_plain_copy_of_a_dead_process_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMAGENT_HOME", str(tmp_path / "home"))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    alive, mine, link = tmp_path / ".llamagent-alive", tmp_path / "mine", tmp_path / ".llamagent-link"
    for path in (alive, mine):
        path.write_text("kept")
    link.symlink_to(mine)
    leftovers.note(alive)
    notes = tmp_path / "home" / "unfinished"
    for name, path in ((".llamagent-x", mine), (".llamagent-link", link)):
        (notes / f"{name}.json").write_text(f'{{"path": "{path}", "pid": {dead.pid}}}')
    (notes / ".llamagent-torn.json").write_text("{")
    leftovers.sweep()
    assert alive.exists()
    assert mine.exists()
    assert link.is_symlink()


def test_a_written_edit_leaves_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMAGENT_HOME", str(tmp_path / "home"))
    root = tmp_path / "proj"
    root.mkdir()
    (root / "a.py").write_text("old\n")
    perform(plan(_edit(root / "a.py", "new "), root, "utf-16"), root)
    assert [path.name for path in root.iterdir()] == ["a.py"]
    assert list((tmp_path / "home" / "unfinished").iterdir()) == []


def test_who_sets_the_url_is_told_in_which_file(stage: Stage) -> None:
    done = piped([str(stage.folder), "-", "ask", "hi", "--url", "http://127.0.0.1:9"], stage.env)
    assert done.returncode == 1
    assert "set `url`, in ~/.llamagent/config.toml or in your editor's settings" in " ".join(done.stdout.split())


def test_allow_says_how_long_it_holds(stage: Stage) -> None:
    done = piped(stage.arguments(ended(), "chat"), stage.env, "/allow make test\n")
    assert "runs without asking: make test" in done.stdout
    assert "holds until you leave" in done.stdout
