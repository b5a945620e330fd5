"""The conversation mode, in a terminal and in a pipe."""

import os
import signal
from pathlib import Path

import pytest

from llamagent_server.lsp.wire import COMMANDS
from llamagent_terminal.remembered import _read
from tests.terminal.scripts import Stage, edit, ended, event, replied, say
from tests.terminal.terminals import piped

GAUGE = event("context.gauge", tokens=1240, numCtx=8192, estimated=False, parts=[])


def asked(stage: Stage) -> list[str]:
    """The texts of the turns."""
    commands = [message["params"] for message in stage.sent if message.get("method") == "workspace/executeCommand"]
    return [params["arguments"][0]["text"] for params in commands if params["command"] == "llamagent.ask"]


def test_a_turn_then_its_tokens_then_the_prompt_again(stage: Stage) -> None:
    terminal = stage.terminal([say("Hello."), GAUGE, *ended(answer="Hello.")], "chat")
    terminal.expect("› ")
    terminal.type("hi\n")
    terminal.expect("Hello.")
    assert "1,240 of 8,192 tokens" in terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert asked(stage) == ["hi"]


def test_how_a_model_without_tools_is_asked_is_told_in_plain_words(stage: Stage) -> None:
    decided = event("harness.decided", decision="repair", reason="m cannot be given tools: it is asked otherwise")
    done = piped(stage.arguments([decided, *ended()], "chat"), stage.env, "hi\n")
    assert "■ harness m cannot be given tools: it is asked otherwise\n" in done.stdout


def test_several_lines_by_backslash_or_by_quotes(stage: Stage) -> None:
    terminal = stage.terminal(ended(), "chat")
    for line in ("one\\", "two"):
        terminal.type(f"{line}\n")
    terminal.expect("answered")
    for line in ('"""', "three", "", "four", '"""'):
        terminal.type(f"{line}\n")
    terminal.expect("answered")
    terminal.type('"""five"""\n')
    terminal.expect("answered")
    terminal.type("/quit\n")
    assert terminal.ended() == 0
    assert asked(stage) == ["one\ntwo", "three\n\nfour", "five"]


def test_ctrl_c_at_the_prompt_drops_the_line(stage: Stage) -> None:
    terminal = stage.terminal(ended(), "chat")
    terminal.expect("› ")
    terminal.type("nonsense")
    terminal.expect("nonsense")
    terminal.type("\x03")
    terminal.expect("› ")
    terminal.type("sense\n")
    terminal.expect("answered")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert asked(stage) == ["sense"]


def test_ctrl_c_in_a_turn_stops_it_and_the_conversation_goes_on(stage: Stage) -> None:
    script = [say("one two three "), {"wait": "llamagent.cancel"}, *ended("cancelled"), {"forget": True}]
    terminal = stage.terminal(script, "chat")
    terminal.expect("› ")
    terminal.type("go\n")
    terminal.expect("one two")
    terminal.type("\x03")
    terminal.expect("stopped")
    terminal.expect("› ")
    terminal.type("/context\n")
    terminal.expect("about 1,240 of 8,192 tokens")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0


def test_a_request_that_ctrl_c_cancelled_is_no_error(stage: Stage) -> None:
    error = {"code": -32800, "message": "The request was cancelled.", "data": {}}
    done = piped(stage.arguments([{"error": error}], "chat"), stage.env, "one\n")
    assert "stopped" in done.stdout
    assert "error" not in done.stdout


def test_an_edit_is_asked_about_in_a_conversation_too(stage: Stage) -> None:
    file = stage.folder / "a.txt"
    file.write_text("one\n")
    terminal = stage.terminal([edit(file, "ONE", end=3), *ended()], "chat")
    terminal.expect("› ")
    terminal.type("loud\n")
    terminal.expect("[y/N]")
    terminal.type("y\n")
    terminal.expect("written")
    terminal.type("/quit\n")
    assert terminal.ended() == 0
    assert file.read_text() == "ONE\n"


def test_of_a_file_that_was_removed_it_is_not_said_that_it_was_written(stage: Stage) -> None:
    file = stage.folder / "a.txt"
    file.write_text("one\n")
    params = {"edit": {"documentChanges": [{"kind": "delete", "uri": file.as_uri()}]}}
    terminal = stage.terminal([{"ask": "workspace/applyEdit", "params": params}, *ended()], "chat")
    terminal.expect("› ")
    terminal.type("away\n")
    terminal.expect("Remove a.txt? [y/N]")
    terminal.type("y\n")
    shown = terminal.expect("answered")
    assert "  removed" in shown and "written" not in shown
    terminal.type("/quit\n")
    assert terminal.ended() == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("/clear", "a new conversation"),
        ("/compact", "5,000 tokens became 900"),
        ("/context", "system"),
        ("/undo", "› No turn of this conversation has changed a file."),
        ("/config", "server.toml, line 3: unknown key"),
        ("/sessions", "1  2026-01-02 03:04  Make it <ESC>[31mpolite"),
        ("/resume 1", "going on with: Make it polite"),
        ("/resume", "going on with: Make it polite"),
        ("/skill", "Say /skill NAME."),
        ("/skills", "how to review"),
        ("/skill review", "loaded review: 812 tokens"),
        ("/model gemma3:4b", "qwen3.5:4b -> gemma3:4b"),
        ("/cancel", "There is no command /cancel."),
        ("/clear now", "/clear takes nothing after it."),
        ("/frob", "There is no command /frob. /help lists the commands."),
        ("/ask x", "There is no command /ask."),
        ("/", "There is no command /. /help lists the commands."),
    ],
)
def test_commands(stage: Stage, typed: str, shown: str) -> None:
    arguments = stage.arguments(ended(), "chat")
    done = piped(arguments, stage.env, f"{typed}\n")
    assert done.returncode == 0
    assert shown in done.stdout
    assert "\x1b" not in done.stdout


