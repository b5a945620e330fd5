"""The programs that are measured beside ours, in an environment of their own: made at first use, with pip."""

import subprocess
import sys
import venv
from pathlib import Path

PLACE = Path(__file__).parent.parent / ".cache" / "bench"
REQUIREMENTS = ("llamagent==0.1.0", "jedi-language-server==0.47.0", "python-lsp-server==1.15.0")
_STAMP = PLACE / "ready"


def peer(name: str) -> str:
    """The path of the program `name` of a peer. Raises CalledProcessError where pip cannot fetch them."""
    wanted = "\n".join((sys.version, *REQUIREMENTS))
    if not _STAMP.exists() or _STAMP.read_text() != wanted:
        venv.create(PLACE, with_pip=True, clear=True)
        subprocess.run([_program("python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        _STAMP.write_text(wanted)
    return _program(name)


def _program(name: str) -> str:
    return str(PLACE / "bin" / name) if sys.platform != "win32" else str(PLACE / "Scripts" / f"{name}.exe")
