"""About how many tokens a text takes, before any server has counted it: by what it is made of, not by its length.

Today's small models have a token for a common word, for each digit, for a run of blanks, and for one or two signs;
letters beyond English take more. The weights were found with SmolLM2's tokenizer, whose vocabulary is the smallest of
those in use: others count a little less, and what a server counts corrects the estimate (`Meter`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

_REMEMBERED = 1024  # texts: a conversation's messages are measured at each step
_STRETCH = 4_000  # characters
_STRETCHES = 25  # of a longer text no more are looked at, all over it: a megabyte takes a second

_PIECE = re.compile(
    r"(?P<digit> ?\d)"
    r"|(?P<inner>(?<=[A-Za-z0-9])[A-Z]?[a-z]+)"  # of a name in camel case, of a hash
    r"|(?P<word>[A-Z]?[a-z]+)"
    r"|(?P<capitals>[A-Z]+)"
    r"|(?P<line> *\n)"
    r"|(?P<blank>[ \t]{2,}|\t)"
    r"|(?P<sign>[!-/:-@\[-`{-~]+)"
    r"|(?P<other>[^\x00-\x7f])"
)
# Tokens for a character beyond ASCII that comes before the code point, in order.
_OTHERS = (
    (0x250, 2.2),  # letters with accents: they break a word apart
    (0x600, 0.82),  # Greek, Cyrillic
    (0x2000, 1.6),
    (0x2070, 1.1),  # typographic signs
    (0x2500, 1.2),  # arrows, mathematics
    (0x2580, 1.15),  # frames
    (0x2600, 1.2),
    (0x3000, 2.5),  # small pictures
    (0xA000, 1.7),  # Chinese, Japanese
    (0xAC00, 1.8),
    (0xD7B0, 2.7),  # Korean
    (0x10000, 1.8),
    (0x110000, 3.2),  # emoji
)


@dataclass(frozen=True, slots=True)
class Weight:
    """Tokens of a text. `digits` are one each in any tokenizer; `rest` depends on its vocabulary."""

    digits: float
    rest: float


NOTHING = Weight(0.0, 0.0)


def weigh(text: str) -> Weight:
    length = len(text)
    if length <= _STRETCH * _STRETCHES:
        return _weighed(text)
    starts = [number * (length - _STRETCH) // (_STRETCHES - 1) for number in range(_STRETCHES)]
    seen = _weighed("".join([text[start : start + _STRETCH] for start in starts]))
    share = length / (_STRETCH * _STRETCHES)
    return Weight(seen.digits * share, seen.rest * share)


@lru_cache(maxsize=_REMEMBERED)
def _weighed(text: str) -> Weight:
    digits = rest = 0.0
    for piece in _PIECE.finditer(text):
        kind, length = piece.lastgroup, piece.end() - piece.start()
        if kind == "digit":
            digits += 1.0 if length == 1 else 1.75
        else:
            rest += _beyond_ascii(piece[0]) if kind == "other" else _WEIGHTS[kind or ""](length)
    return Weight(digits, rest)


def _beyond_ascii(character: str) -> float:
    return next(tokens for limit, tokens in _OTHERS if ord(character) < limit)


_WEIGHTS: Mapping[str, Callable[[int], float]] = {
    "word": lambda length: 1.02 if length <= 5 else 1.2 if length <= 8 else 0.2 * length,
    "inner": lambda length: 1.15 if length <= 2 else max(1.3, 0.36 * length),
    "capitals": lambda length: max(1.1, 0.42 * length),
    "line": lambda _: 1.0,
    "blank": lambda _: 1.0,
    "sign": lambda length: 1.0 + 0.35 * max(0, length - 2),
}
