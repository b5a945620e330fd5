"""Text from models and files made safe to show: what could move the cursor, hide or reorder text becomes visible."""

import re
import unicodedata

# Controls (terminal escapes among them), formats (bidi and zero-width characters), lone surrogates, private use, and
# the two separators that some terminals break lines at.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# What looks like nothing, or like a blank, and is neither: odd blanks, Hangul fillers, the empty Braille pattern,
# variation selectors.
_UNSEEN = re.compile(
    "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u115f\u1160\u3164\uffa0\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_NOTHING = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\U000e0100-\U000e01ef]")  # letters and marks
_GAP = re.compile(r"[ \t]{40,}")
_NAMES = {"\x1b": "<ESC>", "\r": "␍", "\x7f": "<DEL>", "\x00": "<NUL>"}


def visible(text: str, *, keep: str = "") -> str:
    """`text` with every invisible or controlling character spelled out, but for those in `keep`."""
    if text.isprintable():
        return text
    return "".join(char if char in keep else _shown(char) for char in text)


def line(text: str) -> str:
    """For names and for commands: nothing that ends a line or moves within it gets through."""
    return visible(text)


def command(text: str) -> str:
    """For one line of a command that somebody is to say yes to: no gap moves a part of it off the screen, and nothing
    in it looks like nothing."""
    shown = _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    return code(_GAP.sub(lambda found: f" <{len(found[0])} blanks> ", shown))


def code(text: str) -> str:
    """For one line of a file: tabs stay. A letter that looks like nothing is none that one says yes to unseen."""
    return _NOTHING.sub(lambda found: f"<U+{ord(found[0]):04X}>", visible(text, keep="\t"))


def prose(text: str) -> str:
    """For the words of a model: lines, tabs and the joiners inside words and emoji stay. CRLF becomes LF."""
    return visible(text.replace("\r\n", "\n"), keep="\n\t\u200c\u200d")


def _shown(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN:
        return char
    if (name := _NAMES.get(char)) is not None:
        return name
    if char < " ":
        return f"^{chr(ord(char) + 64)}"
    return f"<U+{ord(char):04X}>"
