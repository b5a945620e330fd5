"""`llamagent-server eval` as a person runs it: the real daemon, scripted models, a folder of results."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.evaluation.casting import script
from llamagent_server.evaluation.tasks import SHIPPED, load_task

ONE = SHIPPED / "04-change-a-constant"


def command(out: Path, tasks: Path, *flags: str) -> list[str]:
    program = [sys.executable, "-m", "llamagent_server", "eval", str(tasks), "--out", str(out)]
    return [*program, "--provider", "scripted", *flags]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "LLAMAGENT_HOME": str(tmp_path / "home")}


def evaluate(out: Path, tasks: Path, *flags: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(out, tasks, *flags), env=env, capture_output=True, text=True, timeout=200, check=False
    )


def results(out: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((out / "report.json").read_text())
    return value


def solved(out: Path) -> dict[str, int]:
    return {row["model"]: row["solved"] for row in results(out)["scores"]}


def make_task(folder: Path, check: str, *, limits: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(f'prompt = "Write a.txt."\n{limits}')
    (folder / "check.py").write_text(check)
    (folder / "solution").mkdir()
    (folder / "solution" / "a.txt").write_text("a\n")
    return folder


def test_a_model_that_does_it_right_solves_it_and_the_reports_say_so(tmp_path: Path, env: dict[str, str]) -> None:
    out = tmp_path / "out"
    ran = evaluate(out, ONE, "--models", "perfect", "--runs", "2", "--jobs", "2", env=env)
    assert ran.returncode == 0, ran.stderr
    assert "| perfect | 2 of 2 (100%) | 34% to 100% |" in ran.stdout
    assert {path.name for path in out.iterdir()} == {"attempts.jsonl", "report.md", "report.json", "report.html"}
    (first, second) = results(out)["attempts"]
    assert first["measures"]["steps"] == 4 and first["measures"]["changes"] == 1
    assert (first["case"]["run"], second["case"]["run"]) == (1, 2)
    assert not (tmp_path / "home" / "trust.json").exists(), "the person's own folder was touched"


def test_what_the_harness_adds_is_what_a_sloppy_model_loses_without_it(tmp_path: Path, env: dict[str, str]) -> None:
    assert "tool_call" in script("sloppy", load_task(ONE), 1), "this script writes no call as text: choose another task"
    ran = evaluate(tmp_path / "out", ONE, "--models", "sloppy", "--ablate", "--jobs", "2", env=env)
    assert ran.returncode == 0, ran.stderr
    found = solved(tmp_path / "out")
    assert found.keys() == {
        "sloppy",
        "sloppy without text calls",
        "sloppy without spelling",
        "sloppy without tolerant edits",
        "sloppy without nudges",
        "sloppy without any",
    }
    assert (found["sloppy"], found["sloppy without text calls"], found["sloppy without any"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("recovery", "replies"),
    [
        ("text_calls", [{"content": '<tool_call>{"name": "write_file", "arguments": %s}</tool_call>'}]),
        ("spelling", [{"tool_calls": [{"name": "create_file", "arguments": {"filepath": "b.txt", "content": "b\n"}}]}]),
        ("nudges", [{"content": ""}, {"tool_calls": [{"name": "write_file", "arguments": {}}]}]),
        ("tolerant_edits", [{"tool_calls": [{"name": "edit_file", "arguments": {}}]}]),
    ],
)
def test_each_recovery_can_be_taken_out(
    tmp_path: Path, env: dict[str, str], recovery: str, replies: list[dict[str, Any]]
) -> None:
    """The same replies write b.txt with the recovery, and do not without it."""
    write = {"path": "b.txt", "content": "b\n"}
    edit = {"path": "b.txt", "old_text": "a  \n", "new_text": "b\n"}
    for reply in replies:
        if "%s" in reply.get("content", ""):
            reply["content"] %= json.dumps(write)
        for call in reply.get("tool_calls", ()):
            call["arguments"] = call["arguments"] or (edit if call["name"] == "edit_file" else write)
    transcript = tmp_path / "script.jsonl"
    transcript.write_text("".join(json.dumps(reply) + "\n" for reply in [*replies, {"content": "Done."}]))
    written = {}
    for without in ("", recovery):
        project = tmp_path / f"p{without}"
        project.mkdir()
        if recovery == "tolerant_edits":
            (project / "b.txt").write_text("a\n")
        written[without] = asked(project, transcript, without, env)
    assert written == {"": "b\n", recovery: "a\n" if recovery == "tolerant_edits" else None}


def asked(project: Path, transcript: Path, without: str, env: dict[str, str]) -> str | None:
    """What b.txt holds after a turn of a daemon that lacks `without`."""
    module = ["llamagent_server.evaluation.bare", without] if without else ["llamagent_server"]
    flags = ["--yes", "--dir", str(project), "--provider", "scripted", "--url", str(transcript)]
    code = (
        "import sys; from llamagent_terminal.options import Consent, Options; from llamagent_terminal.ask import ask;"
        "from pathlib import Path;"
        f"daemon = (sys.executable, '-P', '-m', *{module!r}, 'serve', '--stdio', *{flags[3:]!r});"
        f"sys.exit(ask('go', Options(Path({str(project)!r}), daemon, Consent.YES)))"
    )
    subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=100, check=False)
    path = project / "b.txt"
    return path.read_text() if path.exists() else None


def test_what_was_tried_is_not_tried_again_unless_it_changed(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    out = tmp_path / "out"
    assert evaluate(out, task, "--models", "perfect", env=env).returncode == 0
    again = evaluate(out, task, "--models", "perfect", "--runs", "2", env=env)
    assert "1 of 2 attempts were made before" in again.stderr
    assert len((out / "attempts.jsonl").read_text().splitlines()) == 2
    (task / "check.py").write_text("raise SystemExit('no good')")
    changed = evaluate(out, task, "--models", "perfect", env=env)
    assert "made before" not in changed.stderr
    assert [(one["solved"], one["reason"]) for one in results(out)["attempts"]] == [(False, "no good")]


def _heed_ctrl_c() -> None:
    """As in a terminal: a shell has what it starts in the background ignore it, these tests perhaps."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def started(argv: list[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_ctrl_c
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is a signal here")
def test_ctrl_c_keeps_what_is_done_and_ends_what_runs(tmp_path: Path, env: dict[str, str]) -> None:
    make_task(tmp_path / "tasks" / "a", "")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "server.toml").write_text('sandbox = "off"\n')  # the check says its pid outside its project
    pid = tmp_path / "pid"
    endless = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(90)\n"
    make_task(tmp_path / "tasks" / "b", endless)
    out = tmp_path / "out"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env["TMPDIR"] = str(temporary)
    with started(command(out, tmp_path / "tasks", "--models", "perfect"), env) as process:
        assert process.stderr is not None
        assert "perfect a: solved" in process.stderr.readline()
        wait_for(pid)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from there" in stderr and "1 attempt (of 2 wanted)" in stdout
    assert solved(out) == {"perfect": 1}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert list(temporary.iterdir()) == []


