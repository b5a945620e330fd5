"""Asks written as comments: `# llamagent: make this faster`, in whatever way a language writes its comments. Pure."""

import re

# What can begin a comment, the longest first; a few languages use words.
_OPENERS = (
    r"<!--+",
    r"<%--",
    r"\{\{!--",
    r"\{[-#]",
    r"\(\*+",
    r"/\*+!?",
    r"//+!?",
    r"--+(?:\[=*\[)?",
    r"#+[!|=]?",
    r";+",
    r"%+",
    r'"""|\'\'\'',
    r'["\'!*|\\]',
    r"@?rem\b",
    r"::",
    r"\.\.",
    r"dnl\b",
    r"c\b",
)
_CLOSERS = r'(?:\*+\)|\*+/|--+>|--%>|--\}\}|[-#]\}|\]=*\]|\|#|=#|"""|\'\'\')'
_ASK = re.compile(
    rf"\s*(?P<opener>{'|'.join(_OPENERS)})\s*llamagent\s*:\s*(?P<text>\S.*?)\s*(?:{_CLOSERS}\s*)?\Z", re.IGNORECASE
)


def asked_in_comment(line: str) -> str | None:
    """What a comment that fills a line asks of llamagent; None for any other line."""
    found = _ASK.match(line.rstrip("\r\n"))
    if found is None:
        return None
    text, opener = found["text"], found["opener"]
    # Smalltalk's comments end with the quote that they began with; in Vim's one may be quoted.
    quoted = opener in ('"', "'") and text.endswith(opener) and text.count(opener) % 2
    return text[:-1].rstrip() or None if quoted else text
