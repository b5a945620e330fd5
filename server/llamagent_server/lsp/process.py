"""What differs between operating systems for a daemon on pipes: its file descriptors, its parent, its signals."""

import asyncio
import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable


def guard_stdio() -> tuple[int, int]:
    """Keep the protocol's stream to ourselves: two private descriptors, to read from and to write to.

    Descriptor 0 becomes empty and descriptor 1 becomes stderr, for us and for every child, so that a stray print or a
    child that reads its input cannot touch the stream.
    """
    reads, writes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 2)
        os.dup2(nothing, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    for descriptor in (reads, writes):
        _make_plain(descriptor)
    return reads, writes


def _make_plain(descriptor: int) -> None:
    """Bytes go through unchanged, and a call waits until it is done."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(descriptor, os.O_BINARY)
    else:
        os.set_blocking(descriptor, True)


class Watched:
    """Another process, to be asked whether it still runs. Where the system can, the process itself is held, so that a
    later one with the same id is not taken for it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._handle = _open_process(pid)

    def alive(self) -> bool:
        if self._handle is None:
            return _signalable(self._pid)
        if sys.platform == "win32":
            return bool(ctypes.windll.kernel32.WaitForSingleObject(self._handle, 0) != 0)
        return not select.select([self._handle], [], [], 0)[0]

    def close(self) -> None:
        if self._handle is None:
            return
        if sys.platform == "win32":
            ctypes.windll.kernel32.CloseHandle(self._handle)
        else:
            os.close(self._handle)
        self._handle = None


def _open_process(pid: int) -> int | None:
    """A handle that shows the end of process `pid`; None where there is no such thing, or no such process."""
    if sys.platform == "win32":
        synchronize = 0x00100000
        return int(ctypes.windll.kernel32.OpenProcess(synchronize, False, pid)) or None
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except OSError:  # an old kernel, or a process that is not ours to see
            return None
    return None


def _signalable(pid: int) -> bool:
    if sys.platform == "win32":
        return False  # it could not be opened; os.kill would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def on_stop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[signal.Signals], None]) -> None:
    """Have `stop` called in the loop, instead of dying, when the process is told to end."""
    if sys.platform == "win32":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK):
            signal.signal(number, lambda n, _: loop.call_soon_threadsafe(stop, signal.Signals(n)))
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)


def end_within(seconds: float, code: int) -> None:
    """End the process with `code` even if a thread that waits for something will not let it end by itself."""
    timer = threading.Timer(seconds, os._exit, [code])
    timer.daemon = True
    timer.start()
