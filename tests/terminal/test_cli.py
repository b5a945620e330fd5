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
from tests.terminal.terminals import environment


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
                assert "llamagent_server.lsp.wire" in named, f"{file.name} imports {node.module}"


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
