"""What was typed while nothing was asked: no answer to the question that comes then, but kept for the next prompt."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.terminal import can_ask, take_typed

_kept: list[str] = []  # the keyboard is the process's


def set_aside() -> None:
    """Keep what was typed so far, ended or not, from being read as anything else."""
    if can_ask():
        _kept.append(take_typed())


@contextmanager
def offered(screen: Screen) -> Iterator[None]:
    """Within, the line that is read begins with what was set aside, to be sent or changed. Without readline it is only
    shown."""
    typed = "".join(_kept)
    _kept.clear()
    text = "".join(sign for sign in typed if sign.isprintable() or sign == "\n").strip()
    if not text:
        yield
    elif sys.platform == "win32" or find_spec("readline") is None:
        screen.line(Span(f"not sent: {text}", Style.DIM))
        yield
    else:
        import readline

        readline.set_startup_hook(lambda: readline.insert_text(text))
        try:
            yield
        finally:
            readline.set_startup_hook()
