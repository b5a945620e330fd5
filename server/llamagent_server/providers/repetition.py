"""A model that says the same over and over, found while it streams. No I/O."""

# So much must be the same again and again: a table, a rule of dashes, a row of zeros is shorter.
LEAST_CHARS = 2000
LEAST_TIMES = 8
MAX_PERIOD = 600
_PROBE = 48
_CHECK_EVERY = 256
_WINDOW = max(LEAST_CHARS, MAX_PERIOD * LEAST_TIMES) + MAX_PERIOD + _PROBE


class Repetition:
    """Fed the pieces of one text; `period` is the length of what is repeated at its end, 0 while nothing is."""

    def __init__(self) -> None:
        self.period = 0
        self._tail = ""
        self._unchecked = 0

    def feed(self, text: str) -> None:
        self._tail += text
        self._unchecked += len(text)
        if self._unchecked >= _CHECK_EVERY and not self.period:
            self._unchecked = 0
            self._tail = self._tail[-_WINDOW:]
            self.period = _period(self._tail)


def _period(tail: str) -> int:
    """The length of what fills the end of `tail` again and again; 0 where nothing does."""
    if len(tail) <= LEAST_CHARS:
        return 0
    # In what repeats itself, the last characters came before exactly one period ago.
    earlier = tail.rfind(tail[-_PROBE:], 0, len(tail) - 1)
    period = len(tail) - _PROBE - earlier if earlier >= 0 else 0
    length = max(LEAST_CHARS, period * LEAST_TIMES)
    if not 0 < period <= MAX_PERIOD or len(tail) < length + period:
        return 0
    return period if tail[-length:] == tail[-length - period : -period] else 0


def without_repetition(text: str, period: int) -> str:
    """`text` up to the end of the first of the periods that it ends with; all of it where `period` is 0."""
    if not period:
        return text
    at = len(text) - period
    while at > 0 and text[at - 1] == text[at - 1 + period]:
        at -= 1
    return text[: at + period]
