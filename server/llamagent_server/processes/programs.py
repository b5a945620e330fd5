"""Where a program is that we start by its name. A PATH may name folders relative to where one is, and so a program in
whatever project is open: such entries do not count here."""

import os
import shutil
from pathlib import Path


def find_program(name: str, path: str | None) -> str | None:
    """The full path of the program `name` in the folders of `path` (as PATH has them; None: the system's own)."""
    for entry in (os.defpath if path is None else path).split(os.pathsep):
        if Path(entry).is_absolute() and (found := shutil.which(str(Path(entry) / name))) is not None:
            return found
    return None


def has_relative_entries(path: str | None) -> bool:
    """Whether what a name means depends on the folder one is in. An empty entry is that folder."""
    return path is not None and not all(Path(entry).is_absolute() for entry in path.split(os.pathsep))
