"""The sandbox that commands run in: which one this system has, whether it works, and what is asked of it.

What differs by system is one small module each (`bubblewrap`, `seatbelt`); elsewhere there is none.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from llamagent_server.processes import bubblewrap, seatbelt
from llamagent_server.processes.box import Box
from llamagent_server.processes.programs import find_program

_PROBE_SECONDS = 10.0


class Sandbox(Protocol):
    """How a command line is put into a box. `reports`: its part within tells the guardian what was left running."""

    reports: bool

    def argv(self, inner: Sequence[str], box: Box, env: Mapping[str, str]) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """`why` there is none: a sentence for the person. `hint`: what would help."""

    why: str
    hint: str = ""


def find_sandbox(folders: Sequence[Path], env: Mapping[str, str]) -> Sandbox | NoSandbox:
    """The sandbox of this system, tried once with these folders: it ran something in them. Blocking."""
    return _tried(tuple(folders), env.get("PATH"), env.get("HOME"))


@lru_cache(maxsize=8)
def _tried(folders: tuple[Path, ...], path: str | None, home: str | None) -> Sandbox | NoSandbox:
    if Path("/") in folders:
        return NoSandbox("The whole file system is open as the workspace.", "Open a folder of it.")
    env = {name: value for name, value in (("PATH", path), ("HOME", home)) if value is not None}
    found = _installed(folders, path)
    if isinstance(found, NoSandbox):
        return found
    # It must start, leave the folders as writable as they are, and keep the network away.
    checks = [f'[ -w "${number}" ]' for number, folder in enumerate(folders, 1) if os.access(folder, os.W_OK)]
    inner = ["/bin/sh", "-c", " && ".join([*checks, "exit 0"]), "sh", *map(str, folders)]
    box = Box(folders[0] if folders else Path("/"), folders)
    try:
        done = subprocess.run(
            found.argv(inner, box, env),
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return NoSandbox(f"The sandbox does not work here ({error}).", _HELP)
    if done.returncode == 0:
        return found
    words = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return NoSandbox(f"The sandbox does not work here ({words[-1] if words else 'it ended at once'}).", _HELP)


_HELP = "See docs/SECURITY.md, Sandbox."


def _installed(folders: Sequence[Path], path: str | None) -> Sandbox | NoSandbox:
    if sys.platform.startswith("linux"):
        program = find_program("bwrap", path)
        if program is None or any(Path(program).resolve().is_relative_to(folder.resolve()) for folder in folders):
            return NoSandbox("bubblewrap (bwrap) is not installed.", "Install the package bubblewrap.")
        return bubblewrap.Bubblewrap(program, sized=_knows_size(program))
    if sys.platform == "darwin":
        if not os.access(seatbelt.PROGRAM, os.X_OK):
            return NoSandbox(f"{seatbelt.PROGRAM} is missing.")
        return seatbelt.Seatbelt()
    return NoSandbox("There is no sandbox for this system yet.")


def _knows_size(program: str) -> bool:
    """Versions before 0.7 cannot bound a tmpfs."""
    try:
        told = subprocess.run(
            [program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--size" in told.stdout + told.stderr
