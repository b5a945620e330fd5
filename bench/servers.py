"""A model server in a process of its own, for as long as it is measured."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def started(module: str, *arguments: str, port_file: Path, apart: bool = False) -> Iterator[str]:
    """The address of `python -m module arguments`, which writes its port into `port_file`. `apart`: on a core of its
    own."""
    port_file.unlink(missing_ok=True)
    # Of a module that its package imports too, `-m` says each time that this is unusual.
    command = [sys.executable, "-W", "ignore::RuntimeWarning:runpy", "-m", module, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    if apart:
        _part_from(process.pid)
    try:
        while not port_file.exists() or not port_file.read_text().strip():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port_file.read_text().strip()}"
    finally:
        process.kill()
        process.wait()


def _part_from(server: int) -> None:
    """From now on the server has the first core, this process and all that it starts the second. Left to the scheduler,
    a wake from one to the other costs now 0.1 and now 2 ms, by where the two happen to be."""
    if sys.platform == "linux" and len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(server, cores[:1])
        os.sched_setaffinity(0, cores[1:2])
