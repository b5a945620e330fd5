"""Half-written copies of a client that was killed: noted before they are made, removed at the next start.

A note is a file of the user's folder, named like the copy; it holds the copy's path and the number of the process.
"""

import json
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

PREFIX = ".llamagent-"
_FOLDER = "unfinished"
_OLD_SECONDS = 3600.0


def user_folder() -> Path:
    return Path(os.environ.get("LLAMAGENT_HOME") or "~/.llamagent").expanduser()


def note(copy: Path) -> None:
    """`copy` may stay behind when this process is killed. Where no note can be made, it is written without."""
    name = _note_of(copy)
    with suppress(OSError):
        name.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        name.write_text(json.dumps({"path": str(copy), "pid": os.getpid()}), "utf-8")


def forget(copy: Path) -> None:
    """`copy` was moved to its place, or removed."""
    with suppress(OSError):
        _note_of(copy).unlink(missing_ok=True)


def _note_of(copy: Path) -> Path:
    return user_folder() / _FOLDER / f"{copy.name}.json"


def sweep() -> None:
    """Remove the copies of processes that are gone, and their notes. What is no plain file of ours is left."""
    for name in (user_folder() / _FOLDER).glob(f"{PREFIX}*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):  # damaged, or another client was faster
            said = json.loads(name.read_text("utf-8"))
            if _is_over(name, int(said["pid"])):
                _remove(Path(said["path"]), name)


def _remove(copy: Path, note: Path) -> None:
    if copy.name == note.stem and copy.name.startswith(PREFIX):
        with suppress(FileNotFoundError):
            if stat.S_ISREG(copy.lstat().st_mode):
                copy.unlink()
    note.unlink(missing_ok=True)


def _is_over(note: Path, pid: int) -> bool:
    """Windows has no harmless way to ask for a process by its number: there a note must be old."""
    if sys.platform == "win32":
        return time.time() - note.stat().st_mtime > _OLD_SECONDS
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
