"""`ask` against a scripted daemon: what is shown, what is asked, what is answered, and the exit code."""

import json
from io import StringIO
from pathlib import Path

import pytest

from llamagent_terminal.client import Asked
from llamagent_terminal.options import Consent
from llamagent_terminal.review import Desk
from llamagent_terminal.screen import Screen
from tests.terminal.scripts import Stage, consent, edit, ended, event, replied, say

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202eevil"


def file_in(stage: Stage, name: str = "a.txt", content: bytes = b"one\r\ntwo\r\n") -> Path:
    file = stage.folder / name
    file.write_bytes(content)
    return file


# --- In a terminal


@pytest.mark.parametrize("question", ["edit", "command"])
def test_q_at_a_question_ends_the_turn_without_another_question(stage: Stage, question: str) -> None:
    file = stage.folder / "a.txt"
    file.write_text("one\n")
    asks = edit(file, "ONE", end=3) if question == "edit" else consent("make")
    terminal = stage.terminal([asks, *ended("refused")])
    terminal.expect("[y/N")
    terminal.type("q\n")
    assert "Why not?" not in terminal.expect("refused")
    assert terminal.ended() == 4
    assert file.read_text() == "one\n"
    no = {"applied": False} if question == "edit" else {"decision": "refuse"}
    assert stage.answers == [{**no, "stop": True}]


@pytest.mark.parametrize("word", ["y", "Yes", "o", "oui", "j", "JA"])
def test_a_yes_in_three_languages_applies(stage: Stage, word: str) -> None:
    file = file_in(stage)
    with_terminal = stage.terminal([edit(file, "ONE", end=3), *ended()])
    shown = with_terminal.expect("Apply to a.txt? [y/N]")
    assert file.read_bytes() == b"one\r\ntwo\r\n"
    with_terminal.type(f"{word}\n")
    assert with_terminal.ended() == 0
    assert "-one" in shown
    assert "+ONE" in shown
    assert "+1" in shown
    assert file.read_bytes() == b"ONE\r\ntwo\r\n"
    assert stage.answers == [{"applied": True}]


@pytest.mark.parametrize("word", ["", "n", "no", "yep", "ok", "1", "a", "always"])
def test_anything_else_is_a_no_and_its_reason_is_sent(stage: Stage, word: str) -> None:
    file = file_in(stage)
    terminal = stage.terminal([edit(file, "ONE", end=3), *ended()])
    terminal.expect("[y/N]")
    terminal.type(f"{word}\n")
    terminal.expect("Why not?")
    terminal.type("too loud\n")
    assert terminal.ended() == 4
    assert file.read_bytes() == b"one\r\ntwo\r\n"
    assert stage.answers == [{"applied": False, "failureReason": "too loud"}]


