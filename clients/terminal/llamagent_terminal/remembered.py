"""What was typed in the conversation mode, ask by ask, for the up key; kept in the user's folder.

In the file an ask of several lines is written as it can be typed: each line but the last ends in a backslash.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from llamagent_terminal.leftovers import user_folder

_FILE = "chat_history"
_KEPT = 1000
_CODEC, _ERRORS = "utf-8", "surrogateescape"

Remember = Callable[[str], None]


@contextmanager
def remembering() -> Iterator[Remember]:
    """Within, lines are edited with what was typed before at hand; yields what takes note of a text. A system without
    readline has neither."""
    if sys.platform == "win32" or find_spec("readline") is None:
        yield lambda _text: None
        return
    import readline

    path = user_folder() / _FILE
    last = ""

    def add(text: str) -> None:
        nonlocal last
        last = text
        with suppress(ValueError):  # a character that the terminal's encoding lacks
            readline.add_history(text)

    def remember(text: str) -> None:
        # A backslash at the end would make the next line a part of it.
        text = f"{text} " if text.endswith("\\") else text
        if text.strip() and text != last:
            add(text)
            with suppress(OSError):  # a full disk or a read-only home must not spoil the conversation
                _append(path, text)

    for text in _read(path):
        add(text)
    readline.set_auto_history(False)
    try:
        yield remember
    finally:
        readline.set_auto_history(True)


def _read(path: Path) -> list[str]:
    """The newest texts; none where there is no file, or where it cannot be read. What is older is left out of it."""
    try:
        lines = path.read_text(_CODEC, _ERRORS).split("\n")
    except OSError:
        return []
    texts: list[str] = []
    parts: list[str] = []
    for line in lines:
        if line.endswith("\\"):
            parts.append(line[:-1])
        elif parts or line:
            texts.append("\n".join((*parts, line)))
            parts = []
    if len(texts) > 2 * _KEPT:
        with suppress(OSError):
            _shorten(path, texts[-_KEPT:])
    return texts[-_KEPT:]


def _shorten(path: Path, texts: list[str]) -> None:
    """The file as a whole, or as it was."""
    copy = path.with_name(f"{_FILE}.{os.getpid()}")
    for text in texts:
        _append(copy, text)
    copy.replace(path)


def _append(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "ab") as file:
        file.write((text.replace("\n", "\\\n") + "\n").encode(_CODEC, _ERRORS))