def wait_for(path: Path) -> None:
    """Until the file is there: another process makes it."""
    written = "os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1])"
    code = f"import os, sys, time\nwhile not ({written}): time.sleep(.02)"
    subprocess.run([sys.executable, "-c", code, str(path)], timeout=100, check=True)


@pytest.mark.parametrize(
    ("check", "limits", "reason"),
    [
        ("import sys; print('2 is not 3'); sys.exit(1)", "", "2 is not 3"),
        ("raise SystemExit(1)", "[limits]\nsteps = 1", "no step left"),
        ("raise SystemExit(4)", "", "the check ended with 4"),
    ],
)
def test_a_failure_says_why(tmp_path: Path, env: dict[str, str], check: str, limits: str, reason: str) -> None:
    task = make_task(tmp_path / "tasks" / "a", check, limits=limits)
    assert evaluate(tmp_path / "out", task, "--models", "perfect", env=env).returncode == 0
    assert results(tmp_path / "out")["attempts"][0]["reason"] == reason


def test_wrong_words_are_answered_with_what_to_say(tmp_path: Path, env: dict[str, str]) -> None:
    ran = evaluate(tmp_path / "out", ONE, "--models", "clever", env=env)
    assert ran.returncode == 1 and "they are perfect and sloppy" in ran.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = evaluate(tmp_path / "out", empty, env=env)
    assert ran.returncode == 1 and "There is no task in" in ran.stderr
    ran = evaluate(tmp_path / "out", ONE, "--runs", "0", env=env)
    assert ran.returncode == 2 and "1 to 1000" in ran.stderr


def test_an_attempt_that_the_machine_broke_off_is_tried_again(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    out = tmp_path / "out"
    broken = {**env, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(tmp_path / "shadow")}
    (tmp_path / "tmp").mkdir()
    (tmp_path / "shadow").mkdir()
    # The attempt's process cannot begin; the evaluation's own has no need of this module.
    (tmp_path / "shadow" / "sitecustomize.py").write_text(
        "import sys, os\nif 'llamagent_server.evaluation.trying' in sys.orig_argv: os._exit(9)\n"
    )
    ran = evaluate(out, task, "--models", "perfect", env=broken)
    assert ran.returncode == 1 and "1 attempt broke off" in ran.stderr
    (attempt,) = results(out)["attempts"]
    assert attempt["reason"].startswith("the attempt broke off")
    assert evaluate(out, task, "--models", "perfect", env=env).returncode == 0
    assert solved(out) == {"perfect": 1}


def test_a_model_server_that_is_not_there_fails_no_model(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    out = tmp_path / "out"
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and nobody listens
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        ran = evaluate(out, task, "--provider", "ollama", "--url", url, "--models", "m1,m2", env=env)
    assert ran.returncode == 1 and "2 attempts broke off" in ran.stderr
    assert f"No model server answers at {url}" in ran.stderr
    assert not (out / "attempts.jsonl").exists()
