"""File URIs and the paths that they name. Editors spell the same URI in different ways: compare by `key`."""

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

_DRIVE = re.compile(r"/+[A-Za-z]:(?=/|$)")
# What RFC 3986 allows in a path's segments; editors leave these as they are.
_SAFE = "/!$&'()*+,;=:@-._~"


def scheme(uri: str) -> str:
    """The lower-case scheme of `uri`, "" where it has none (`C:/x` is a path, not a URI)."""
    head, colon, _ = uri.partition(":")
    return head.lower() if colon and len(head) > 1 and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", head) else ""


def to_path(uri: str) -> Path | None:
    """The path that a `file:` URI names, None for any other URI."""
    if scheme(uri) != "file":
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    # A "#" or "?" that the client did not escape belongs to the name all the same.
    rest = parts.path + (f"?{parts.query}" if parts.query else "") + (f"#{parts.fragment}" if parts.fragment else "")
    name = os.fsdecode(unquote_to_bytes(rest))
    if parts.netloc and parts.netloc.lower() != "localhost":
        name = f"//{parts.netloc}{name}"
    elif os.name == "nt" and _DRIVE.match(name):
        name = name.lstrip("/")
    return None if "\0" in name else Path(name)


def to_uri(path: Path) -> str:
    """The `file:` URI of an absolute path."""
    name = path.as_posix()
    return "file://" + ("" if name.startswith("//") else "/" * (not name.startswith("/"))) + quote_path(name)


def quote_path(name: str) -> str:
    """`name` as the path of a URI; bytes that are no UTF-8 survive."""
    return quote(os.fsencode(name), safe=_SAFE)


def key(uri: str) -> str:
    """What two spellings of the same URI have in common."""
    path = to_path(uri)
    return uri if path is None else os.path.normcase(path)