def test_a_no_without_a_reason(stage: Stage) -> None:
    terminal = stage.terminal([edit(file_in(stage), "ONE", end=3), *ended()])
    terminal.expect("[y/N]")
    terminal.type("n\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    assert terminal.ended() == 4
    assert stage.answers == [{"applied": False}]


def test_q_instead_of_a_reason_stops_the_turn(stage: Stage) -> None:
    terminal = stage.terminal([edit(file_in(stage), "ONE", end=3), *ended()])
    terminal.expect("[y/N]")
    terminal.type("n\n")
    terminal.expect("q to stop here")
    terminal.type("q\n")
    assert terminal.ended() == 4
    assert stage.answers == [{"applied": False, "stop": True}]


def test_the_end_of_input_is_a_no(stage: Stage) -> None:
    file = file_in(stage)
    terminal = stage.terminal([edit(file, "ONE", end=3), *ended()])
    terminal.expect("[y/N] ")
    terminal.type("\x04")
    assert terminal.expect("  left as it is") == "\n", "there is nobody to ask for a reason, and the line is ended"
    assert terminal.ended() == 4
    assert file.read_bytes() == b"one\r\ntwo\r\n"
    assert stage.answers == [{"applied": False}]


def test_the_end_of_input_is_no_reason_and_ends_the_line(stage: Stage) -> None:
    terminal = stage.terminal([edit(file_in(stage), "ONE", end=3), *ended()])
    terminal.expect("[y/N] ")
    terminal.type("n\n")
    terminal.expect("q to stop here) ")
    terminal.type("\x04")
    assert terminal.expect("  left as it is") == "\n"
    assert terminal.ended() == 4
    assert stage.answers == [{"applied": False}]


def test_what_was_typed_before_the_question_is_no_answer(stage: Stage) -> None:
    file = file_in(stage)
    script = [say("thinking about it\n"), {"wait": "llamagent.cancel"}, edit(file, "ONE", end=3), *ended("cancelled")]
    terminal = stage.terminal(script)
    terminal.expect("thinking")
    terminal.type("y\ny\n")
    terminal.expect("y\ny\n")  # the echo: both lines are in the terminal's queue
    terminal.type("\x03")
    terminal.expect("[y/N]")
    terminal.type("n\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    assert terminal.ended() == 130
    assert file.read_bytes() == b"one\r\ntwo\r\n"


def test_a_command_that_may_not_fit_on_the_screen_says_how_long_it_is(stage: Stage) -> None:
    long = "rm -rf ~ #" + " " * 3000 + "ls" + "\n" * 40 + "true"
    terminal = stage.terminal([consent(long), *ended()])
    before = terminal.expect("Run all of it (41 lines, 3,056 characters)? ")
    assert "rm -rf ~ # <3000 blanks> ls" in before
    terminal.type("n\n")
    terminal.expect("Why not?")
    terminal.type("\n")
    terminal.ended()
    assert stage.answers == [{"decision": "refuse"}]


def test_a_command_is_shown_whole_and_asked(stage: Stage) -> None:
    terminal = stage.terminal([consent("rm -rf build\necho done", "/somewhere/else"), *ended()])
    shown = terminal.expect("Run it? [y/N, a = always in this session]")
    terminal.type("y\n")
    assert terminal.ended() == 0
    assert "$ rm -rf build" in shown
    assert "echo done" in shown
    assert "/somewhere/else" in shown
    assert "not sandboxed" in shown
    assert stage.answers == [{"decision": "run"}]


def test_a_command_may_be_allowed_for_the_session_or_refused_with_words(stage: Stage) -> None:
    terminal = stage.terminal([consent("make test"), consent("make install"), *ended()])
    terminal.expect("Run it?")
    terminal.type("a\n")
    terminal.expect("Run it?")
    terminal.type("n\n")
    terminal.expect("Why not?")
    terminal.type("never\n")
    assert terminal.ended() == 0
    assert stage.answers == [{"decision": "always"}, {"decision": "refuse", "reason": "never"}]


def test_a_file_changed_while_the_diff_is_shown_is_left(stage: Stage) -> None:
    file = file_in(stage)
    terminal = stage.terminal([edit(file, "ONE", end=3), *ended()])
    terminal.expect("[y/N]")
    file.write_bytes(b"mine\r\n")
    terminal.type("y\n")
    terminal.ended()
    assert file.read_bytes() == b"mine\r\n"
    reason = "a.txt changed on disk since the diff was shown"
    assert stage.answers == [{"applied": False, "failed": True, "failureReason": reason}]


def test_questions_are_seen_although_the_output_goes_elsewhere(stage: Stage) -> None:
    file = file_in(stage)
    with (stage.home / "out").open("wb") as out:
        terminal = stage.terminal([say("Hello."), edit(file, "ONE", end=3), *ended()], output=out.fileno())
        shown = terminal.expect("Apply to a.txt? [y/N]")
        terminal.type("y\n")
        assert terminal.ended() == 0
    assert "+ONE" in shown
    assert file.read_bytes() == b"ONE\r\ntwo\r\n"
    assert "Hello." in (stage.home / "out").read_text("utf-8")


def test_json_in_a_terminal_asks_beside_it(stage: Stage) -> None:
    file = file_in(stage)
    with (stage.home / "out").open("wb") as out:
        terminal = stage.terminal([edit(file, "ONE", end=3), *ended()], "ask", "do it", "--json", output=out.fileno())
        terminal.expect("[y/N]")
        terminal.type("n\n")
        terminal.expect("Why not?")
        terminal.type("\n")
        assert terminal.ended() == 4
    lines = (stage.home / "out").read_text("utf-8").splitlines()
    assert [json.loads(line).get("kind") for line in lines] == ["turn.ended", None]


def test_the_trust_question_is_a_yes_or_no(stage: Stage) -> None:
    question = {"message": "Do you trust the folder?", "actions": [{"title": "Trust"}, {"title": "Not now"}]}
    script = [{"ask": "window/showMessageRequest", "params": {"type": 3, **question}}] * 2
    terminal = stage.terminal([*script, *ended()])
    terminal.expect("Do you trust the folder?\nTrust? [y/N]")
    terminal.type("y\n")
    terminal.expect("[y/N]")
    terminal.type("\n")
    assert terminal.ended() == 0
    assert stage.answers == [{"title": "Trust"}, {"title": "Not now"}]


def test_a_question_taken_back_is_taken_down_and_nothing_is_written(stage: Stage) -> None:
    file = file_in(stage)
    question = edit(file, "ONE", end=3)
    script = [{"withdraw": question["ask"], "params": question["params"]}, *ended("cancelled")]
    terminal = stage.terminal(script)
    assert terminal.ended() == 130
    assert file.read_bytes() == b"one\r\ntwo\r\n"
    assert stage.answers == []


# --- Ctrl-C


def test_ctrl_c_stops_the_turn_and_shows_its_end(stage: Stage) -> None:
    terminal = stage.terminal([say("one two three "), {"wait": "llamagent.cancel"}, *ended("cancelled")])
    terminal.expect("one two")
    terminal.type("\x03")
    terminal.expect("stopped")
    assert terminal.ended() == 130


def test_ctrl_c_at_a_question_stops_the_turn_before_the_no_is_sent(stage: Stage) -> None:
    file = file_in(stage)
    terminal = stage.terminal([edit(file, "ONE", end=3), *ended("cancelled")])
    terminal.expect("[y/N]")
    terminal.type("\x03")
    assert terminal.ended() == 130
    assert file.read_bytes() == b"one\r\ntwo\r\n"
    kinds = [message.get("params", {}).get("command") or message.get("result") for message in stage.sent[3:5]]
    assert kinds == ["llamagent.cancel", {"applied": False}]


def test_a_second_ctrl_c_leaves_at_once(stage: Stage) -> None:
    terminal = stage.terminal([say("one two three "), {"wait": "never"}])
    terminal.expect("one two")
    terminal.type("\x03")
    terminal.expect("stopping")
    terminal.type("\x03")
    assert terminal.ended() == 130


# --- Without a terminal


def test_without_a_terminal_everything_is_refused_and_said_so(stage: Stage) -> None:
    file = file_in(stage)
    done = stage.piped([edit(file, "ONE", end=3), consent("make"), *ended()])
    assert done.returncode == 4
    assert file.read_bytes() == b"one\r\ntwo\r\n"
    assert done.stdout.count("there is no terminal to ask in (--yes accepts, --no refuses)") == 2
    assert stage.answers == [
        {"applied": False, "failureReason": "there is no terminal to ask in"},
        {"decision": "refuse", "reason": "there is no terminal to ask in"},
    ]


def test_a_narrow_terminal_gets_it_in_lines_broken_between_words(tmp_path: Path) -> None:
    out = StringIO()
    screen = Screen(out, colour=False, live=False, width=lambda: 40)
    desk = Desk(screen, tmp_path, Consent.ASK, asks=False, stop=lambda _: False, settled=set())
    desk.consent(Asked(1, "llamagent/consent", {"command": "make", "cwd": "/proj"}))
    assert "\nRun it? no: there is no terminal to ask\nin (--yes accepts, --no refuses)\n" in out.getvalue()


def test_yes_accepts_edits_and_commands_but_trusts_nobody(stage: Stage) -> None:
    file = file_in(stage)
    trust = {"message": "Trust?", "actions": [{"title": "Trust"}, {"title": "Not now"}]}
    script = [edit(file, "ONE", end=3), consent("make"), {"ask": "window/showMessageRequest", "params": trust}]
    done = stage.piped([*script, *ended()], "--yes")
    assert done.returncode == 0
    assert file.read_bytes() == b"ONE\r\ntwo\r\n"
    assert stage.answers == [{"applied": True}, {"decision": "run"}, {"title": "Not now"}]
    assert "+ONE" in done.stdout


def test_a_missing_last_line_end_is_noted_as_everywhere(stage: Stage) -> None:
    done = stage.piped([edit(file_in(stage, content=b"one"), "ONE", end=3), *ended()], "--no")
    assert "-one\n\\ No newline at end of file\n+ONE\n\\ No newline at end of file\n" in done.stdout


def test_no_refuses(stage: Stage) -> None:
    file = file_in(stage)
    done = stage.piped([edit(file, "ONE", end=3), consent("make"), *ended()], "--no")
    assert done.returncode == 4
    assert file.read_bytes() == b"one\r\ntwo\r\n"


@pytest.mark.parametrize(
    ("reason", "code"), [("answered", 0), ("step_limit", 3), ("budget", 3), ("refused", 4), ("cancelled", 130)]
)
def test_the_exit_code_is_the_turns_end(stage: Stage, reason: str, code: int) -> None:
    done = stage.piped([say("hello"), *ended(reason, "the end")])
    assert done.returncode == code
    assert "hello" in done.stdout


def test_json_is_the_trace_and_then_the_result(stage: Stage) -> None:
    done = stage.piped([event("turn.started", text="x", model="m", files=[]), say(HOSTILE), *ended()], "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.get("kind") for line in lines] == ["turn.started", "model.delta", "turn.ended", None]
    assert [line["seq"] for line in lines[:-1]] == [0, 1, 2]
    assert lines[-1]["stopReason"] == "answered"
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


def test_json_ends_with_the_error(stage: Stage) -> None:
    error = {"code": -32803, "message": "No model server at x. Start it.", "data": {"kind": "model_unreachable"}}
    done = stage.piped([{"error": error}], "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1]) == {"error": error}


def test_an_error_says_what_to_do(stage: Stage) -> None:
    done = stage.piped([{"error": {"code": -32803, "message": "The model is missing. Run `ollama pull x`."}}])
    assert done.returncode == 1
    assert "error" in done.stdout
    assert "ollama pull x" in done.stdout


def test_the_reading_mode_is_asked_for(stage: Stage) -> None:
    stage.piped(ended(), "--read")
    asked = next(m for m in stage.sent if m.get("params", {}).get("command") == "llamagent.ask")
    assert asked["params"]["arguments"] == [{"text": "do it", "mode": "read"}]


# --- Hostile text


def test_escapes_and_bidi_controls_are_shown_never_sent(stage: Stage) -> None:
    file = file_in(stage, content=f"{HOSTILE}\n".encode())
    evil = file_in(stage, f"na{HOSTILE[:4]}me\n.txt")
    script = [
        say(f"{HOSTILE} "),
        replied("", c1=("frob\x1b[31m", {"path\x07": HOSTILE})),
        event("harness.decided", decision="refuse", reason=HOSTILE, call="c1"),
        edit(file, f"{HOSTILE}!\n"),
        edit(evil, "x"),
        consent(HOSTILE, HOSTILE),
        event("notice", level="warning", text=HOSTILE),
        {"ask": "window/showMessageRequest", "params": {"message": HOSTILE, "actions": [{"title": HOSTILE}]}},
        *ended("step_limit", HOSTILE),
    ]
    done = stage.piped(script, "--yes")
    assert done.returncode == 3
    assert not any(char in done.stdout + done.stderr for char in "\x1b\x07\u202e")
    assert done.stdout.count("<ESC>[2J") >= 8
    assert "na<ESC>[2Jme^J.txt" in done.stdout
    assert file.read_bytes() == f"{HOSTILE}!\n{HOSTILE}\n".encode()


def test_colour_is_for_terminals_that_want_it(stage: Stage) -> None:
    assert "\x1b" not in stage.piped([say("hi"), *ended()]).stdout
    coloured = stage.terminal([say("hi"), *ended()])
    coloured.ended()
    assert "\x1b[1;36m" in coloured.raw
    stage.env["NO_COLOR"] = "1"
    plain = stage.terminal([say("hi"), *ended()])
    plain.ended()
    assert "\x1b[1;36m" not in plain.raw
    assert "model" in plain.shown


def test_an_output_that_knows_only_ascii_gets_ascii(stage: Stage) -> None:
    stage.env["PYTHONIOENCODING"] = "ascii"
    done = stage.piped([say("héllo 😀"), *ended()])
    assert done.returncode == 0
    assert "* model" in done.stdout
    assert r"h\xe9llo \U0001f600" in done.stdout


# --- The daemon's end


def test_a_daemon_that_dies_is_seen_at_once_with_its_last_words(stage: Stage) -> None:
    done = stage.piped([say("one "), {"stderr": "out of memory\n"}, {"exit": 7}])
    assert done.returncode == 1
    assert "ended unexpectedly (exit code 7)" in done.stdout
    assert "out of memory" in done.stdout
    assert "doctor" in done.stdout


def test_a_daemon_that_dies_while_a_question_is_open(stage: Stage) -> None:
    file = file_in(stage)
    question = edit(file, "ONE", end=3)
    terminal = stage.terminal([{**question, "then_exit": 9}, *ended()])
    assert terminal.ended() == 1
    assert "ended unexpectedly" in terminal.shown
    assert file.read_bytes() == b"one\r\ntwo\r\n"


def test_garbage_on_the_daemons_stdout_ends_it_in_words(stage: Stage) -> None:
    done = stage.piped([{"raw": "Traceback (most recent call last):\n\nboom\n"}, {"wait": "never"}])
    assert done.returncode == 1
    assert "no LSP" in done.stdout


def test_an_unknown_request_of_the_daemon_is_declined(stage: Stage) -> None:
    done = stage.piped([{"ask": "workspace/frobnicate", "params": {}}, *ended()])
    assert done.returncode == 0
    declined = [message["error"]["code"] for message in stage.sent if "error" in message]
    assert declined == [-32601]
