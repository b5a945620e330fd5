"""The environment of a command: the project's Python first, and nothing that would wait for a terminal."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from llamagent_server.processes.git_programs import git_programs
from llamagent_server.processes.programs import find_program, has_relative_entries
from llamagent_server.processes.there import is_file, is_link

VENVS = (".venv", "venv")
# Programs ask on a terminal, page, colour and draw; here nobody would see it and nothing could answer.
UNATTENDED = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "PIP_NO_INPUT": "1",
    # Without it a Python program that is killed at the time limit would lose what it had printed.
    "PYTHONUNBUFFERED": "1",
}
_NEVER = ("PYTHONHOME", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__", "BASH_ENV", "ENV", "FORCE_COLOR", "CLICOLOR_FORCE")


def command_environment(folder: Path, *, base: Mapping[str, str], hidden: Iterable[str] = ()) -> dict[str, str]:
    """The environment of a command that runs in `folder`; the variables in `hidden` (keys, tokens) are left out."""
    env = {name: value for name, value in base.items() if name not in {*_NEVER, *hidden}} | UNATTENDED
    _without_own_packages(env)
    python = _venv_python(folder)
    if python is not None:
        env["VIRTUAL_ENV"] = str(python.parent.parent)
        _put_first(env, python.parent)
    elif find_program("python", env.get("PATH")) is None and (shim := python_shim(env)) is not None:
        _put_last(env, shim)
    return env


def own_programs(folder: Path, base: Mapping[str, str]) -> str | None:
    """What in `folder` decides which programs a command there runs, named for the person; None where nothing does."""
    python = _venv_python(folder)
    if python is not None:
        return python.relative_to(folder).as_posix()
    if has_relative_entries(base.get("PATH")):
        return "a PATH with relative folders"
    return git_programs(folder)


def _without_own_packages(env: dict[str, str]) -> None:
    """An editor extension may have put the daemon's own packages on PYTHONPATH: they are not the project's."""
    own = Path(__file__).resolve().parents[2]
    kept = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry and Path(entry).resolve() != own]
    env.pop("PYTHONPATH", None)
    if kept:
        env["PYTHONPATH"] = os.pathsep.join(kept)


def _venv_python(folder: Path) -> Path | None:
    programs = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    for name in VENVS:
        python = folder.joinpath(name, *programs)
        if is_file(python):
            return python
    return None


def _put_first(env: dict[str, str], folder: Path) -> None:
    env["PATH"] = os.pathsep.join([str(folder), *filter(None, [env.get("PATH", os.defpath)])])


def _put_last(env: dict[str, str], folder: Path) -> None:
    env["PATH"] = os.pathsep.join([*filter(None, [env.get("PATH", os.defpath)]), str(folder)])


def python_shim(env: Mapping[str, str]) -> Path | None:
    """A folder in the user's cache where `python` is the machine's python3, else the daemon's own interpreter.

    None where there cannot be one (a read-only home, or Windows, where Python installs itself as `python`).
    """
    if os.name == "nt":
        return None
    target = find_program("python3", env.get("PATH")) or _own_python()
    folder = cache_folder(env) / "shims"
    link = folder / "python"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_link(link) or link.readlink() != Path(target):
            fresh = folder / f"python.{os.getpid()}"
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(target)
            fresh.replace(link)
    except OSError:
        return None
    return folder


def _own_python() -> str:
    """The interpreter that this process runs on, without the packages that were installed for the daemon."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def cache_folder(env: Mapping[str, str]) -> Path:
    """The user's cache folder for this program: what LLAMAGENT_CACHE names, else as the system has it."""
    if env.get("LLAMAGENT_CACHE"):
        return Path(env["LLAMAGENT_CACHE"]).absolute()
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "llamagent"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "llamagent" / "cache"
    return Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "llamagent"
