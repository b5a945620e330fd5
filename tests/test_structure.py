"""What holds of the code as a whole: who imports whom, who touches what, how long things are."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SERVER = ROOT / "server" / "llamagent_server"
CLIENT = ROOT / "clients" / "terminal" / "llamagent_terminal"

EVALUATION_TASKS = SERVER / "evaluation" / "tasks"  # other people's programs, as it were: no code of ours

# The rooms from the lowest up. A module imports from its own room and from those before it; rooms on one line do not
# import each other. `processes` (starting programs) has two users, the search and the commands.
RANKS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("settings",),
    ("core",),
    ("agent",),
    ("processes",),
    ("workspace",),
    ("providers", "tools", "store"),
    ("app",),
    ("lsp",),
    ("evaluation",),
    ("cli",),
)
# Modules at the package's top belong to the room that they serve.
ROOM_OF = {
    "toml_lines": "settings",
    "setting_rules": "settings",
    "settings_load": "settings",
    "doctor": "cli",
    "demo": "cli",
    "export": "cli",
    "model_offer": "cli",
    "__main__": "cli",
    "__init__": "errors",
}

# The only modules that may open files, with what for. The workspace reads the project's, the store keeps ours.
FILES_ARE_THE_BUSINESS_OF = ("workspace", "store", "evaluation")
OPENS_FILES = {
    "agent/prompt.py": "the package's own prompts",
    "providers/scripted.py": "the transcript that is played",
    "providers/downloads.py": "the embedded model's file, on its way into the user's cache",
    "providers/fetching.py": "the same: checked, unpacked, in place",
    "providers/model_files.py": "whether a file that the person names is a model",
    "providers/package_index.py": "what pip reports",
    "lsp/catalogue.py": "the package's own translations",
    "lsp/main.py": "the file that holds the token of serve --tcp",
    "lsp/shown.py": "texts too long for a message, in a temporary folder, for the editor to show",
    "processes/bubblewrap.py": "whether the person's .gitconfig holds a key",
    "processes/git_programs.py": "whether a repository's settings name programs",
    "processes/guardian.py": "what the system says of processes",
}
OPENING_CALLS = {"read_text", "write_text", "read_bytes", "write_bytes", "mkstemp", "NamedTemporaryFile", "mkdtemp"}

STARTS_PROGRAMS = "processes"
LONGEST_MODULE = 350
LONGEST_FUNCTION = 60


@dataclass(frozen=True)
class Module:
    path: Path
    package: Path
    tree: ast.Module
    lines: int

    @property
    def name(self) -> str:
        return self.path.relative_to(self.package).as_posix()

    @property
    def dotted(self) -> str:
        parts = self.path.relative_to(self.package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        first = Path(self.name).parts[0].removesuffix(".py")
        return ROOM_OF.get(first, first)

    @property
    def imports(self) -> Iterator[str]:
        """The absolute names of what is imported, at the top or inside a function."""
        return imported(ast.walk(self.tree))

    @property
    def needs(self) -> Iterator[str]:
        """What is imported when the module is."""
        return imported(self.tree.body)


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if is_ours(name) else str(node.module) for name in names)


def is_ours(name: str) -> bool:
    path = (SERVER if name.startswith("llamagent_server") else CLIENT).parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


@cache
def modules(package: Path) -> tuple[Module, ...]:
    found = []
    for path in sorted(set(package.rglob("*.py")) - set(EVALUATION_TASKS.rglob("*.py"))):
        text = path.read_text(encoding="utf-8")
        found.append(Module(path, package, ast.parse(text, str(path)), text.count("\n")))
    return tuple(found)


def everything() -> tuple[Module, ...]:
    return (*modules(SERVER), *modules(CLIENT))


def none(faults: Iterable[str]) -> None:
    """Fails with all `faults` at once, one a line."""
    listed = sorted(set(faults))
    assert not listed, "\n" + "\n".join(listed)


def calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    """Every call by the last word of what is called."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=word) | ast.Attribute(attr=word):
                    yield word, node


# --- Who imports whom -----------------------------------------------------------------------------------------------


def rank(room: str) -> int:
    return next(number for number, rooms in enumerate(RANKS) if room in rooms)


def may_import(importer: str, imported: str) -> bool:
    return importer == imported or rank(imported) < rank(importer)


