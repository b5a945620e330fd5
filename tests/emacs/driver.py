"""Emacs under test: a real one in a pseudo terminal, typed at by keys and asked by emacsclient."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "docs" / "editors" / "emacs.md"
PATIENCE = 20.0  # seconds until a test gives up
_COLUMNS, _ROWS = 160, 45

# Nothing on the screen moves by itself, and what the echo area said stays to be read.
_INIT = """
(setq inhibit-startup-screen t ring-bell-function #'ignore make-backup-files nil auto-save-default nil
      create-lockfiles nil suggest-key-bindings nil
      extended-command-suggest-shorter nil eglot-sync-connect 30 message-log-max t)
(require 'server)
(setq server-socket-dir %s server-name "s")
(server-start)
"""


class Emacs:
    """Waiting methods fail after `PATIENCE` seconds and say what was there instead."""

    def __init__(self, screen: int, home: Path, socket: Path) -> None:
        self._screen = screen
        self._home = home
        self._socket = socket
        self._wrote = bytearray()
        threading.Thread(target=self._drain, daemon=True).start()

    def type(self, keys: str) -> None:
        """Keys as a person types them."""
        os.write(self._screen, keys.encode())

    def eval(self, form: str) -> Any:
        """The value of an Emacs Lisp form that JSON can hold (nil is None, t is True)."""
        wrapped = f"(progn (require 'json) (json-encode {form}))"
        done = subprocess.run(
            ["emacsclient", "-s", str(self._socket), "--eval", wrapped],
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{form}: {done.stderr}"
        return json.loads(json.loads(_unoctal(done.stdout)))

    def until(self, form: str, what: str = "") -> Any:
        """Wait until the form is not nil; its value."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self.eval(form)):
            assert time.monotonic() < deadline, f"not so: {what or form}\n{self.situation()}"
            time.sleep(0.02)
        return value

    def until_asked(self, text: str) -> str:
        """Wait until a question with `text` is in the minibuffer; all of it."""
        shown = "(let ((w (active-minibuffer-window))) (and w (with-current-buffer (window-buffer w) (buffer-string))))"
        found = f'(let ((s {shown})) (and s (string-match-p (regexp-quote {_string(text)}) s) (format "%s" s)))'
        return str(self.until(found, f"a question with {text!r}"))

    def until_said(self, text: str) -> None:
        """Wait until a message in the echo area held `text`."""
        self.until(f"(and (string-match-p (regexp-quote {_string(text)}) {_MESSAGES}) t)", f"a message with {text!r}")

    def open(self, path: Path) -> None:
        """Visit a file as a person does and start eglot there."""
        self.eval(f"(progn (find-file {_string(str(path))}) (set-window-buffer nil (current-buffer)) t)")
        self.type("\x1bxeglot\r")
        self.until(f"(with-current-buffer {_buffer(path)} (and (eglot-current-server) (eglot-managed-p) t))", "eglot")

    def text(self, path: Path) -> str | None:
        """The text of the file's buffer; None where it has none."""
        value = self.eval(f"(let ((b {_buffer(path)})) (and b (with-current-buffer b (buffer-string))))")
        return None if value is None else str(value)

    def until_text(self, path: Path, expected: str) -> None:
        same = (
            f"(let ((b {_buffer(path)})) (and b (equal (with-current-buffer b (buffer-string)) {_string(expected)})))"
        )
        self.until(same, f"{path.name} is {expected!r}")

    def modified(self, path: Path) -> bool:
        return bool(self.eval(f"(buffer-modified-p {_buffer(path)})"))

    def ask(self, words: str) -> None:
        """As the page says, by keys."""
        self.type(f"\x1bxllamagent-ask\r{words}\r")

    def begin(self, folder: Path, text: str) -> None:
        """A new conversation, no file open but `a.py` with that text, nothing said so far."""
        self.eval(f"""(progn
          (dolist (b (buffer-list)) (with-current-buffer b
            (when (and buffer-file-name (not (equal (buffer-name) "a.py"))) (set-buffer-modified-p nil) (kill-buffer))))
          (switch-to-buffer "a.py") (deactivate-mark) (erase-buffer) (insert {_string(text)}) (goto-char 1)
          (save-buffer)
          (with-current-buffer "*Messages*" (let ((inhibit-read-only t)) (erase-buffer)))
          (llamagent--do "new") t)""")
        self.until_said("llamagent: (:session")
        assert (folder / "a.py").read_text("utf-8") == text

    def situation(self) -> str:
        tail = bytes(self._wrote[-3000:]).decode(errors="replace")
        return f"messages:\n{self.eval(_MESSAGES)}\nterminal:\n{tail!r}"

    def _drain(self) -> None:
        try:
            while piece := os.read(self._screen, 65536):
                self._wrote += piece
        except OSError:  # Emacs is gone, and with it the other side
            return


_MESSAGES = '(with-current-buffer "*Messages*" (buffer-string))'


def _buffer(path: Path) -> str:
    return f"(find-buffer-visiting {_string(str(path))})"


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unoctal(printed: str) -> str:
    """A string as Emacs prints it, as JSON: what it writes as octal bytes is text again."""
    pieces = re.sub(rb"\\([0-3][0-7]{2})", lambda m: bytes([int(m[1], 8)]), printed.encode())
    return pieces.decode().replace("\n", "\\n").removesuffix("\\n")


def recipe() -> str:
    """The Emacs Lisp that the page gives to its readers, as it is."""
    [block] = re.findall(r"```elisp\n(.*?)```", RECIPE.read_text("utf-8"), re.DOTALL)
    return str(block)


def program(folder: Path) -> Path:
    """A folder for PATH in which `llamagent-server` is the one of this tree."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "llamagent-server"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m llamagent_server "$@"\n', "utf-8")
    script.chmod(0o755)
    return folder


@contextmanager
def emacs(home: Path, **variables: str) -> Iterator[Emacs]:
    """An Emacs with the page's recipe as its init file, and nothing of the person's own settings."""
    home.mkdir(parents=True, exist_ok=True)
    sockets = Path(tempfile.mkdtemp(prefix="emacs"))  # the path of a socket must be short
    folder = home / ".emacs.d"
    folder.mkdir()
    (folder / "early-init.el").write_text("(setq native-comp-deferred-compilation nil)\n", "utf-8")
    (folder / "init.el").write_text(_INIT % _string(str(sockets)) + recipe(), "utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OLLAMA", "EMACS"))}
    path = f"{program(home / 'bin')}{os.pathsep}{kept['PATH']}"
    env = kept | {"HOME": str(home), "TERM": "xterm", "PATH": path, "LC_ALL": "C.UTF-8"} | variables
    screen, keyboard = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    argv = ["setsid", "--ctty", "emacs", "-nw"]  # it opens /dev/tty itself
    process = subprocess.Popen(argv, stdin=keyboard, stdout=keyboard, stderr=keyboard, env=env, cwd=home)
    os.close(keyboard)
    try:
        editor = Emacs(screen, home, sockets / "s")
        _until_there(sockets / "s", process)
        yield editor
    finally:
        process.kill()
        process.wait()
        os.close(screen)
        shutil.rmtree(sockets)


def _until_there(socket: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while not socket.exists():
        assert process.poll() is None and time.monotonic() < deadline, "Emacs did not start"
        time.sleep(0.02)
