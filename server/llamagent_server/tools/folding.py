"""A long list of paths in little room: folders are opened level by level as long as there is room, else counted."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from llamagent_server.core.unseen import shown


@dataclass(slots=True)
class _Folder:
    path: str
    files: list[str] = field(default_factory=list)
    folders: dict[str, "_Folder"] = field(default_factory=dict)
    count: int = 0
    is_open: bool = False

    @property
    def folded(self) -> str:
        return f"{shown(self.path)}/ ({self.count:,} files)"

    @property
    def open_length(self) -> int:
        names = [*map(shown, self.files), *(folder.folded for folder in self.folders.values())]
        return sum(len(name) + 1 for name in names)


@dataclass(frozen=True, slots=True)
class Folded:
    """Lines, each with the path of the file or folder that it names. `more` is a last line where some do not fit, else
    empty; `left_out`: not every file has a line."""

    rows: tuple[tuple[str, str], ...]
    left_out: bool
    more: str = ""


def folded(paths: Sequence[str], room: int) -> Folded:
    """Sorted `paths` in about `room` characters."""
    if sum(map(len, paths)) + len(paths) <= room:  # an escape only makes it longer
        flat = tuple([(shown(path), path) for path in paths])
        if sum(len(line) + 1 for line, _ in flat) <= room:
            return Folded(flat, left_out=False)
    top = _tree(paths)
    _open(top, room)
    rows = tuple(_rows(top))
    length = 0
    for index, (line, _) in enumerate(rows):
        length += len(line) + 1
        if length > room:
            return Folded(rows[:index], left_out=True, more=f"[... and {len(rows) - index:,} more]")
    return Folded(rows, left_out=True)


def _tree(paths: Sequence[str]) -> _Folder:
    together: dict[str, list[str]] = {}
    for place, files in groupby(paths, lambda path: path.rstrip("/").rpartition("/")[0]):
        together.setdefault(place, []).extend(files)
    top = _Folder("")
    for place, held in together.items():
        at = top
        at.count += len(held)
        folders = place.split("/") if place else []
        for depth, name in enumerate(folders, start=1):
            at = at.folders.setdefault(name, _Folder("/".join(folders[:depth])))
            at.count += len(held)
        at.files += held
    return top


def _open(top: _Folder, room: int) -> None:
    top.is_open = True
    # The folder that was asked for lies below some that hold nothing else here: these are always open.
    while not top.files and len(top.folders) == 1:
        (top,) = top.folders.values()
        top.is_open = True
    length = top.open_length
    pending = deque(top.folders.values())
    while pending:
        folder = pending.popleft()
        if length + 2 * len(folder.files) > room + len(folder.folded) + 1:
            continue  # not even with names of one letter: to measure them all is what takes long
        longer = length - len(folder.folded) - 1 + folder.open_length
        if longer <= room:
            folder.is_open = True
            length = longer
            pending.extend(folder.folders.values())


def _rows(top: _Folder) -> Iterator[tuple[str, str]]:
    """Not by recursion: a folder may lie below more of them than that goes."""
    pending: list[_Folder | list[str]] = [top]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            yield from ((shown(path), path) for path in item)
        elif item.is_open:
            pending.append(item.files)
            pending.extend(reversed(item.folders.values()))
        else:
            yield item.folded, item.path