def test_resume_takes_a_number_or_an_id(stage: Stage) -> None:
    piped(stage.arguments(ended(), "chat"), stage.env, "/resume 2\n/resume a1\n")
    refs = [m["params"]["arguments"][0]["ref"] for m in stage.sent if m.get("method") == "workspace/executeCommand"]
    assert refs == [2, "a1"]


def test_trust_is_for_this_folder_unless_another_is_named(stage: Stage) -> None:
    piped(stage.arguments(ended(), "chat"), stage.env, "/trust\n/untrust /elsewhere\n/disallow make\n/allow\n")
    given = [m["params"]["arguments"][0] for m in stage.sent if m.get("method") == "workspace/executeCommand"]
    assert given == [
        {"folder": str(stage.folder), "trusted": True},
        {"folder": "/elsewhere", "trusted": False},
        {"prefix": "make", "revoke": True},
        {},
    ]


def test_help_lists_every_command_that_can_be_typed(stage: Stage) -> None:
    done = piped(stage.arguments(ended(), "chat"), stage.env, "/help\n")
    shown = " ".join(done.stdout.split())
    reworded = ("trust", "set_temperature", "set_num_ctx")
    for command in COMMANDS:
        typed = command.served and command.name not in ("ask", "cancel", "complete", "unqueue", "trace", "ask_about")
        assert (command.help in done.stdout) == (typed and command.name not in reworded), command.name
    assert "/skill NAME" in done.stdout
    assert "/disallow COMMAND Ask again before such commands." in shown
    assert "/ctx [TOKENS] Set the context length." in shown
    assert "/temp [0-2]" in done.stdout
    assert "/resume [NUMBER]" in done.stdout
    assert "/delete NUMBER" in done.stdout
    assert "/retry [OTHER WORDS]" in done.stdout
    assert "/undo " in done.stdout
    assert "/trust [FOLDER] Trust a folder (this one)." in shown
    assert "/untrust [FOLDER] Stop trusting a folder (this one)." in shown
    assert "/model [NAME]" in done.stdout
    assert "/quit" in done.stdout


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_lists_and_ends_of_turns_fit_the_terminal(stage: Stage, columns: int) -> None:
    """No line is broken by the terminal in the middle of a word."""
    arguments = {"path": "a.py", "old_text": "x" * 200}
    failed = "a.py: old_text is not in the file, nor anything like it. Read the file and copy old_text from it."
    script = [
        replied("", c1=("edit_file", arguments)),
        event("tool.returned", call="c1", name="edit_file", ok=False, content=failed, seconds=0.1, truncated=False),
        GAUGE,
        *ended(),
    ]
    terminal = stage.terminal(script, "chat", columns=columns, rows=60)
    for typed in ("go", "/help", "/sessions"):
        terminal.expect("› ")
        terminal.type(f"{typed}\n")
    terminal.expect("current")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    ours = [line for line in terminal.shown.splitlines() if not line.startswith(("llamagent in", "/"))]
    assert max(map(len, ours)) < columns
    shown = " ".join(" ".join(ours).split())
    assert failed in shown
    assert "1,240 of 8,192 tokens" in shown
    assert "/disallow COMMAND Ask again before such commands." in shown


def test_an_error_leaves_the_conversation_open(stage: Stage) -> None:
    error = {"code": -32803, "message": "No model server. Start it.", "data": {"kind": "model_unreachable"}}
    done = piped(stage.arguments([{"error": error}], "chat"), stage.env, "one\n/context\n")
    assert done.returncode == 0
    assert "No model server. Start it." in done.stdout
    assert "1,240 of 8,192 tokens" in done.stdout


def test_what_was_typed_is_remembered_in_the_users_folder(stage: Stage) -> None:
    terminal = stage.terminal(ended(), "chat")
    terminal.expect("› ")
    terminal.type("remember me\n")
    terminal.expect("answered")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    history = stage.home / ".llamagent" / "chat_history"
    assert "remember me" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


UP = "\x1b[A"


