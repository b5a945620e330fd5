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
from tests.fakes.fake_ollama import FakeModel, FakeOllama
from tests.fakes.script import Item, Refusal, call, say

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
        for made in reply.get("tool_calls", ()):
            made["arguments"] = made["arguments"] or (edit if made["name"] == "edit_file" else write)
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
    assert results(out)["attempts"] == []
    (attempt,) = results(out)["brokeOff"]
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
    assert (out / "attempts.jsonl").read_text() == ""
    assert results(out)["scores"] == [] and "0 attempts (of 2 wanted)" in ran.stdout
    assert "| m1 | 1 | No model server answers" in ran.stdout
    assert "failed" not in ran.stderr, "the model is said to have failed"


@contextmanager
def ollama(*replies: Item) -> Iterator[tuple[str, ...]]:
    """The flags for a model "m" that says `replies`, each to one request."""
    with FakeOllama(replies, models=(FakeModel("m"),)) as server:
        yield "--provider", "ollama", "--url", server.url, "--models", "m"


def test_a_model_that_is_not_there_has_failed_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    with ollama() as flags:
        ran = evaluate(tmp_path / "out", task, *flags[:-1], "gone", env=env)
    assert ran.returncode == 1 and results(tmp_path / "out")["attempts"] == []
    assert "ollama pull gone" in ran.stderr


def test_a_server_that_gives_no_reply_has_the_attempt_made_again(tmp_path: Path, env: dict[str, str]) -> None:
    """In the middle of a turn, too: what came before it is no measure of the model."""
    task = make_task(tmp_path / "tasks" / "a", "")
    out = tmp_path / "out"
    ill = [Refusal(500, {"error": "CUDA error: out of memory"})] * 9
    with ollama(call("list_files"), *ill) as flags:
        assert evaluate(out, task, *flags, env=env).returncode == 1
    assert results(out)["attempts"] == []
    assert "out of memory" in results(out)["brokeOff"][0]["reason"]


def test_replies_of_which_nothing_can_be_made_are_the_models_failure(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    out = tmp_path / "out"
    with ollama(*[say("")] * 9) as flags:
        assert evaluate(out, task, *flags, env=env).returncode == 0
    (attempt,) = results(out)["attempts"]
    assert attempt["reason"].startswith("error: The model gave no usable reply")
    assert attempt["measures"]["malformed"] == 2  # after the third nothing more is asked


def test_a_turn_that_the_harness_stopped_is_said_to_have_gone_in_circles(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "raise SystemExit(1)")
    out = tmp_path / "out"
    with ollama(*[call("list_files")] * 9) as flags:
        assert evaluate(out, task, *flags, env=env).returncode == 0
    (attempt,) = results(out)["attempts"]
    assert (attempt["reason"], attempt["measures"]["loops"]) == ("stopped for going in circles", 1)


def test_edits_that_were_written_as_text_or_under_other_names_are_counted_as_recovered(
    tmp_path: Path, env: dict[str, str]
) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    out = tmp_path / "out"
    as_text = json.dumps({"name": "write_file", "arguments": {"path": "a.txt", "content": "a\n"}})
    foreign = call("create_file", filepath="b.txt", content="b\n")
    missed = call("edit_file", path="a.txt", old_text="no such words", new_text="b")
    lacking = call("edit_file", path="a.txt")
    with ollama(say(as_text), foreign, missed, lacking, say("Done.")) as flags:
        assert evaluate(out, task, *flags, env=env).returncode == 0
    measures = results(out)["attempts"][0]["measures"]
    assert {key: measures[key] for key in ("changes", "recovered", "missed_edits", "malformed")} == {
        "changes": 2,
        "recovered": 2,
        "missed_edits": 1,
        "malformed": 1,
    }


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_tried(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / "attempts.jsonl").mkdir(parents=True)
    for out in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "taken"):
        ran = evaluate(out, task, "--models", "perfect", env=env)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith(f"llamagent-server: {out}") and "choose a folder with --out" in ran.stderr


@pytest.mark.parametrize("lost", ["attempts.jsonl", "report.md"])
def test_what_cannot_be_written_at_the_end_is_printed_all_the_same(
    tmp_path: Path, env: dict[str, str], lost: str
) -> None:
    out = tmp_path / "out"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "server.toml").write_text('sandbox = "off"\n')  # the check reaches out of its project
    take = f"import os, pathlib\np = pathlib.Path({str(out / lost)!r})\np.unlink(missing_ok=True)\np.mkdir()\n"
    task = make_task(tmp_path / "tasks" / "a", take)
    ran = evaluate(out, task, "--models", "perfect", env=env)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    assert f"{out / lost} cannot be written" in ran.stderr and "Make room there" in ran.stderr
    assert "| perfect | 1 of 1 (100%) |" in ran.stdout


@pytest.mark.skipif(os.name == "nt", reason="only on POSIX: elsewhere a link needs a right of its own")
def test_links_of_a_project_are_links_in_its_copy(tmp_path: Path, env: dict[str, str]) -> None:
    """One that leads nowhere, as projects have them, stops nothing."""
    check = "import os\nassert os.readlink('gone') == 'nowhere' and open('b.txt').read() == 'b', os.listdir()\n"
    task = make_task(tmp_path / "tasks" / "a", check)
    (task / "files").mkdir()
    (task / "files" / "c.txt").write_text("b")
    (task / "files" / "b.txt").symlink_to("c.txt")
    before = load_task(task).digest
    (task / "files" / "gone").symlink_to("nowhere")
    assert load_task(task).digest != before
    ran = evaluate(tmp_path / "out", task, "--models", "perfect", env=env)
    assert ran.returncode == 0 and solved(tmp_path / "out") == {"perfect": 1}, ran.stderr


def test_a_changed_solution_has_the_scripted_models_try_anew(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "import sys; sys.exit(open('a.txt').read() != 'b\\n')")
    out = tmp_path / "out"
    evaluate(out, task, "--models", "perfect", env=env)
    assert solved(out) == {"perfect": 0}
    (task / "solution" / "a.txt").write_text("b\n")
    evaluate(out, task, "--models", "perfect", env=env)
    assert solved(out) == {"perfect": 1}


def test_tasks_that_need_what_is_not_here_are_said_to_be_left_out(tmp_path: Path, env: dict[str, str]) -> None:
    task = make_task(tmp_path / "tasks" / "a", "")
    (task / "task.toml").write_text('prompt = "x"\nneeds = ["no-such-program"]\n')
    ran = evaluate(tmp_path / "out", task, "--models", "perfect", env=env)
    assert ran.returncode == 1
    assert "a is left out: there is no no-such-program on this machine." in ran.stderr
    assert "There is no task that this machine could try." in ran.stderr
