"""Listing and searching one folder with a search program, the open documents laid over what is on disk."""

import json
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from llamagent_server.core.messages import Json
from llamagent_server.core.secrets import secret
from llamagent_server.processes.reading import read_lines
from llamagent_server.processes.threads import Cancel
from llamagent_server.workspace.confirming import Parts, lines_of
from llamagent_server.workspace.engines import Engine, Query, Walker, without_dot
from llamagent_server.workspace.found import MAX_FILE_BYTES, text_field
from llamagent_server.workspace.ignore import SKIPPED, Ignore
from llamagent_server.workspace.opening import open_file

MAX_FILES = 200_000
MAX_HITS = 2_000
MAX_SECONDS = 30.0  # of a whole search, however many folders and open documents it is in
_SHOWN_CHARS = 240
_ENDS = (0, 1, 2)  # found, nothing found, found but for what could not be read
_META = frozenset("\\^$.|?*+()[]{}")


@dataclass(frozen=True, slots=True)
class Files:
    """Paths below the root, sorted. `complete` is False where there are more than were looked at."""

    paths: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches, without its end; `number` is 1-based. A long line is cut around the match."""

    parts: Parts
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Hits:
    """Sorted by file and line. `literal` says why the pattern was read as plain text ("" = it was not).

    `stopped` says why there may be more ("" = these are all, but for files with MAX_HITS_PER_FILE).
    """

    found: tuple[Hit, ...]
    literal: str = ""
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: the real folder, the part of it that is meant, and what is open in the editor below it.

    `overlay` maps files to the texts that count instead of the disk's.
    """

    root: Path
    base: Parts
    overlay: Mapping[Parts, str] = field(default_factory=dict)


class _Died(OSError):
    """The search program was ended by the system, for want of memory for instance."""


def list_files(engine: Engine, scope: Scope, cancel: Cancel) -> Files:
    """The files below `scope.base` that are not ignored. Raises OSError where the program cannot be started."""
    try:
        return _listed(_fit(engine, scope), scope, cancel)
    except _Died:
        return _listed(Walker(), scope, cancel)


def _listed(engine: Engine, scope: Scope, cancel: Cancel) -> Files:
    kept = _Outer(scope)
    # Plain strings: a hundred thousand tuples would hold up the whole interpreter while they are sorted and collected.
    found: list[str] = []

    def take(pieces: list[bytes]) -> bool:
        paths = _decoded(pieces)
        found.extend([path for path in paths if not kept.leaves_out(tuple(path.split("/")))] if kept.counts else paths)
        return len(found) < MAX_FILES

    argv = engine.files("/".join(scope.base) or ".")
    status = _run(argv, scope, b"", b"\0", take, cancel)
    opened = {"/".join(parts) for parts in scope.overlay if _belongs(parts, scope)}
    found.extend(opened.difference(found))
    found.sort()
    return Files(tuple(found), complete=status is not None)


def _run(
    argv: list[str], scope: Scope, given: bytes, separator: bytes, take: Callable[[list[bytes]], bool], cancel: Cancel
) -> int | None:
    """As `read_lines`. Raises _Died, too."""
    status = read_lines(argv, cwd=scope.root, given=given, separator=separator, take=take, cancel=cancel)
    if status is not None and status not in _ENDS:
        raise _Died(f"it was ended by the system ({status})")
    return status


def _fit(engine: Engine, scope: Scope) -> Engine:
    """Our own program where ripgrep would follow an ignore file out of the workspace, wait for one that is a pipe, or
    read one without an end: ours takes none of these for an ignore file, and nor does git."""
    folders = {scope.root, scope.root.joinpath(*scope.base)}
    return engine if all(map(_has_plain_ignore_file, folders)) else Walker()


def _has_plain_ignore_file(folder: Path) -> bool:
    try:
        status = (folder / ".gitignore").lstat()
    except OSError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES


def search(engine: Engine, scope: Scope, pattern: str, cancel: Cancel) -> Hits:
    """Lines that match `pattern`. A bad regular expression, or one without a hit, is looked for as plain text.

    Raises OSError where the program cannot be started.
    """
    try:
        return _searched(_fit(engine, scope), scope, pattern, cancel)
    except _Died:
        return _searched(Walker(), scope, pattern, cancel)


