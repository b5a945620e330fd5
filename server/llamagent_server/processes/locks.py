"""A lock between processes on an open file. It goes with the file: closed, or its process killed."""

import errno

# Systems of files that know no locks, as some networks have them.
_WITHOUT_LOCKS = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL})


def try_lock(fd: int) -> bool:
    """Take the lock of a descriptor opened for writing; False where another process, or another opening by this one,
    has it. Where the file's system knows no locks everyone gets it. Raises OSError."""
    from filelock import lock_descriptor  # late: start-up is measured

    try:
        return lock_descriptor(fd, blocking=False)
    except OSError as error:
        if error.errno in _WITHOUT_LOCKS:
            return True
        raise
