"""What could act on a terminal, or not be seen, is shown as an escape."""

import re

# Letters and marks that look like nothing: Hangul fillers, the empty Braille pattern, variation selectors.
UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def shown(name: str) -> str:
    """A name with what could act on a terminal, or not be seen, written as an escape."""
    if name.isprintable() and not UNSEEN.search(name):
        return name
    return "".join(c if c.isprintable() and not UNSEEN.match(c) else escaped(c) for c in name)


def escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()
