"""Task folders are read whole, or said to be wrong in words that name the file."""

import os
from pathlib import Path

import pytest

from llamagent_server.core.policy import Mode
from llamagent_server.errors import BadArgument
from llamagent_server.evaluation.tasks import MOST, Limits, load_task, load_tasks
from llamagent_server.settings import BY_KEY


def make(folder: Path, toml: str = 'prompt = "Do it."', *, check: str | None = "check.py") -> Path:
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(toml)
    if check is not None:
        (folder / check).write_text("")
    return folder


def test_a_task_has_what_its_folder_says(tmp_path: Path) -> None:
    toml = 'prompt = """\nWhere?\n"""\nmode = "read"\nneeds = ["node"]\n[limits]\nsteps = 3\nseconds = 7.5\n'
    task = load_task(make(tmp_path / "a", toml))
    assert (task.name, task.prompt, task.mode, task.needs) == ("a", "Where?", Mode.READ, ("node",))
    assert task.limits == Limits(3, 7.5)


def test_an_executable_may_be_the_check(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", check="check")
    (folder / "check").chmod(0o755)
    assert load_task(folder).check.name == "check"


@pytest.mark.skipif(os.name == "nt", reason="only on POSIX: elsewhere every file can be run")
def test_a_check_that_cannot_be_run_is_said_before_a_model_fails_by_it(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", check="check")
    (folder / "check").chmod(0o644)
    with pytest.raises(BadArgument, match="cannot be run") as caught:
        load_task(folder)
    assert "chmod +x" in str(caught.value)


def test_half_a_task_is_said_and_not_passed_over(tmp_path: Path) -> None:
    make(tmp_path / "tasks" / "a")
    (make(tmp_path / "tasks" / "b") / "task.toml").unlink()
    with pytest.raises(BadArgument, match="b has a check and no task"):
        load_tasks(tmp_path / "tasks")


def test_a_task_may_ask_for_as_many_steps_as_a_turn_may_have() -> None:
    assert BY_KEY["max_steps"].maximum == MOST["steps"]


def test_a_folder_of_tasks_gives_them_by_name(tmp_path: Path) -> None:
    make(tmp_path / "tasks" / "b")
    make(tmp_path / "tasks" / "a")
    (tmp_path / "tasks" / "notes").mkdir()
    assert [task.name for task in load_tasks(tmp_path / "tasks")] == ["a", "b"]
    assert [task.name for task in load_tasks(tmp_path / "tasks" / "b")] == ["b"]


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("prompt = ", "cannot be read"),
        ("", "`prompt` must say"),
        ('prompt = " "', "`prompt` must say"),
        ('prompt = "x"\nmodel = "y"', "'model' is no key"),
        ('prompt = "x"\nmode = "write"', '"agent" or "read"'),
        ('prompt = "x"\nmode = ["read"]', '"agent" or "read"'),
        ('prompt = "x"\nneeds = "node"', "list of programs"),
        ('prompt = "x"\n[limits]\nsteps = 201', "at most 200"),
        ('prompt = "x"\n[limits]\nseconds = inf', "at most 86400"),
        ('prompt = "x"\n[limits]\nseconds = nan', "seconds must be a number above 0"),
        ('prompt = "x"\n[limits]\nsteps = 0', "steps must be a number above 0"),
        ('prompt = "x"\n[limits]\nsteps = true', "steps must be a number above 0"),
        ('prompt = "x"\n[limits]\nsteps = 1.5', "steps must be a whole number"),
        ('prompt = "x"\n[limits]\nminutes = 1', "may hold `steps` and `seconds`"),
    ],
)
def test_a_wrong_task_says_what_is_wrong(tmp_path: Path, toml: str, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        load_task(make(tmp_path / "a", toml))


def test_a_task_without_a_check_and_a_folder_without_tasks_are_said(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="no check"):
        load_task(make(tmp_path / "a", check=None))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadArgument, match="no task"):
        load_tasks(tmp_path / "empty")


def test_the_digest_follows_what_decides_the_outcome(tmp_path: Path) -> None:
    folder = make(tmp_path / "a")
    before = load_task(folder).digest
    (folder / "solution").mkdir()
    (folder / "solution" / "x.py").write_text("1")
    assert load_task(folder).digest == before
    (folder / "check.py").write_text("raise SystemExit(1)")
    changed = load_task(folder).digest
    (folder / "files").mkdir()
    (folder / "files" / "x.py").write_text("1")
    assert len({before, changed, load_task(folder).digest}) == 3
