"""From the bytes of a file to text: strictly UTF-8, whole or in part, or the reason why not."""

import codecs
import os
from dataclasses import dataclass

_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class NotText:
    """`reason` completes "it ..."."""

    reason: str


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a file: `text` begins with line `start` (1-based). `more`: the file goes on after it.

    `lines` is how many lines the file has, None where it was not read to its end.
    """

    text: str
    start: int
    more: bool
    lines: int | None


def decode(data: bytes) -> str | NotText:
    """The text of a whole file, without its byte order mark; line ends stay."""
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            return NotText(f"is encoded in {name}, not UTF-8; open it in the editor to work on it")
    if b"\0" in data:
        return NotText("is not text (it contains NUL bytes)")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = f"byte 0x{data[error.start]:02x} in line {line}"
        return NotText(f"is not encoded in UTF-8 ({bad}); open it in the editor to work on it")


def read_whole(fd: int, max_bytes: int) -> bytes | None:
    """Everything from `fd`, None where that is more than `max_bytes`, whatever the file claims to be long."""
    chunks = []
    size = 0
    while chunk := os.read(fd, _CHUNK):
        size += len(chunk)
        if size > max_bytes:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def read_part(fd: int, start: int, end: int, max_bytes: int) -> Part | NotText:
    """Lines `start` to `end` (1-based, inclusive) of a file too long to hold, at most `max_bytes` of them."""
    kept, ends, last = bytearray(), 0, b"\n"
    while chunk := os.read(fd, _CHUNK):
        if b"\0" in chunk:
            return NotText("is not text (it contains NUL bytes)")
        skipped, rest = _skip_lines(chunk, max(0, start - 1 - ends))
        if ends + skipped >= start - 1:
            kept += rest
        ends += chunk.count(b"\n")
        last = chunk[-1:]
        if len(kept) > max_bytes or (ends >= end and _skip_lines(bytes(kept), end - start + 1)[1]):
            return _part(bytes(kept), start, end, max_bytes, lines=None)
    return _part(bytes(kept), start, end, max_bytes, lines=ends + (last != b"\n"))


def _skip_lines(chunk: bytes, count: int) -> tuple[int, bytes]:
    """How many line ends of at most `count` were skipped, and what follows them."""
    position = 0
    for skipped in range(count):
        at = chunk.find(b"\n", position)
        if at < 0:
            return skipped, b""
        position = at + 1
    return count, chunk[position:]


def _part(data: bytes, start: int, end: int, max_bytes: int, *, lines: int | None) -> Part | NotText:
    _, rest = _skip_lines(data, end - start + 1)
    wanted = data[: len(data) - len(rest)][:max_bytes]
    text = decode(wanted if wanted == data else _without_torn_end(wanted))
    if isinstance(text, NotText):
        return text
    return Part(text, start, more=len(wanted) < len(data) or lines is None, lines=lines)


def _without_torn_end(data: bytes) -> bytes:
    """`data` without the beginning of a character that its end cut in two."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if needed > back else data
    return data
