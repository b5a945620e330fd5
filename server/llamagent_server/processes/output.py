"""What a program wrote: kept as its beginning and its end, and made plain text."""

import re

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 256 * 1024

# Colours and cursor movements (CSI), window titles (OSC), and other two-character escapes.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """Bytes as they arrive, in bounded memory: the first and the last, and how many there were."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = HEAD_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:] if room > 0 else chunk
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    @property
    def text(self) -> str:
        """The output as plain text, with a line that says how much is missing in the middle, if any is."""
        tail = bytes(self._tail[-TAIL_BYTES:])
        missing = self.size - len(self._head) - len(tail)
        if not missing:
            return plain(bytes(self._head) + tail)
        return f"{plain(bytes(self._head))}\n[... {missing:,} bytes not kept ...]\n{plain(tail)}"


def plain(raw: bytes) -> str:
    """Text without terminal escapes and control characters; of a line that was overwritten, its last state."""
    text = _ESCAPES.sub("", raw.decode("utf-8", "replace")).replace("\r\n", "\n")
    return _CONTROL.sub("", "\n".join(map(_last_state, text.split("\n"))) if "\r" in text else text)


def _last_state(line: str) -> str:
    """What is seen of a line that was written over, each time after a CR."""
    return line.rstrip("\r").rpartition("\r")[2]


def shortened(text: str, max_chars: int, *, head_share: float) -> tuple[str, bool]:
    """`text` in at most about `max_chars` characters, cut at line ends where it can be; whether anything was cut."""
    if len(text) <= max_chars:
        return text, False
    head_room = int(max_chars * head_share)
    head, tail = text[:head_room], text[len(text) - (max_chars - head_room) :]
    head = head[: head.rfind("\n") + 1] or head
    after_line_end = tail.find("\n") + 1
    if 0 < after_line_end < len(tail) // 2:
        tail = tail[after_line_end:]
    cut = text[len(head) : len(text) - len(tail)]
    lines = cut.count("\n") + (not cut.endswith("\n"))
    between = f"[... {lines:,} lines cut ({len(cut):,} characters) ...]\n"
    return f"{head}{'' if head.endswith(chr(10)) or not head else chr(10)}{between}{tail}", True
