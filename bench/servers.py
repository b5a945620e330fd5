"""A model server in a process of its own, for as long as it is measured."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def started(module: str, *arguments: str, port_file: Path) -> Iterator[str]:
    """The address of `python -m module arguments`, which writes its port into `port_file`."""
    port_file.unlink(missing_ok=True)
    # Of a module that its package imports too, `-m` says each time that this is unusual.
    command = [sys.executable, "-W", "ignore::RuntimeWarning:runpy", "-m", module, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not port_file.exists() or not port_file.read_text().strip():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port_file.read_text().strip()}"
    finally:
        process.kill()
        process.wait()
