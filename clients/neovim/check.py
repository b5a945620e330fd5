"""Checks of the Neovim plugin, called by `make check`: format (stylua), lint (luacheck), and complete LuaCATS types.

    python clients/neovim/check.py [--fix]

Installs nothing. Needs node with the packages of `clients/neovim/package.json` (`npm ci` there) and luacheck (Debian:
lua-check); says what is missing.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STYLUA = HERE / "node_modules" / "@johnnymorganz" / "stylua" / "package.json"
LONGEST_MODULE = 350  # lines


@dataclass(frozen=True, slots=True)
class Function:
    """A public function: `name` as written, `line` is 1-based, `notes` are the comment lines right above."""

    name: str
    line: int
    arguments: tuple[str, ...]
    notes: str
    body: str


def main(arguments: list[str]) -> int:
    problems = [*format_problems(fix="--fix" in arguments), *lint_problems(), *type_problems()]
    for problem in problems:
        print(problem)  # noqa: T201 -- a program for the console
    return 1 if problems else 0


def modules() -> list[Path]:
    return sorted(path for path in HERE.rglob("*.lua") if "node_modules" not in path.parts)


def format_problems(*, fix: bool) -> Iterator[str]:
    node = shutil.which("node")
    if node is None or not STYLUA.exists():
        yield "stylua is missing: run `npm ci` in clients/neovim (needs node)"
        return
    command = [node, str(HERE / "stylua.mjs"), *(["--fix"] if fix else []), *map(str, modules())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    yield from (done.stdout + done.stderr).splitlines()
    if done.returncode and not done.stdout:
        yield f"stylua ended with code {done.returncode}"


def lint_problems() -> Iterator[str]:
    luacheck = shutil.which("luacheck")
    if luacheck is None:
        yield "luacheck is missing: install it (Debian: apt-get install lua-check)"
        return
    command = [
        luacheck,
        "--quiet",
        "--no-color",
        "--codes",
        "--config",
        str(HERE / ".luacheckrc"),
        *map(str, modules()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield from (line for line in done.stdout.splitlines() if line.strip())


def type_problems() -> Iterator[str]:
    for path in modules():
        text = path.read_text("utf-8")
        where = path.relative_to(HERE)
        if not text.startswith("--- "):
            yield f"{where}:1: the first line does not say what the module is for"
        if text.count("\n") > LONGEST_MODULE:
            yield f"{where}: longer than {LONGEST_MODULE} lines"
        for function in public_functions(text):
            yield from (f"{where}:{function.line}: {problem}" for problem in annotation_problems(function))


def public_functions(text: str) -> Iterator[Function]:
    """Functions of a module's or class' table, at the top level of the file."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"function ([A-Z]\w*[.:]\w+)\(([^)]*)\)", line)
        if found:
            notes = []
            for above in reversed(lines[:number]):
                if not above.startswith("---"):
                    break
                notes.append(above)
            end = next(i for i in range(number, len(lines)) if lines[i] == "end")
            arguments = tuple(name.strip() for name in found[2].split(",") if name.strip())
            yield Function(
                found[1], number + 1, arguments, "\n".join(reversed(notes)), "\n".join(lines[number + 1 : end])
            )


def annotation_problems(function: Function) -> Iterator[str]:
    for argument in function.arguments:
        if argument != "_" and not re.search(rf"---@param {re.escape(argument)}\??\s+\S", function.notes):
            yield f"{function.name}: no ---@param {argument}"
    if returns_value(function.body) and "---@return" not in function.notes:
        yield f"{function.name}: no ---@return"
    private = ":" in function.name
    if not private and not re.search(r"^--- \S", function.notes, re.MULTILINE):
        yield f"{function.name}: no line that says what it does"


def returns_value(body: str) -> bool:
    """Whether the function itself, not one inside it, returns something."""
    inner: list[int] = []
    for line in body.splitlines():
        indent = len(line) - len(line.lstrip())
        while inner and indent <= inner[-1] and re.match(r"\s*end\b", line):
            inner.pop()
        if not inner and re.search(r"\breturn (?!end\b)\S", line) and "function" not in line:
            return True
        if re.search(r"\bfunction\b[^)]*\)\s*$", line):
            inner.append(indent)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
