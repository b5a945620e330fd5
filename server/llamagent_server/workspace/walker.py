"""Our own search program: what ripgrep does, as far as `workspace.engines` asks for it, where ripgrep is not installed.

Runs as a child in the workspace's folder; its one argument is a JSON object, its output that of `rg --files -0` or of
`rg --json`.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from llamagent_server.core.messages import Json
from llamagent_server.workspace.engines import MAX_FILE_BYTES, MAX_HITS_PER_FILE, as_text_field
from llamagent_server.workspace.ignore import Ignore
from llamagent_server.workspace.opening import entries, open_file

_CHUNK = 1 << 18


def main() -> None:
    request = json.loads(sys.argv[1])
    out = sys.stdout.buffer
    root = Path(os.path.realpath("."))
    base = tuple(part for part in request["base"].split("/") if part != ".")
    query = request.get("query")
    if query is None:
        for parts in walk(root, base):
            out.write(os.fsencode("/".join(parts)) + b"\0")
        out.flush()
        return
    try:
        pattern = compiled(query)
    except (re.error, OverflowError, RecursionError):
        sys.exit(2)
    sources = [(b"<stdin>", sys.stdin.buffer.read())] if base == ("-",) else _contents(root, base)
    for name, data in sources:
        _report(name, data, pattern)
    out.write(b'{"type":"summary","data":{}}\n')
    out.flush()


def compiled(query: dict[str, Json]) -> "re.Pattern[str]":
    pattern = str(query["pattern"])
    return re.compile(re.escape(pattern) if query["literal"] else pattern, re.IGNORECASE if query["ignore_case"] else 0)


def walk(root: Path, base: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The ordinary files below `base` that no ignore file leaves out. Links are not followed, nor given."""
    if base and root.joinpath(*base).is_file():
        yield base
        return
    ignore = Ignore(lambda folder: _ignore_file(root, base + folder))
    pending = [base]
    while pending:
        folder = pending.pop()
        for name, is_folder in _entries(root, folder):
            parts = (*folder, name)
            if ignore.ignored(parts[len(base) :], is_folder=is_folder):
                continue
            if is_folder:
                pending.append(parts)
            else:
                yield parts


def _entries(root: Path, folder: tuple[str, ...]) -> list[tuple[str, bool]]:
    found = []
    try:
        with entries(root, folder) as listed:
            for entry in listed:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder or (entry.is_file(follow_symlinks=False) and not _too_large(entry)):
                    found.append((entry.name, is_folder))
    except OSError:
        return found  # not readable, or gone meanwhile: as with ripgrep, the others count
    return found


def _too_large(entry: "os.DirEntry[str]") -> bool:
    return entry.stat(follow_symlinks=False).st_size > MAX_FILE_BYTES


def _ignore_file(root: Path, folder: tuple[str, ...]) -> str | None:
    data = _read(root, (*folder, ".gitignore"))
    return None if data is None else data.decode("utf-8", "replace")


def _read(root: Path, parts: tuple[str, ...]) -> bytes | None:
    chunks = []
    try:
        with open_file(root, parts) as fd:
            while chunk := os.read(fd, _CHUNK):
                chunks.append(chunk)
                if len(chunks) * _CHUNK > 2 * MAX_FILE_BYTES:
                    return None
    except OSError:
        return None
    return b"".join(chunks)


def _contents(root: Path, base: tuple[str, ...]) -> Iterator[tuple[bytes, bytes]]:
    for parts in walk(root, base):
        data = _read(root, parts)
        if data is not None and b"\0" not in data:
            yield os.fsencode("/".join(parts)), data


def _report(name: bytes, data: bytes, pattern: "re.Pattern[str]") -> None:
    """One file's hits, between a `begin` and an `end`."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
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
            "match", {"path": as_text_field(name), "lines": {"text": line}, "line_number": number, "submatches": where}
        )
        if hits == MAX_HITS_PER_FILE:
            break
    if hits:
        _tell("end", {"path": as_text_field(name), "binary_offset": None})


def _tell(kind: str, data: dict[str, Json]) -> None:
    sys.stdout.buffer.write(json.dumps({"type": kind, "data": data}).encode("ascii") + b"\n")