def test_every_module_belongs_to_a_room() -> None:
    known = {room for rooms in RANKS for room in rooms}
    none(f"{module.name}: no room of that name" for module in modules(SERVER) if module.room not in known)


def imported_rooms(module: Module) -> Iterator[str]:
    for name in module.imports:
        parts = name.split(".")
        if parts[0] == "llamagent_server" and len(parts) > 1 and is_ours(".".join(parts[:2])):
            yield ROOM_OF.get(parts[1], parts[1])


def test_imports_go_one_way() -> None:
    none(
        f"{module.name} imports {room}"
        for module in modules(SERVER)
        for room in imported_rooms(module)
        if not may_import(module.room, room)
    )


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {module.dotted: {name for name in module.needs if name != module.dotted} for module in everything()}
    state: dict[str, str] = {}

    def visit(name: str, road: tuple[str, ...]) -> Iterator[str]:
        state[name] = "open"
        for target in graph[name] & graph.keys():
            if state.get(target) == "open":
                yield " -> ".join((*road[road.index(target) :], target)) if target in road else f"{name} -> {target}"
            elif target not in state:
                yield from visit(target, (*road, target))
        state[name] = "done"

    none(fault for name in graph if name not in state for fault in visit(name, (name,)))


def test_only_the_edge_and_the_terminal_client_know_the_protocols_libraries() -> None:
    none(
        f"{module.name} imports {name}"
        for module in modules(SERVER)
        for name in module.imports
        if name.split(".")[0] in ("pygls", "lsprotocol") and module.room != "lsp"
    )


def test_the_terminal_client_knows_nothing_of_the_server_but_the_wire() -> None:
    none(
        f"{module.name} imports {name}"
        for module in modules(CLIENT)
        for name in module.imports
        if name.split(".")[0] == "llamagent_server"
        and not name.startswith("llamagent_server.lsp.wire")
        and name not in ("llamagent_server", "llamagent_server.lsp", "llamagent_server.__version__")
    )


def test_core_is_the_standard_library_only_and_pure() -> None:
    impure = {"os", "pathlib", "io", "socket", "asyncio", "threading", "subprocess", "time", "random", "secrets"}
    none(
        f"{module.name} imports {name}"
        for module in modules(SERVER)
        if module.room == "core"
        for name in module.imports
        if name.split(".")[0] in impure or name.split(".")[0] not in sys.stdlib_module_names | {"llamagent_server"}
    )
    none(
        f"{module.name}:{node.lineno} is asynchronous"
        for module in modules(SERVER)
        if module.room == "core"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.AsyncFunctionDef | ast.Await)
    )


def test_only_providers_speak_to_the_network() -> None:
    network = {"socket", "ssl", "http", "urllib.request", "requests", "urllib3", "ftplib", "smtplib", "xmlrpc"}
    allowed = {"lsp/main.py", "lsp/transport.py"}  # serve --tcp listens for editors, and dials nobody
    none(
        f"{module.name} imports {name}"
        for module in modules(SERVER)
        for name in module.imports
        if (name.split(".")[0] in network or name.startswith("urllib.request"))
        and module.room != "providers"
        and module.name not in allowed
    )


def test_only_one_room_starts_programs() -> None:
    starting = {"Popen", "create_subprocess_exec", "create_subprocess_shell", "system", "popen", "execv", "execvp"}
    starting |= {"execve", "execvpe", "posix_spawn", "posix_spawnp", "spawnv", "spawnl", "fork", "forkpty", "startfile"}
    none(
        f"{module.name}:{node.lineno} calls {word}"
        for module in modules(SERVER)
        if module.room != STARTS_PROGRAMS
        for word, node in calls(module)
        if word in starting and not (word == "system" and _is_platform(node))
    )
    none(
        f"{module.name} imports {name}"
        for module in modules(SERVER)
        if module.room != STARTS_PROGRAMS
        for name in module.imports
        if name.split(".")[0] in ("subprocess", "pty", "multiprocessing")
    )


