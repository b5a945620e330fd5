"""How much memory a process takes, as Linux counts it."""

from pathlib import Path


def resident_mb(pid: int) -> float:
    return _status(pid, "VmRSS")


def peak_mb(pid: int) -> float:
    """The most that it has had since its start, or since `forget_peak`."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int, key: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) / 1024
    raise LookupError(f"/proc/{pid}/status says nothing of {key}")
