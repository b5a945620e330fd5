"""What of a git repository decides which programs git itself runs, also for `git status`: hooks, and settings of it
that name a program. A clone brings neither; an archive, a shared disk or a folder that was sent can."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from llamagent_server.processes.there import is_file, is_folder

_CONFIGS = ("config", "config.worktree")
_BYTES = 1_000_000
_NAMES_PROGRAM = re.compile(
    r"(?<![\w-])(?:pager|sshcommand|hookspath|editor|askpass|gitproxy|alternaterefscommand|clean|smudge|process|external|"
    r"command|textconv|driver|helper|program|difffilter|cmd|uploadpack|receivepack|packobjectshook|worktree|"
    r"fsmonitor(?!\s*=\s*(?:true|false)\s))\s*=|\[\s*(?:alias|include|includeif|pager)\b",
    re.IGNORECASE,
)


def git_programs(folder: Path) -> str | None:
    """The file or folder of the repository around `folder` that names programs, None where none does. Blocking."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if is_file(git):
            # One whose data lie elsewhere: in a work tree of the person's own, or in what was sent along.
            return str(git) if _leads_into(git, place) else None
        if is_folder(git):
            return next(_found(git), None)
        if is_file(place / "HEAD") and is_folder(place / "objects") and is_folder(place / "refs"):
            return next(_found(place), None)
    return None


def _found(git: Path) -> Iterator[str]:
    for name in _CONFIGS:
        if _NAMES_PROGRAM.search(f"{_text(git / name)}\n"):
            yield str(git / name)
    try:
        hooks = sorted(entry.name for entry in os.scandir(git / "hooks"))
    except OSError:
        return
    yield from (str(git / "hooks" / name) for name in hooks if not name.endswith(".sample"))


def _leads_into(link: Path, place: Path) -> bool:
    where = _text(link).removeprefix("gitdir:").strip()
    return Path(os.path.realpath(place / where)).is_relative_to(os.path.realpath(place))


def _text(file: Path) -> str:
    """ "" for what is no ordinary file, or cannot be read."""
    if not is_file(file):
        return ""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(_BYTES)
    except (OSError, ValueError):
        return ""
