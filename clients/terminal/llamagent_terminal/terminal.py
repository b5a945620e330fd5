"""What differs between terminals and between systems: is one there, how wide, a line that can be interrupted."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import sleep
from types import FrameType
from typing import TextIO

_POLL_SECONDS = 0.1
_ENDING = frozenset(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)


def can_ask() -> bool:
    """Whether a person sits there who sees a question and can answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def is_live(stream: TextIO) -> bool:
    """Whether lines on `stream` can be overwritten."""
    return stream.isatty() and os.environ.get("TERM", "") != "dumb" and _understands_escapes()


def wants_colour(stream: TextIO) -> bool:
    return is_live(stream) and not os.environ.get("NO_COLOR")


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size().columns


def make_safe(stream: TextIO) -> None:
    """Characters that the stream's encoding lacks are spelled out instead of ending the program."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _understands_escapes() -> bool:
    """Windows consoles must be told to."""
    if sys.platform != "win32":
        return True
    import ctypes

    kernel, handle, mode = ctypes.windll.kernel32, -11, ctypes.c_ulong()
    console = kernel.GetStdHandle(handle)
    virtual_terminal = 0x0004
    if not kernel.GetConsoleMode(console, ctypes.byref(mode)):
        return False
    return bool(kernel.SetConsoleMode(console, mode.value | virtual_terminal))


# --- Reading -------------------------------------------------------------------------------------------------------


def take_typed() -> str:
    """What was typed and not read until now, ended lines and what is begun; it is not read again."""
    if sys.platform == "win32":
        import msvcrt

        keys = ""
        while msvcrt.kbhit():
            keys += msvcrt.getwch()
        return keys.replace("\r", "\n")
    return _take_from_terminal()


def _take_from_terminal() -> str:
    """A line that is not ended can be read only while the terminal does not wait for its end."""
    import select
    import termios

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    at_once = [*before[:3], before[3] & ~(termios.ICANON | termios.ECHO), *before[4:6], [*before[6]]]
    at_once[6][termios.VMIN], at_once[6][termios.VTIME] = 0, 0
    typed = b""
    termios.tcsetattr(handle, termios.TCSANOW, at_once)
    try:
        while select.select([handle], [], [], 0)[0] and (piece := os.read(handle, 4096)):
            typed += piece
    finally:
        termios.tcsetattr(handle, termios.TCSANOW, before)
    return typed.decode(errors="replace")


@contextmanager
def keeping_typed() -> Iterator[None]:
    """Within, Ctrl-C does not throw away what was typed before it."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    import termios

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    termios.tcsetattr(handle, termios.TCSANOW, [*before[:3], before[3] | termios.NOFLSH, *before[4:]])
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(handle, termios.TCSANOW, before)


def read_line(stop: Callable[[], bool]) -> str | None:
    """A line that the person types, with its end; without one where input ended (Ctrl-D); None as soon as `stop` says
    so."""
    return _read_line_in_thread(stop) if sys.platform == "win32" else _read_line_by_select(stop)


def _read_line_by_select(stop: Callable[[], bool]) -> str | None:
    import select

    handle = sys.stdin.fileno()
    typed = b""
    while not typed.endswith(b"\n"):
        if stop():
            return None
        if select.select([handle], [], [], _POLL_SECONDS)[0]:
            piece = os.read(handle, 4096)
            if not piece:
                break
            typed += piece
    return typed.decode(errors="replace")


def _read_line_in_thread(stop: Callable[[], bool]) -> str | None:
    """Consoles cannot be waited for there: a question taken back leaves a thread that ends with the next line."""
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(sys.stdin.readline()), daemon=True)
    reader.start()
    while reader.is_alive():
        if stop():
            return None
        reader.join(_POLL_SECONDS)
    return lines[0] if lines else ""


# --- Signals -------------------------------------------------------------------------------------------------------


@contextmanager
def on_interrupt(pressed: Callable[[], None]) -> Iterator[None]:
    """Within, Ctrl-C calls `pressed` instead of raising KeyboardInterrupt in the middle of whatever runs."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        pressed()

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """Within, Ctrl-C raises KeyboardInterrupt, once; being told to end is noticed as surely."""
    waking = _Waking()

    def handler(_number: int, _frame: FrameType | None) -> None:
        if not waking.over:
            waking.over = True
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        with _sent_again(waking):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(slots=True)
class _Waking:
    """`over`: the reading was interrupted, or has ended."""

    over: bool = False


@contextmanager
def _sent_again(waking: _Waking) -> Iterator[None]:
    """readline sleeps through a signal that comes between its check and its sleep. So each signal that should end the
    reading is sent again until `waking` is over. Windows has no readline."""
    if sys.platform == "win32":
        yield
        return
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    sender = threading.Thread(target=_send_again, args=(told, waking), name="signals", daemon=True)
    sender.start()
    try:
        yield
    finally:
        waking.over = True
        signal.set_wakeup_fd(before)
        os.close(tell)
        sender.join()
        os.close(told)


def _send_again(told: int, waking: _Waking) -> None:
    """`told` gives the numbers of the signals that came, and ends with the reading."""
    main = threading.main_thread().ident
    while numbers := os.read(told, 64):
        ending = [number for number in numbers if number in _ENDING]
        while ending and main is not None and not waking.over:
            sleep(_POLL_SECONDS)
            if not waking.over:
                signal.pthread_kill(main, ending[0])


def leave_on_hangup() -> None:
    """Being told to end, or losing the terminal, ends the program in order: the daemon is ended and the terminal is as
    before."""

    def handler(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for number in _ENDING - {signal.SIGINT}:
        signal.signal(number, handler)


def interrupt_reading() -> None:
    """Raise KeyboardInterrupt in the main thread even while it waits for a line; called from another thread."""
    if sys.platform == "win32":
        import _thread

        _thread.interrupt_main()  # seen with the next key
    else:
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, signal.SIGINT)