def test_the_up_key_recalls_an_ask_of_several_lines_as_a_whole(stage: Stage) -> None:
    first = stage.terminal(ended(), "chat")
    for typed, shown in (("one\\\ntwo", "answered"), ("/context", "8,192 tokens"), (UP + UP, "answered")):
        first.expect("› ")
        first.type(f"{typed}\n")
        first.expect(shown)
    first.expect("› ")
    first.type("\x04")
    assert first.ended() == 0
    second = stage.terminal(ended(), "chat")
    second.expect("› ")
    second.type(f"{UP}\n")
    second.expect("answered")
    second.expect("› ")
    second.type("\x04")
    assert second.ended() == 0
    assert asked(stage) == ["one\ntwo"] * 3
    assert (stage.home / ".llamagent" / "chat_history").read_text() == "one\\\ntwo\n/context\none\\\ntwo\n"


def test_lines_that_ctrl_c_dropped_can_be_recalled_and_gone_on_with(stage: Stage) -> None:
    terminal = stage.terminal(ended(), "chat")
    terminal.expect("› ")
    terminal.type('"""\nkept\ndropped')
    terminal.expect("dropped")
    terminal.type("\x03")
    terminal.expect("› ")
    terminal.type(f'{UP} more"""\n')
    terminal.expect("answered")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert asked(stage) == ["kept more"]


def test_a_long_history_keeps_its_newest_asks_whole(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    path.write_text("".join(f"ask {number}\\\nmore\n" for number in range(2500)))
    newest = [f"ask {number}\nmore" for number in range(1500, 2500)]
    assert _read(path) == newest
    assert path.read_text().count("ask ") == 1000
    assert _read(path) == newest


def test_what_was_typed_before_a_question_is_no_answer_and_is_offered_at_the_next_prompt(stage: Stage) -> None:
    file = stage.folder / "a.txt"
    file.write_text("one\n")
    terminal = stage.terminal([edit(file, "ONE", end=3), *ended()], "chat")
    terminal.expect("› ")
    terminal.type("loud\ny\nthen half")
    terminal.expect("[y/N]")
    terminal.type("n\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    terminal.expect("answered")
    terminal.expect("half")
    terminal.type(" and more\n")
    terminal.expect("[y/N]")
    terminal.type("n\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    terminal.expect("answered")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert file.read_text() == "one\n"
    assert asked(stage) == ["loud", "y\nthen half and more"]


def test_ctrl_c_in_a_turn_keeps_what_was_typed_meanwhile_and_does_not_send_it(stage: Stage) -> None:
    script = [say("one two three "), {"wait": "llamagent.cancel"}, *ended("cancelled"), {"forget": True}]
    terminal = stage.terminal(script, "chat")
    terminal.expect("› ")
    terminal.type("go\n")
    terminal.expect("one two")
    terminal.type("/con\n")
    terminal.expect("/con")
    terminal.type("\x03")
    terminal.expect("stopped")
    terminal.expect("/con")
    terminal.type("text\n")
    terminal.expect("about 1,240 of 8,192 tokens")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0


def test_the_daemons_end_is_seen_while_nothing_is_typed(stage: Stage) -> None:
    pid_file = stage.folder / "pid"
    stage.env["FAKE_DAEMON_PID"] = str(pid_file)
    terminal = stage.terminal(ended(), "chat")
    terminal.expect("› ")
    os.kill(int(pid_file.read_text()), signal.SIGKILL)
    assert terminal.ended() == 1
    assert "ended unexpectedly (exit code -9)" in terminal.shown
    assert (
        "  What was accepted is on disk. `llamagent-server chat -c` goes on with the\n  conversation;" in terminal.shown
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_leaves_no_daemon(stage: Stage, number: int) -> None:
    pid_file = stage.folder / "pid"
    stage.env["FAKE_DAEMON_PID"] = str(pid_file)
    terminal = stage.terminal(ended(), "chat")
    terminal.expect("› ")
    assert terminal.signal(number) == 128 + number
    assert not _alive(int(pid_file.read_text()))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]


def test_a_note_of_the_daemon_is_shown_with_what_changed(stage: Stage) -> None:
    done = piped(stage.arguments(ended(), "chat"), stage.env, "/ctx 4096\n/context\n")
    assert "8192 -> 4096, for this session" in done.stdout
    assert "The model is loaded anew." in done.stdout


def test_a_list_of_conversations_fits_the_screen(stage: Stage) -> None:
    terminal = stage.terminal(ended(), "chat")
    terminal.expect("› ")
    terminal.type("/sessions\n")
    terminal.expect("current")
    terminal.expect("› ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    (row,) = (line for line in terminal.shown.splitlines() if "messages" in line)
    assert len(row) <= 80 and row.endswith("4 messages, m, current") and "…" in row


def test_what_an_edit_brings_along_is_said_before_the_question(stage: Stage) -> None:
    file = stage.folder / "a.txt"
    file.write_text("one\n")
    proposed = edit(file, "ONE", end=3)
    label = "set up the project (with .llamagent/config.toml)"
    proposed["params"]["edit"]["changeAnnotations"] = {"llamagent:r": {"label": label}}
    terminal = stage.terminal([proposed, *ended()], "chat")
    terminal.expect("› ")
    terminal.type("go\n")
    terminal.expect(label)
    terminal.expect("[y/N]")
    terminal.type("y\n")
    terminal.expect("written")
    terminal.type("/quit\n")
    assert terminal.ended() == 0
