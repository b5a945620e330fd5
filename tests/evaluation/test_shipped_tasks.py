"""Each shipped task's check accepts the reference solution, and neither the untouched project nor the wrong one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llamagent_server.core.policy import Mode
from llamagent_server.evaluation.tasks import ANSWER, SHIPPED, Task, load_tasks

TASKS = load_tasks(SHIPPED)


def verdict(task: Task, folder: Path, *parts: str) -> subprocess.CompletedProcess[str]:
    for part in parts:
        if (task.folder / part).is_dir():
            shutil.copytree(task.folder / part, folder, dirs_exist_ok=True)
    if task.mode is Mode.READ and not (folder / ANSWER).exists():
        (folder / ANSWER).write_text("")
    shutil.copy(task.check, folder / "_check.py")
    return subprocess.run(
        [sys.executable, "-B", "_check.py"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_there_are_twenty_in_python_javascript_and_plain_text() -> None:
    endings = {path.suffix for task in TASKS for path in task.files.rglob("*") if path.is_file()}
    assert len(TASKS) == 20
    assert {".py", ".js", ".md", ".json", ".csv", ".ini"} <= endings


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_check_tells_right_from_wrong(task: Task, tmp_path: Path) -> None:
    assert (task.folder / "solution").is_dir() and (task.folder / "wrong").is_dir()
    right = verdict(task, tmp_path / "right", "files", "solution")
    assert right.returncode == 0, right.stderr
    for name, parts in (("untouched", ("files",)), ("wrong", ("files", "wrong"))):
        (tmp_path / name).mkdir()
        refused = verdict(task, tmp_path / name, *parts)
        assert refused.returncode != 0, f"the {name} project passes"
        assert "SyntaxError" not in refused.stderr
