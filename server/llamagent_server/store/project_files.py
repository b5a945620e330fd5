"""The files of ours that a project can have: what `init` proposes where it is missing, and nothing else."""

import os
from pathlib import Path

from llamagent_server.errors import RequestError
from llamagent_server.store import places
from llamagent_server.store.places import PROJECT_FOLDER, Place

NOTES_TEXT = """# Notes for who works on this project

- What it is for: ...
- How to run it: ...
- How to run its tests: ...
- How its code is written: ...
- What must not be changed: ...
"""
_CONFIG = """# llamagent's settings for this project; they stand before those in ~/.llamagent/config.toml.
# They count once the folder is trusted. Take the # away to set one.
# model = "qwen3.5:4b"
# temperature = 0.2
# num_ctx = 8192
# allowed_commands = ["pytest", "git status", "git diff"]
"""
IGNORE = "# Written by llamagent: conversations are private.\nsessions/\n"
# Beside conversations alone nothing is there to be shared: what git shows of the project stays as it was.
IGNORE_ALL = f"{IGNORE}/.gitignore\n"
_SKILLS = """Skills of this project: a file NAME.md each, or a folder NAME with a file SKILL.md.

    ---
    description: One line that says when to use it.
    ---
    # What to do
    1. ...

The model is told the names and descriptions, and loads a skill's text when it needs it. A skill here stands before
your own of the same name. This file is none: it is not read.
"""
_FILES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    ((), "config.toml", _CONFIG),
    ((), ".gitignore", IGNORE),
    (("skills",), "README.txt", _SKILLS),
)


def project_files() -> tuple[str, ...]:
    """The paths of all of them, below the project's folder."""
    return tuple(_path(below, name) for below, name, _ in _FILES)


def missing_files(folder: Path) -> dict[str, str]:
    """The texts of those that are not there, by their paths. Raises RequestError where the project's folder of ours
    cannot be used."""
    place = places.project_place(folder)
    for below in {below for below, _, _ in _FILES}:
        if (reason := places.obstacle(place.below(*below))) is not None:
            raise RequestError(f"The project cannot be set up: {reason}.")
    return {_path(below, name): text for below, name, text in _FILES if not _is_there(place.below(*below), name)}


def _is_there(place: Place, name: str) -> bool:
    return os.path.lexists(place.path / name)


def _path(below: tuple[str, ...], name: str) -> str:
    return "/".join((PROJECT_FOLDER, *below, name))
