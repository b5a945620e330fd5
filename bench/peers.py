"""The programs that are measured beside ours, in an environment of their own: made at first use, with pip."""

import subprocess
import sys
import venv
from pathlib import Path

# Resolved: the programs name their Python by its path, and a link to here may be gone tomorrow.
PLACE = (Path(__file__).parent.parent / ".cache" / "bench").resolve()
REQUIREMENTS = ("llamagent==0.1.0", "jedi-language-server==0.47.0", "python-lsp-server==1.15.0")


def peer(name: str) -> str:
    """The path of the program `name` of a peer. Raises SystemExit with what to do where pip cannot fetch them."""
    wanted = "\n".join((sys.version, *REQUIREMENTS))
    stamp = PLACE / "ready"
    if not stamp.exists() or stamp.read_text() != wanted or not _can_start():
        try:
            venv.create(PLACE, with_pip=True, clear=True)
            subprocess.run([_program("python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"What ours is compared with ({', '.join(REQUIREMENTS)}) cannot be installed into {PLACE} ({error}). "
                "It needs pip and a package index, once."
            ) from error
        stamp.write_text(wanted)
    return _program(name)


def _can_start() -> bool:
    """Not so where the environment was moved, or its Python is gone."""
    try:
        subprocess.run([_program("pip"), "--version"], check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _program(name: str) -> str:
    return str(PLACE / "bin" / name) if sys.platform != "win32" else str(PLACE / "Scripts" / f"{name}.exe")
