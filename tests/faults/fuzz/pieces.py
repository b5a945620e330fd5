"""Bytes of a fuzzer as what a target wants: a text, pieces of a stream, words of a language."""

from collections.abc import Sequence


class Bytes:
    """Takes what it needs from the front; never fails, whatever is left."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        taken = self._data[self._at : self._at + 1]
        self._at += 1
        return taken[0] if taken else 0

    def rest(self) -> bytes:
        return self._data[self._at :]

    def words(self, known: Sequence[str]) -> str:
        """An even first byte: each byte after it is one of `known`; an odd one: plain text."""
        if self.byte() % 2:
            return self.rest().decode("utf-8", "replace")
        return "".join(known[byte % len(known)] for byte in self.rest())


def cut(data: bytes, seed: int) -> list[bytes]:
    """`data` in pieces of 1 to 31 bytes, always the same for the same `seed`."""
    pieces, at, state = [], 0, seed + 1
    while at < len(data):
        state = (state * 1103515245 + 12345) % (1 << 31)
        size = 1 + state // 65536 % 31
        pieces.append(data[at : at + size])
        at += size
    return pieces
