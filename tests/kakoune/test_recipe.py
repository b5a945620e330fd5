"""The recipe of docs/editors for Kakoune, on a real one in a terminal of its own."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.fakes import FakeOllama, call, say
from tests.terminal.terminals import environment

PAGE = (Path(__file__).parents[2] / "docs/editors/README.md").read_text(encoding="utf-8")
SECONDS = 30.0

if shutil.which("kak") is None or shutil.which("setsid") is None:
    pytest.skip("install kakoune for these tests", allow_module_level=True)


def recipe() -> str:
    """The first lines of configuration on the page."""
    found = re.search(r"^## Kakoune$.*?```kak\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@contextmanager
def kakoune(file: Path, env: dict[str, str]) -> Iterator[int]:
    """A Kakoune that shows `file`; its terminal, to be typed at and read."""
    screen, keyboard = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    # A terminal that is not its own ends it at once.
    command = ["setsid", "--ctty", "--wait", "kak", str(file)]
    process = subprocess.Popen(command, stdin=keyboard, stdout=keyboard, stderr=keyboard, env=env)
    os.close(keyboard)
    try:
        yield screen
    finally:
        os.close(screen)  # it ends with its terminal
        process.wait(SECONDS)


def seen(screen: int, words: str) -> str:
    """What is drawn until `words` are."""
    shown, deadline = "", monotonic() + SECONDS
    while words not in re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", shown):
        ready, _, _ = select.select([screen], [], [], max(deadline - monotonic(), 0))
        assert ready, f"{words!r} never came. The screen:\n{shown}"
        shown += os.read(screen, 65536).decode(errors="replace")
    return shown


def test_a_question_is_answered_in_a_buffer_and_a_written_edit_is_reloaded(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "proj"
    (home / ".config/kak").mkdir(parents=True)
    (home / ".config/kak/kakrc").write_text(recipe(), encoding="utf-8")
    root.mkdir()
    file = root / "app.py"
    file.write_text("def add(a, b):\n    return a - b\n")
    replies = [
        say("It subtracts."),
        call("edit_file", path="app.py", old_text="a - b", new_text="a + b"),
        say("Mended."),
    ]
    with FakeOllama(replies=replies) as model:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = environment(home, OLLAMA_URL=model.url, PATH=path, LLAMAGENT_WORKDIR=str(root))
        with kakoune(file, env | {"XDG_CONFIG_HOME": str(home / ".config")}) as screen:
            seen(screen, "return a - b")
            os.write(screen, b":llamagent what does @app.py do?\r")
            seen(screen, "It subtracts.")
            assert "return a - b" in str(model.requests[0].json["messages"])
            os.write(screen, f":edit {file}\r".encode())
            seen(screen, "return a - b")
            done = subprocess.run(
                [sys.executable, "-m", "llamagent_server", "ask", "--yes", "mend it"],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            seen(screen, "return a + b")
