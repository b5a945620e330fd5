"""Copies the daemon and what it needs at run time into bundled/: pure Python only, so that one .vsix serves everywhere.

It copies what is installed beside the Python that runs it, and stops where a dependency is missing or has no pure form.
"""

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePath

EXTENSION = Path(__file__).resolve().parent.parent
PROJECT = EXTENSION.parent.parent
TARGET = EXTENSION / "bundled"
COMPILED = {".so", ".pyd", ".dll", ".dylib"}
LICENCES = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)


def main() -> None:
    shutil.rmtree(TARGET, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(PROJECT / "server" / "llamagent_server", TARGET / "server" / "llamagent_server", ignore=ignored)
    shutil.copy(EXTENSION / "scripts" / "start.py", TARGET / "start.py")
    with (PROJECT / "pyproject.toml").open("rb") as file:
        required = tomllib.load(file)["project"]["dependencies"]
    names = sorted(closure(required))
    for name in names:
        copy(distribution(name))
    sys.stderr.write(f"bundled the daemon with {', '.join(names)}\n")


def closure(required: list[str]) -> set[str]:
    """The names of all that these requirements need, on some platform, without extras."""
    found: set[str] = set()
    waiting = list(needed(required))
    while waiting:
        current = normal(waiting.pop())
        if current in found:
            continue
        try:
            more = distribution(current).requires or []
        except PackageNotFoundError:
            sys.exit(f"{current} is not installed beside {sys.executable}; run `make venv` first")
        found.add(current)
        waiting.extend(needed(more))
    return found


def needed(required: list[str]) -> Iterator[str]:
    for line in required:
        requirement, _, marker = line.partition(";")
        if "extra" in marker or "python_version < " in marker or "python_full_version < " in marker:
            continue  # optional, or for a Python older than the daemon's oldest
        yield re.split(r"[\s<>=!~\[(]", requirement.strip())[0]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def copy(package: Distribution) -> None:
    files = [PurePath(file) for file in package.files or []]
    python = {file.with_suffix("").as_posix() for file in files if file.suffix == ".py"}
    for file in files:
        if ".." in file.parts or "__pycache__" in file.parts or file.suffix == ".pyc":
            continue
        if file.suffix in COMPILED:
            stem = file.as_posix().split(".")[0]
            if stem not in python and "__mypyc" not in stem:
                sys.exit(f"{file} has no pure form")
            continue
        in_info = file.parts[0].endswith(".dist-info")
        if not in_info or LICENCES.search(file.name) or file.name == "METADATA":
            destination = TARGET / "libs" / file
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(str(package.locate_file(file))), destination)


main()
