"""A lock between processes on an open file, in the way each system has it. It goes when the file is closed."""

import sys
from typing import IO


def try_lock(file: IO[bytes]) -> bool:
    """Take the lock; False where another process, or another open file of this one, has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
