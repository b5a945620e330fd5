"""Our own search program: what ripgrep does, as far as `workspace.engines` asks for it, where ripgrep is not installed.

Runs as a child in the workspace's folder; its one argument is a JSON object, its output that of `rg --files -0` or of
`rg --json`. It begins anew for each search, so it imports little.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from llamagent_server.processes.there import is_file
from llamagent_server.workspace.found import MAX_FILE_BYTES, MAX_HITS_PER_FILE, as_text_field
from llamagent_server.workspace.ignore import Ignore
from llamagent_server.workspace.opening import BY_DESCRIPTOR, entries, open_file, open_folder, open_listed

if TYPE_CHECKING:
    from llamagent_server.core.messages import Json

_CHUNK = 1 << 18
# Where a whole text may have no match though one of its lines has.
_SEES_BEYOND_ITS_LINE = re.compile(r"\(\?|\\[AZ]")


def main() -> None:
    request = json.loads(sys.argv[1])
    out = sys.stdout.buffer
    root = Path(os.path.realpath("."))
    base = tuple(part for part in request["base"].split("/") if part != ".")
    query = request.get("query")
    if query is None:
        for folder, names in walk(root, base):
            prefix = _path(folder, "")
            out.write(os.fsencode("".join([f"{prefix}{name}\0" for name in names])))
        out.flush()
        return
    try:
        pattern = compiled(query)
    except (re.error, OverflowError, RecursionError):
        sys.exit(2)
    might_match = sieve(pattern)
    sources = [("<stdin>", sys.stdin.buffer.read())] if base == ("-",) else _contents(root, base)
    for name, given in sources:
        data = given.removeprefix(b"\xef\xbb\xbf")
        if might_match(data):
            _report(os.fsencode(name), data, pattern)
    out.write(b'{"type":"summary","data":{}}\n')
    out.flush()


def compiled(query: "dict[str, Json]") -> "re.Pattern[str]":
    pattern = str(query["pattern"])
    return re.compile(re.escape(pattern) if query["literal"] else pattern, re.IGNORECASE if query["ignore_case"] else 0)


def sieve(pattern: "re.Pattern[str]") -> Callable[[bytes], bool]:
    """Whether a line of a text may match, found out for all of them at once: most files have no hit."""
    if _SEES_BEYOND_ITS_LINE.search(pattern.pattern):
        return lambda _: True
    anywhere = re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
    return lambda data: anywhere.search(data.decode("utf-8", "replace").replace("\r\n", "\n")) is not None


def walk(root: Path, base: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The ordinary files below `base` that no ignore file leaves out, folder by folder. Links are not followed, nor
    given."""
    if base and is_file(root.joinpath(*base)):
        yield base[:-1], [base[-1]]
        return
    ignore = Ignore(lambda folder: _ignore_file(root, base + folder))
    pending = [base]
    while pending:
        folder = pending.pop()
        left_out = ignore.inside(folder[len(base) :])
        names = []
        for name, is_folder in _entries(root, folder):
            if left_out(name, is_folder):
                continue
            if is_folder:
                pending.append((*folder, name))
            else:
                names.append(name)
        if names:
            yield folder, names


def _path(folder: tuple[str, ...], name: str) -> str:
    return "/".join((*folder, name))


def _entries(root: Path, folder: tuple[str, ...]) -> list[tuple[str, bool]]:
    found = []
    try:
        with entries(root, folder) as listed:
            for entry in listed:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder or entry.is_file(follow_symlinks=False):
                    found.append((entry.name, is_folder))
    except OSError:
        return found  # not readable, or gone meanwhile: as with ripgrep, the others count
    return found


def _ignore_file(root: Path, folder: tuple[str, ...]) -> str | None:
    try:
        with open_file(root, (*folder, ".gitignore")) as fd:
            data = _read(fd)
    except OSError:
        return None
    return None if data is None else data.decode("utf-8", "replace")


def _read(fd: int) -> bytes | None:
    """All of an ordinary file, None of anything else and of one that is too large."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
        return None
    data = os.read(fd, status.st_size + 1)
    if len(data) == status.st_size:
        return data
    while chunk := os.read(fd, _CHUNK):  # it grows, or the system gives it in parts
        data += chunk
        if len(data) > MAX_FILE_BYTES:
            return None
    return data


def _contents(root: Path, base: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for folder, names in walk(root, base):
        with _reading(root, folder) as read:
            for name in names:
                data = read(name)
                if data is not None and b"\0" not in data:
                    yield _path(folder, name), data


@contextmanager
def _reading(root: Path, folder: tuple[str, ...]) -> Iterator[Callable[[str], bytes | None]]:
    """What is in a file of the folder; None where that cannot be told."""

    def by_path(name: str) -> bytes | None:
        try:
            with open_file(root, (*folder, name)) as fd:
                return _read(fd)
        except OSError:
            return None

    if not BY_DESCRIPTOR:
        yield by_path
        return
    try:
        with open_folder(root, folder) as above:
            yield lambda name: _read_listed(above, name)
    except OSError:
        yield lambda _: None


def _read_listed(above: int, name: str) -> bytes | None:
    try:
        fd = open_listed(above, name)
    except OSError:
        return None
    try:
        return _read(fd)
    except OSError:
        return None
    finally:
        os.close(fd)


def _report(name: bytes, data: bytes, pattern: "re.Pattern[str]") -> None:
    """One file's hits, between a `begin` and an `end`."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    hits = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.removesuffix(b"\r").decode("utf-8", "replace")
        match = pattern.search(line)
        if match is None:
            continue
        if hits == 0:
            _tell("begin", {"path": as_text_field(name)})
        hits += 1
        start = len(line[: match.start()].encode("utf-8", "replace"))
        where: Json = [{"start": start}]
        _tell(
            "match",
            {"path": as_text_field(name), "lines": as_text_field(raw), "line_number": number, "submatches": where},
        )
        if hits == MAX_HITS_PER_FILE:
            break
    if hits:
        _tell("end", {"path": as_text_field(name), "binary_offset": None})


def _tell(kind: str, data: "dict[str, Json]") -> None:
    sys.stdout.buffer.write(json.dumps({"type": kind, "data": data}).encode("ascii") + b"\n")