def _searched(engine: Engine, scope: Scope, pattern: str, cancel: Cancel) -> Hits:
    query = Query(pattern, literal=False, ignore_case=not minds_case(pattern))
    special = not _META.isdisjoint(pattern)
    hits = _search(engine, scope, query, cancel)
    if hits is None:
        literal = _search(engine, scope, replace(query, literal=True), cancel)
        return replace(literal or Hits(()), literal="it is not a valid regular expression")
    if not hits.found and special and not hits.stopped:
        literal = _search(engine, scope, replace(query, literal=True), cancel)
        if literal is not None and literal.found:
            return replace(literal, literal="as a regular expression it has no match")
    return hits


def minds_case(pattern: str) -> bool:
    """Whether only lines in the very case of `pattern` match: it has a capital."""
    return any(character.isupper() for character in _letters(pattern))


def _letters(pattern: str) -> str:
    """The pattern without its escapes, whose case means something else (\\S, \\W)."""
    out, escaped = [], False
    for character in pattern:
        if not escaped and character != "\\":
            out.append(character)
        escaped = character == "\\" and not escaped
    return "".join(out)


def _search(engine: Engine, scope: Scope, query: Query, cancel: Cancel) -> Hits | None:
    """None where the program says that the pattern is no regular expression."""
    found: list[Hit] = []
    in_bounds = _search_open(engine, scope, query, found, cancel)
    if in_bounds:
        in_bounds = _search_disk(engine, scope, query, found, cancel)
    if in_bounds is None:
        return None
    why = f"stopped after {MAX_HITS} hits" if len(found) >= MAX_HITS else "stopped, it took too long"
    hits = sorted(found, key=lambda hit: (hit.parts, hit.number))[:MAX_HITS]
    return Hits(tuple(hits), stopped="" if in_bounds else why)


def _search_open(engine: Engine, scope: Scope, query: Query, found: list[Hit], cancel: Cancel) -> bool | None:
    """Adds the hits of the open documents. False where a bound was reached, None where the pattern is bad."""
    for parts, text in sorted(scope.overlay.items()):
        if not _belongs(parts, scope) or (parts != scope.base and secret(parts)):
            continue
        if cancel.asked:
            return False
        collector = _Collector(_always(parts), found)
        given = text.encode("utf-8", "replace")
        argv = engine.search(query, "-")
        status = _run(argv, scope, given, b"\n", collector.take, cancel)
        if status is None:
            return False
        if not collector.summed_up:
            return None
    return True


def _search_disk(engine: Engine, scope: Scope, query: Query, found: list[Hit], cancel: Cancel) -> bool | None:
    """Adds the hits of all other files, and gives what `_search_open` does."""
    if cancel.asked:
        return False
    kept = _Outer(scope)

    def name(path: str) -> Parts | None:
        parts = without_dot(path)
        if secret(parts) and parts != scope.base:  # one that was named by itself was asked about
            return None
        return None if parts in scope.overlay or kept.leaves_out(parts) else parts

    collector = _Collector(name, found, lambda parts, numbers: lines_of(scope.root, parts, numbers))
    argv = engine.search(query, "/".join(scope.base) or ".")
    status = _run(argv, scope, b"", b"\n", collector.take, cancel)
    if status is None:
        return False
    return True if collector.summed_up else None


def _always(parts: Parts) -> Callable[[str], Parts]:
    return lambda _: parts


