"""A command in a job object (Windows): the system kills the whole job when the daemon's handle to it is gone."""

import ctypes
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from ctypes import wintypes
from pathlib import Path

from llamagent_server.processes.child import NO_BOUNDS, Bounds, Ending

assert sys.platform == "win32", "other systems have the guardian"

_KILL_ON_JOB_CLOSE = 0x2000
_ACTIVE_PROCESS = 0x8
_JOB_MEMORY = 0x200
_EXTENDED_LIMIT_INFORMATION = 9
_CREATE_SUSPENDED = 0x4


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
        ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_ulonglong * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def spawn(argv: Sequence[str], cwd: Path, env: Mapping[str, str], bounds: Bounds = NO_BOUNDS) -> "JobChild":
    """Start `argv` in a job of its own, within `bounds`. Raises OSError where that cannot be."""
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = wintypes.HANDLE
    job = wintypes.HANDLE(kernel.CreateJobObjectW(None, None))
    limits = _ExtendedLimits()
    flags = _KILL_ON_JOB_CLOSE
    if bounds.memory:
        flags |= _JOB_MEMORY
        limits.JobMemoryLimit = bounds.memory
    if bounds.processes:
        flags |= _ACTIVE_PROCESS
        limits.BasicLimitInformation.ActiveProcessLimit = bounds.processes
    limits.BasicLimitInformation.LimitFlags = flags
    if not job or not kernel.SetInformationJobObject(
        job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
    ):
        raise ctypes.WinError(ctypes.get_last_error())
    creation = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW | _CREATE_SUSPENDED
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        creationflags=creation,
    )
    handle = wintypes.HANDLE(int(process._handle))  # type: ignore[attr-defined, unused-ignore]
    # Suspended until it is in the job, so that nothing it starts can be outside.
    if not kernel.AssignProcessToJobObject(job, handle):
        process.kill()
        raise ctypes.WinError(ctypes.get_last_error())
    ctypes.WinDLL("ntdll").NtResumeProcess(handle)
    return JobChild(process, kernel, job)


class JobChild:
    def __init__(self, process: "subprocess.Popen[bytes]", kernel: ctypes.WinDLL, job: wintypes.HANDLE) -> None:
        if process.stdout is None:
            raise ValueError("the process needs a pipe for its output")
        self._process, self._kernel, self._job = process, kernel, job
        self.output = process.stdout
        self._lock = threading.Lock()
        self._ended = False

    def wait(self) -> Ending:
        code = self._process.wait()
        self.end()
        return Ending(code=code)

    def end(self) -> None:
        with self._lock:
            if not self._ended:
                self._ended = True
                self._kernel.TerminateJobObject(self._job, 1)
                self._kernel.CloseHandle(self._job)
