"""What in the workspace a sandboxed command may not write: all that is there and that no edit may write either.

Only git's own commands that add to the history may write into `.git`, and not even they where it says what git runs.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from llamagent_server.processes.box import Reach
from llamagent_server.processes.there import is_file, is_folder, is_there
from llamagent_server.workspace.ignore import SKIPPED
from llamagent_server.workspace.names import protected

GIT = ".git"
# In a repository's data: what is run, or says what is run.
_RUN_BY_GIT = ("hooks", "config", "config.worktree", "info", "modules", "worktrees", "commondir", "gitdir")
# The nearest come first; in a very large workspace, what lies deep is not looked for.
MOST_ENTRIES = 20_000
MOST_GUARDED = 300
_NOT_ENTERED = frozenset(SKIPPED)


def reach(folders: Sequence[Path], *, history: bool) -> Reach:
    """`history`: the command is one of git's that add to it. Blocking."""
    roots = tuple(dict.fromkeys(Path(os.path.realpath(folder)) for folder in folders))
    read_only: list[Path] = []
    writable: list[Path] = []
    for path in _protected_paths(roots):
        if history and path.name == GIT and is_folder(path / "hooks") and is_file(path / "config"):
            writable.append(path)
            read_only += [path / name for name in _RUN_BY_GIT if is_there(path / name)]
        else:
            read_only.append(path)
    return Reach(roots, tuple(read_only), tuple(writable))


def _protected_paths(roots: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    pending = deque(roots)
    looked_at = 0
    while pending and looked_at < MOST_ENTRIES and len(found) < MOST_GUARDED:
        folder = pending.popleft()
        for entry in _entries(folder):
            looked_at += 1
            if protected((folder.name, entry.name)):
                # A link cannot be kept, only what it leads to, where that is in the workspace.
                real = Path(os.path.realpath(entry.path))
                if is_there(real) and any(real.is_relative_to(root) and real != root for root in roots):
                    found.append(real)
            elif entry.name not in _NOT_ENTERED and entry.is_dir(follow_symlinks=False):
                pending.append(Path(entry.path))
    return list(dict.fromkeys(found))[:MOST_GUARDED]


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            yield from found
    except OSError:
        return  # not readable: then not writable either, or gone