class _Collector:
    """Takes the JSON lines of a search. A file's hits count once the file was read to its end and was no binary one.

    `look_again` gives those of the numbered lines that a file has: a hit of another line is none. None: all count.
    """

    def __init__(
        self,
        name: Callable[[str], Parts | None],
        found: list[Hit],
        look_again: Callable[[Parts, Collection[int]], Mapping[int, str]] | None = None,
    ) -> None:
        self._name = name
        self._found = found
        self._look_again = look_again
        self._current: list[tuple[Hit, int]] = []  # and where in the line the match begins, in bytes
        self.summed_up = False

    def take(self, lines: list[bytes]) -> bool:
        return all(self._take(line) for line in lines)

    def _take(self, line: bytes) -> bool:
        message = json.loads(line) if line.strip() else {}
        data = message.get("data", {})
        match message.get("type"):
            case "begin":
                self._current = []
            case "match":
                parts = self._name(text_field(data["path"]))
                if parts is not None:
                    start = _match_start(data)
                    text = _cut(text_field(data.get("lines")), start)
                    self._current.append((Hit(parts, data["line_number"], text), start))
            case "end":
                if data.get("binary_offset") is None:
                    self._found.extend(self._confirmed())
                self._current = []
            case "summary":
                self.summed_up = True
        return len(self._found) < MAX_HITS

    def _confirmed(self) -> list[Hit]:
        if self._look_again is None or not self._current:
            return [hit for hit, _ in self._current]
        parts = self._current[0][0].parts
        there = self._look_again(parts, [hit.number for hit, _ in self._current])
        return [
            hit
            for hit, start in self._current
            if hit.parts == parts and hit.number in there and _cut(there[hit.number], start) == hit.text
        ]


def _match_start(data: Mapping[str, Json]) -> int:
    spots = data.get("submatches")
    first = spots[0] if isinstance(spots, list) and spots else None
    at = first.get("start") if isinstance(first, dict) else 0
    return at if isinstance(at, int) else 0


def _cut(line: str, match_start: int) -> str:
    line = line.rstrip("\r\n")
    if len(line) <= _SHOWN_CHARS:
        return line
    # The program counts bytes; near enough for a window around the match.
    start = max(0, match_start - _SHOWN_CHARS // 3)
    start = min(start, len(line) - _SHOWN_CHARS)
    end = start + _SHOWN_CHARS
    return f"{'...' if start else ''}{line[start:end]}{'...' if end < len(line) else ''}"


class _Outer:
    """The ignore files above the folder that is searched, which the search programs are told not to look for."""

    def __init__(self, scope: Scope) -> None:
        self._ignore = ignore_below(scope.root)
        depths = range(len(scope.base))
        has_rules = any(_ignore_text(scope.root, scope.base[:depth]) is not None for depth in depths)
        self.counts = has_rules and not self._ignore.ignored(scope.base, is_folder=True)

    def leaves_out(self, parts: Parts) -> bool:
        return self.counts and self._ignore.ignored(parts, is_folder=False)


def ignore_below(root: Path) -> Ignore:
    return Ignore(lambda folder: _ignore_text(root, folder))


def _ignore_text(root: Path, folder: Parts) -> str | None:
    try:
        with open_file(root, (*folder, ".gitignore")) as fd, open(fd, "rb", closefd=False) as file:
            return file.read(1_000_000).decode("utf-8", "replace")
    except OSError:
        return None


def _belongs(parts: Parts, scope: Scope) -> bool:
    """Whether an open document is among what is listed: below the base, and not ignored."""
    if parts[: len(scope.base)] != scope.base:
        return False
    below = parts[len(scope.base) :]
    if any(part in SKIPPED for part in below):
        return False
    ignore = ignore_below(scope.root)
    if not ignore.ignored(scope.base, is_folder=True):
        return not ignore.ignored(parts, is_folder=False)
    return not ignore_below(scope.root.joinpath(*scope.base)).ignored(below, is_folder=False)


@contextmanager
def in_time(cancel: Cancel) -> Iterator[Cancel]:
    """What stops the work of one search or listing, all its programs together: `cancel`, or the end of its time."""
    inner = Cancel()
    cancel.on_ask(inner.ask)
    timer = threading.Timer(MAX_SECONDS, inner.ask)
    timer.daemon = True
    timer.start()
    try:
        yield inner
    finally:
        timer.cancel()


def _decoded(names: list[bytes]) -> list[str]:
    """All at once: of a hundred thousand names, one by one takes longer than finding them."""
    joined = "\0" + os.fsdecode(b"\0".join(names)).replace(os.sep, "/")
    return joined.replace("\0./", "\0").removeprefix("\0").split("\0")
