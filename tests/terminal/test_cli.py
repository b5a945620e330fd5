"""The command line: what is what, what is wrong with it, and what starting does not cost."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import llamagent_terminal
from llamagent_server import __version__
from llamagent_server.cli import main
from tests.terminal.terminals import Terminal, environment


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"llamagent-server {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["frob"], "invalid choice: 'frob'"),
        (["ask", "x", "--frob"], "ask: error: unrecognized arguments: --frob\n"),
        (["ask", "x", "--frob"], "[--yes | --no]"),
        (["chat", "hello"], "chat: error: unrecognized arguments: hello\n"),
        (["--frob"], "serve: error: unrecognized arguments: --frob"),
        (["ask", "x", "--yes", "--no"], "not allowed with"),
        (["ask", "x", "-t", "warm"], "invalid float value: 'warm'"),
        (["ask", "x", "--num-ctx", "many"], "invalid int value"),
        (["ask", "x", "-t", "9"], '"temperature" must be a number from 0 to 2'),
        (["chat", "--num-ctx", "1"], '"num_ctx" must be'),
        (["doctor", "--provider", "openia"], '"provider" must be'),
        (["serve", "--url", "ftp://x"], '"url" must be'),
        (["ask", "x", "--dir", "no such folder"], "is no folder"),
        (["ask", "  "], "the text is empty"),
        (["serve", "--tcp", "nowhere"], "not HOST:PORT"),
        (["serve", "--tcp", "127.0.0.1:99999"], "not HOST:PORT"),
        (["serve", "--tcp", "127.0.0.1:0"], "needs --token-file"),
        (["serve", "--stdio", "--tcp", "127.0.0.1:0"], "not allowed with"),
    ],
)
def test_a_wrong_command_line_is_2_and_says_why(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["ask", "--help"], ["chat", "--help"], ["serve", "-h"], ["doctor", "-h"]])
def test_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    assert capsys.readouterr().out.startswith("usage: llamagent-server")


def loaded(code: str) -> set[str]:
    """The top-level names of what `code` imports, and our own modules whole."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return set(out.split())


def test_starting_imports_only_what_it_needs() -> None:
    cli = loaded("from llamagent_server import cli\ncli._parser().parse_args(['serve'])")
    assert not cli & {"pygls", "lsprotocol", "requests", "asyncio", "llamagent_terminal", "llamagent_server.app"}
    client = loaded("import llamagent_terminal.ask, llamagent_terminal.chat")
    assert not client & {"pygls", "lsprotocol", "requests", "asyncio", "llamagent_server.app"}


def test_the_client_knows_nothing_of_the_server_but_the_wire() -> None:
    for file in Path(llamagent_terminal.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("llamagent_server"):
                named = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
                wire = any(name.startswith("llamagent_server.lsp.wire") for name in named)
                assert wire, f"{file.name} imports {node.module}"


@pytest.mark.parametrize("argv", [[], ["serve"], ["--stdio"], ["serve", "--stdio"], ["-m", "gemma3:4b"]])
def test_without_a_command_it_serves_an_editor(argv: list[str], tmp_path: Path) -> None:
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    done = subprocess.run(
        [sys.executable, "-m", "llamagent_server", *argv],
        input=b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies),
        env=environment(tmp_path),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"Content-Length: ")
    assert b'"serverInfo":{"name":"llamagent"' in done.stdout


@pytest.mark.parametrize("argv", [[], ["serve"], ["--stdio"]])
def test_a_person_who_types_it_alone_is_told_what_to_type(argv: list[str], tmp_path: Path) -> None:
    terminal = Terminal([str(tmp_path), "-", *argv], environment(tmp_path))
    terminal.expect("In a terminal: llamagent-server chat")
    assert terminal.ended() == 2


@pytest.mark.parametrize("argv", [["export", "1"], ["doctor"], ["ask", "x"], ["chat"]])
def test_a_workdir_that_is_no_folder_is_named_by_its_variable(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LLAMAGENT_WORKDIR", "no such folder")
    assert main(argv) == 2
    assert "LLAMAGENT_WORKDIR names 'no such folder', which is no folder" in capsys.readouterr().err
    assert main(["serve", "--help"]) == 0  # an editor says which folder it has


def test_the_workdir_is_the_project_unless_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, other = tmp_path / "project", tmp_path / "other"
    (folder / ".llamagent/sessions").mkdir(parents=True)
    other.mkdir()
    event = {"seq": 0, "turn": "t", "kind": "turn.started", "text": "hello there", "time": "2026-01-02T03:04:05Z"}
    lines = [{"type": "session", "version": 1, "id": "s1", "created": "2026-01-02T03:04:05Z", "model": "m"}]
    lines += [{"type": "event", "event": event}, {"type": "message", "role": "user", "content": "hello there"}]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / ".llamagent/sessions/s1.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setenv("LLAMAGENT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LLAMAGENT_WORKDIR", str(folder))
    monkeypatch.chdir(other)
    assert main(["export", "1"]) == 0
    assert "hello there" in capsys.readouterr().out
    assert main(["export", "1", "--dir", "."]) == 1
    assert list(other.iterdir()) == []