def _is_platform(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "platform"


def test_only_the_workspace_and_the_store_open_files() -> None:
    none(
        f"{module.name}:{node.lineno} calls {word}"
        for module in modules(SERVER)
        if module.room not in FILES_ARE_THE_BUSINESS_OF and module.name not in OPENS_FILES
        for word, node in calls(module)
        if word in OPENING_CALLS or _opens_a_file(node)
    )


def _opens_a_file(call: ast.Call) -> bool:
    """The builtin, `os.open` (but of the null device), and `path.open`, which has a mode in it or nothing; methods of
    ours that are called `open` are given what to open."""
    text = ast.unparse(call.func)
    if text in ("open", "io.open", "os.open", "codecs.open", "os.fdopen"):
        return not call.args or ast.unparse(call.args[0]) != "os.devnull"
    return text.endswith(".open") and (not call.args or isinstance(call.args[0], ast.Constant))


def test_the_exceptions_are_still_needed() -> None:
    names = {module.name for module in modules(SERVER)}
    none(f"{name} is gone" for name in OPENS_FILES if name not in names)


# --- Form -----------------------------------------------------------------------------------------------------------


def test_each_module_says_its_duty_in_its_first_line() -> None:
    none(
        f"{module.path.relative_to(ROOT)}: no docstring that begins with a line of words"
        for module in everything()
        if module.path.name != "__init__.py" or module.lines
        if not (ast.get_docstring(module.tree) or "").split("\n")[0].strip()
    )


def test_no_module_is_too_long() -> None:
    none(
        f"{module.path.relative_to(ROOT)}: {module.lines} lines"
        for module in everything()
        if module.lines > LONGEST_MODULE
    )


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_function_is_too_long() -> None:
    none(
        f"{module.path.relative_to(ROOT)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for module in everything()
        for node in functions(module.tree)
        if node.end_lineno is not None and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    )


def test_imports_are_absolute() -> None:
    none(
        f"{module.path.relative_to(ROOT)}:{node.lineno}"
        for module in everything()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    )


def test_no_error_is_caught_without_being_named() -> None:
    none(
        f"{module.path.relative_to(ROOT)}:{node.lineno}"
        for module in everything()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    )


def test_nothing_is_named_for_what_anything_could_be() -> None:
    vague = ("util", "helper", "manager", "misc", "common")
    none(
        f"{module.path.relative_to(ROOT)}: {name}"
        for module in everything()
        for name in (
            module.path.stem,
            *(node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)),
        )
        if any(word in name.lower() for word in vague)
    )


# --- Importing ------------------------------------------------------------------------------------------------------

_IMPORT_ALL = """
import importlib, os, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
assert not others, others
"""


def importable() -> list[str]:
    return [module.dotted for module in everything() if module.path.stem != "__main__"]


_UNTIL_THE_FIRST_REPLY = """
import sys
import llamagent_server.cli, llamagent_server.lsp.main
late = ("agent", "app", "evaluation", "providers", "store", "tools", "workspace")
print(*sorted(name for name in sys.modules if name.split(".")[:1] == ["llamagent_server"] and name.split(".")[1:2] and
    name.split(".")[1] in late or name == "llamagent_server.core.events"))
"""


def test_an_editor_waits_for_the_edge_alone() -> None:
    """What is imported before the reply to `initialize`; the rest comes while the editor reads it."""
    done = subprocess.run([sys.executable, "-c", _UNTIL_THE_FIRST_REPLY], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


_SERVING = """
import gc
from llamagent_server import cli
from llamagent_server.lsp import main
main.serve_stdio = lambda options: print(gc.isenabled(), gc.get_freeze_count() > 1000) or 0
cli.main(["serve", "--stdio"])
"""


def test_a_daemon_collects_garbage_but_not_among_what_it_imported() -> None:
    done = subprocess.run([sys.executable, "-c", _SERVING], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_importing_prints_and_creates_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = os.environ | {"HOME": str(home), "USERPROFILE": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("LLAMAGENT_HOME", None)
    names = [name for name in importable() if not _belongs_elsewhere(name)]
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL, *names], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.rglob("*")) == [home]


def _belongs_elsewhere(name: str) -> bool:
    """Modules that only another system can import."""
    return name.endswith(".windows") and os.name != "nt"


@pytest.mark.parametrize("module", ["llamagent_server.cli", "llamagent_server.lsp.wire"])
def test_what_starts_often_imports_no_more_than_it_needs(module: str) -> None:
    script = f"import sys, {module}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pygls", "lsprotocol", "requests", "pytest"} & set(done.stdout.split())
