"""Comments that stand for code left out ("# ... rest unchanged"): written into a file they would lose it."""

import re

_OPENING = r"(?:\#+|//+|/\*+|\{/\*|<!--|--+|;+|%+|\"\"\")"
_CLOSING = r"(?:\*+/\}?|-->|\"\"\")?"
_COMMENT = re.compile(rf"\s*{_OPENING}\s*(?P<words>.*?)\s*{_CLOSING}\s*")
_DOTS = re.compile(r"\.{3,}|\u2026")
_PARTS = "code|file|function|class|method|methods|functions|module|implementation|body|script|content|contents|program"
_STANDS_FOR = re.compile(
    r"\b(?:rest|unchanged|existing|remain(?:s|ing|der)?|omitted|previous|as before|same|truncated|continues?|keep|"
    r"(?:other|more) \w+)\b"
)
# Without dots in front only whole phrases count: "existing" alone may well stand in a real comment.
_PHRASE = re.compile(
    rf"(?:the |your )?rest of (?:the |your |this )?(?:original |existing )?(?:{_PARTS})(?: here| goes here| below)?"
    rf"|(?:the |your )?(?:existing|previous|remaining|unchanged|original) (?:{_PARTS})(?: here| goes here| below)?"
    rf"|(?:the |your )?(?:rest|remainder|everything else|(?:all )?(?:other |existing |remaining )?(?:{_PARTS}))"
    rf"(?: of (?:the |your |this )?(?:{_PARTS}))?"
    r" (?:(?:remains?|stays?|is|are|left|kept) (?:exactly )?)?(?:the same|unchanged|as is|as before|omitted)(?: here)?"
    r"|(?:same|code) as before|(?:code |rest )?omitted for brevity|unchanged"
)


def placeholder(new: str, existing: str) -> str | None:
    """The first comment line of `new` that stands for code left out and that `existing` does not have."""
    candidates = [line.strip() for line in new.split("\n") if _stands_for_code(line)]
    if not candidates:
        return None
    known = {line.strip() for line in existing.split("\n")}
    return next((line for line in candidates if line not in known), None)


def _stands_for_code(line: str) -> bool:
    comment = _COMMENT.fullmatch(line) if len(line) < 300 else None
    if comment is None:
        return False
    words = comment["words"].lower().strip("()[]{}<> ")
    plain = " ".join(_DOTS.sub(" ", words).split()).strip("()[]{}<>.,:;!*- ")
    dots_first, dots_last = _DOTS.match(words) is not None, words.endswith(("...", "\u2026"))
    short = len(plain.split()) <= 8
    if dots_first and short and (not plain or dots_last or _STANDS_FOR.search(plain)):
        return True
    return _PHRASE.fullmatch(plain) is not None
