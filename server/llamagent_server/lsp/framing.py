"""LSP's base protocol as a parser that is fed bytes and gives the bodies of messages.

state     what is awaited
header    lines `Name: value`, ended by an empty line; one of them is Content-Length
body      as many bytes as that line said

Header names in any case, lines that end in LF alone, blank lines before a header and unknown headers are forgiven.
Whatever else comes is FramingLost: nobody can say where the next message would begin.
"""

import re
from collections.abc import Iterator

MAX_HEADER = 8 * 1024
MAX_BODY = 256 * 1024 * 1024

_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9-]*[ \t]*:?")
_LENGTH = re.compile(rb"[0-9]{1,12}")


class FramingLost(ValueError):
    """The bytes are not LSP, or a message is longer than MAX_BODY bytes."""


class Frames:
    """`max_body` in bytes."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._length: int | None = None  # Content-Length of the header that is being read
        self._body: int | None = None  # the length of the body that is awaited
        self._header_size = 0

    @property
    def inside(self) -> bool:
        """Whether a message has begun and is not complete."""
        return bool(self._buffer) or self._body is not None or self._header_size > 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that `data` completes. Raises FramingLost."""
        self._buffer += data
        while (self._body is not None or self._read_header()) and self._body is not None:
            if len(self._buffer) < self._body:
                return
            body = bytes(self._buffer[: self._body])
            del self._buffer[: self._body]
            self._body = None
            yield body

    def _read_header(self) -> bool:
        """Take complete header lines; True when the header has ended."""
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end]).rstrip(b"\r \t")
            del self._buffer[: end + 1]
            self._header_size += end + 1
            self._check_size()
            if line:
                self._header_line(line)
            elif self._end_header():
                return True
        self._check_beginning()
        return False

    def _header_line(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon or _NAME.fullmatch(name) is None:
            raise FramingLost(f"this is no LSP header: {line[:60]!r}")
        if name.strip().lower() != b"content-length":
            return
        digits = value.strip()
        if _LENGTH.fullmatch(digits) is None:
            raise FramingLost(f"this is no Content-Length: {digits[:60]!r}")
        self._length = int(digits)
        if self._length > self._max_body:
            raise FramingLost(f"a message of {self._length} bytes is longer than the limit of {self._max_body}")

    def _end_header(self) -> bool:
        if self._length is None:
            if self._header_size > 2:
                raise FramingLost("a header without Content-Length")
            self._header_size = 0
            return False
        self._body, self._length, self._header_size = self._length, None, 0
        return True

    def _check_size(self) -> None:
        if self._header_size > MAX_HEADER:
            raise FramingLost(f"a header of more than {MAX_HEADER} bytes")

    def _check_beginning(self) -> None:
        """Refuse at once what can never become a header line, such as the first bytes of another protocol."""
        if len(self._buffer) > MAX_HEADER:
            raise FramingLost(f"a header of more than {MAX_HEADER} bytes")
        name = bytes(self._buffer[:64]).partition(b":")[0].rstrip(b"\r")
        if name and _NAME.fullmatch(name) is None:
            raise FramingLost(f"this is no LSP header: {name[:60]!r}")


def frame(body: bytes) -> bytes:
    """`body` with its header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
