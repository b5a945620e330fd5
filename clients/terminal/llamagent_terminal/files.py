"""`file:` URIs and paths, and which files lie inside the workspace."""

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from llamagent_terminal.textedit import WrongEdit


def inside(uri: str, root: Path) -> Path:
    """The real file (all links resolved) that `uri` names, which may be missing. Raises WrongEdit when it lies outside
    `root` (a resolved folder)."""
    target = Path(os.path.realpath(path_of(uri)))
    if target == root or not target.is_relative_to(root):
        raise WrongEdit(f"{path_of(uri)} is outside the folder {root}")
    return target


def path_of(uri: str) -> Path:
    """Raises WrongEdit for a URI that is no local file's."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise WrongEdit(f"{uri} is no URI") from error
    if parts.scheme != "file" or parts.query or parts.fragment or (parts.netloc and os.name != "nt"):
        raise WrongEdit(f"{uri} is no local file")
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if "\0" in path:
        raise WrongEdit("the edit's file name holds a NUL")
    if os.name == "nt":
        path = f"//{parts.netloc}{path}" if parts.netloc else path.lstrip("/")
    return Path(path)


def name_in(target: Path, root: Path) -> str:
    """How a person calls the file: relative to the workspace, with `/`."""
    return target.relative_to(root).as_posix()
