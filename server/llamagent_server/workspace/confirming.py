"""What a search program said, looked up again in the workspace itself: such a program opens by path, and where a path
leads may change while it works. What counts is read as all files are: race-free, and through no link."""

import codecs
import os
import stat
from collections.abc import Collection, Iterable
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from llamagent_server.workspace.decoding import read_whole
from llamagent_server.workspace.found import MAX_FILE_BYTES, as_text_field, text_field
from llamagent_server.workspace.opening import BY_DESCRIPTOR, open_file, open_folder

Parts: TypeAlias = tuple[str, ...]

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def lines_of(root: Path, parts: Parts, numbers: Collection[int]) -> dict[int, str]:
    """Those of the lines `numbers` (1-based) that the file has, without their ends and decoded as hits are; none of
    what is no ordinary file, cannot be read, or is too large to be searched."""
    try:
        with open_file(root, parts) as fd:
            data = read_whole(fd, MAX_FILE_BYTES)
    except OSError:
        return {}
    if data is None or not numbers:
        return {}
    if data.startswith(_UTF_16):  # ripgrep reads these too, and reports them in UTF-8
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n", max(numbers))
    return {number: text_field(as_text_field(lines[number - 1])) for number in numbers if 0 < number <= len(lines)}


def absent(root: Path, paths: Iterable[Parts]) -> set[Parts]:
    """Those of `paths` that name neither an ordinary file nor a folder below `root`, or only through a link."""
    found: set[Parts] = set()
    for folder, together in groupby(sorted(paths), lambda parts: parts[:-1]):
        names = [parts[-1] for parts in together]
        here = _present(root, folder, names)
        found.update((*folder, name) for name in names if name not in here)
    return found


def _present(root: Path, folder: Parts, names: Collection[str]) -> set[str]:
    try:
        if BY_DESCRIPTOR:
            with open_folder(root, folder) as fd:
                return {name for name in names if _is_ordinary(name, fd)}
        above = root.joinpath(*folder)
        here = {name for name in names if _is_ordinary(above / name, None)}
        return here if Path(os.path.realpath(above)) == above else set()
    except OSError:
        return set()


def _is_ordinary(path: str | Path, folder: int | None) -> bool:
    try:
        mode = os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
