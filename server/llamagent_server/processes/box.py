"""What is asked of a sandbox for one command."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Reach:
    """What a sandboxed command may write: real paths, as `Box` has them."""

    folders: tuple[Path, ...]
    read_only: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """`cwd` is where the command runs, `folders` are what it may write: real paths. Of the paths in these it may not
    write the `read_only` ones, and may the `writable` ones; of two that hold one another the inner one counts.
    `hidden`: more that it does not see.
    """

    cwd: Path
    folders: tuple[Path, ...]
    read_only: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = False


def kept(box: Box) -> list[tuple[Path, bool]]:
    """The paths of `read_only` and `writable`, outer ones first, and whether each may be written."""
    return sorted([*((path, False) for path in box.read_only), *((path, True) for path in box.writable)])
