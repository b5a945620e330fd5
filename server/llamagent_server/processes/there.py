"""Whether something is there, as far as this user may look: a folder that is shut to them is an answer, no failure."""

import stat
from pathlib import Path


def is_there(path: Path) -> bool:
    """Links are followed."""
    return _mode(path) is not None


def is_folder(path: Path) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def is_file(path: Path) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_link(path: Path) -> bool:
    mode = _mode(path, follow=False)
    return mode is not None and stat.S_ISLNK(mode)


def _mode(path: Path, *, follow: bool = True) -> int | None:
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return None
