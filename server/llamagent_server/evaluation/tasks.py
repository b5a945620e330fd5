"""Tasks to measure models by, read from folders: task.toml, files/, a check that the model never sees.

task.toml   prompt = "..."        what the model is asked
            mode = "agent"        or "read": then the answer is what is checked
            needs = ["node"]      programs without which the task is left out
            [limits]              steps = 15, seconds = 600
files/      the project before
check.py    run with Python in the project after; or `check`, an executable. Exit code 0: done right.
            The model's answer is in _answer.txt beside it.
solution/   files over the project that pass the check, and
wrong/      files that do not: they prove the check. Both may be missing.
"""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llamagent_server.core.policy import Mode
from llamagent_server.errors import BadArgument

SHIPPED = Path(__file__).parent / "tasks"
ANSWER = "_answer.txt"
CHECKS = ("check.py", "check")
_KEYS = {"prompt", "mode", "needs", "limits"}
MOST = {"steps": 200, "seconds": 86_400}


@dataclass(frozen=True, slots=True)
class Limits:
    """`steps`: model requests; `seconds`: of the whole turn."""

    steps: int = 15
    seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Task:
    """`digest` changes with everything that decides the outcome: the task file, the files and the check."""

    name: str
    folder: Path
    prompt: str
    mode: Mode
    needs: tuple[str, ...]
    limits: Limits
    digest: str

    @property
    def files(self) -> Path:
        return self.folder / "files"

    @property
    def check(self) -> Path:
        return next(path for name in CHECKS if (path := self.folder / name).is_file())


def load_tasks(folder: Path) -> tuple[Task, ...]:
    """The task in `folder`, or all tasks in the folders below it, by name. Raises BadArgument."""
    if (folder / "task.toml").is_file():
        return (load_task(folder),)
    try:
        found = tuple(load_task(one) for one in sorted(folder.iterdir()) if _is_task(one))
    except OSError as error:
        raise BadArgument(f"The tasks in {folder} cannot be read ({error.strerror}).") from error
    if not found:
        raise BadArgument(f"There is no task in {folder}.", hint="A task is a folder with a task.toml and a check.py.")
    return found


def _is_task(folder: Path) -> bool:
    """Raises BadArgument for what is half of one."""
    if (folder / "task.toml").exists():
        return True
    if any((folder / name).is_file() for name in CHECKS):
        raise BadArgument(f"{folder} has a check and no task.toml.", hint='It must hold: prompt = "..."')
    return False


def load_task(folder: Path) -> Task:
    """Raises BadArgument in words that name the file."""
    path = folder / "task.toml"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadArgument(f"{path} cannot be read: {error}.") from error
    if unknown := sorted(table.keys() - _KEYS):
        raise BadArgument(f"{path}: {unknown[0]!r} is no key of a task; they are {', '.join(sorted(_KEYS))}.")
    prompt = table.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise BadArgument(f"{path}: `prompt` must say what the model is asked.")
    _see_check(folder)
    mode = table.get("mode", Mode.AGENT.value)
    if mode not in [one.value for one in Mode]:
        raise BadArgument(f'{path}: `mode` must be "agent" or "read".')
    needs = table.get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(name, str) for name in needs):
        raise BadArgument(f"{path}: `needs` must be a list of programs.")
    limits = _limits(path, table.get("limits", {}))
    return Task(folder.name, folder, prompt.strip(), Mode(mode), tuple(needs), limits, _digest(folder))


def _see_check(folder: Path) -> None:
    check = next((path for name in CHECKS if (path := folder / name).is_file()), None)
    if check is None:
        raise BadArgument(f"{folder} has no check.py, which must exit with 0 when the task was done right.")
    if not check.suffix and not os.access(check, os.X_OK):
        raise BadArgument(f"{check} cannot be run.", hint="Make it executable (chmod +x), or write a check.py.")


def _limits(path: Path, table: object) -> Limits:
    if not isinstance(table, Mapping) or table.keys() - MOST.keys():
        raise BadArgument(f"{path}: [limits] may hold `steps` and `seconds`.")
    given: dict[str, Any] = dict(table)
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST[name]:
            raise BadArgument(f"{path}: {name} must be a number above 0, at most {MOST[name]}.")
    if not isinstance(given.get("steps", 1), int):
        raise BadArgument(f"{path}: steps must be a whole number.")
    return Limits(**given)


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    parts = [folder / "task.toml", *(folder / name for name in CHECKS), *sorted((folder / "files").rglob("*"))]
    for path in parts:
        if path.is_symlink():
            whole.update(f"{path.relative_to(folder).as_posix()}\0{path.readlink()}\0".encode())
        if path.is_file():
            content = path.read_bytes()
            whole.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
            whole.update(content)
    return whole.hexdigest()[:16]
