"""What a search program said, looked up again in the workspace itself: such a program opens by path, and where a path
leads may change while it works. What counts is read as all files are: race-free, and through no link."""

import codecs
from collections.abc import Collection
from pathlib import Path
from typing import TypeAlias

from llamagent_server.workspace.decoding import read_whole
from llamagent_server.workspace.found import MAX_FILE_BYTES, as_text_field, text_field
from llamagent_server.workspace.opening import open_file

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
