"""Where the daemon's log goes: stderr and, if asked, a file; never stdout, and never in the way of the work."""

import logging
import sys
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from queue import SimpleQueue

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def start_logging(log_file: Path | None) -> QueueListener:
    """Begin to log; `stop` of the result ends it. Raises OSError when the file cannot be written.

    A thread writes: an editor that does not read our stderr would else stop the daemon once the pipe is full.
    """
    outputs: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    outputs[0].setLevel(logging.WARNING)
    if log_file is not None:
        outputs.append(logging.FileHandler(log_file, encoding="utf-8"))
    for output in outputs:
        output.setFormatter(logging.Formatter(FORMAT))
    queue: SimpleQueue[logging.LogRecord] = SimpleQueue()
    listener = QueueListener(queue, *outputs, respect_handler_level=True)
    root = logging.getLogger()
    root.handlers[:] = [QueueHandler(queue)]
    root.setLevel(logging.INFO if log_file is not None else logging.WARNING)
    logging.getLogger("pygls").setLevel(logging.WARNING)
    listener.start()
    return listener
