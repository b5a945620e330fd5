"""What can be said of a path from its text alone: what no path may be, and what nobody may write."""

import os
import re
import unicodedata
from collections.abc import Sequence

# Files that run code or change what is trusted as soon as a program of the person's looks at the folder.
PROTECTED = frozenset(
    ".git .hg .svn .bzr .jj .llamagent .vscode .idea .zed .helix .nvim .fleet .devcontainer .devcontainer.json .claude "
    ".husky .cursor .mcp.json .envrc .direnvrc .exrc .nvimrc .nvim.lua .vimrc .gvimrc .lvimrc .dir-locals.el "
    ".dir-locals-2.el git~1".split()
)
# What a service runs with its own keys as soon as it is pushed.
_PROTECTED_IN = (
    ([".github"], "workflows"),
    ([".github"], "actions"),
    ([".forgejo"], "workflows"),
    ([".gitea"], "workflows"),  # Forgejo reads these, too
)
_PROTECTED_ENDINGS = (".code-workspace", ".sublime-project")
# Characters that some file systems leave out of a name before they compare it.
_IGNORABLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_WINDOWS_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_LONGEST_NAME = 255


def fault(path: str) -> str | None:
    """Why `path` cannot be used on any system or on this one, None where it may be."""
    if "\0" in path:
        return "a path cannot contain a NUL character"
    if path == "~" or path.startswith(("~/", "~\\")):
        return "~ is the home folder, which is outside the workspace"
    if re.match(r"[A-Za-z]:(?:[\\/]|$)", path) and os.name != "nt":
        return "a path with a drive letter is not in the workspace"
    if "\\" in path and os.name != "nt" and ".." in path.split("\\"):
        return "it leads out of the workspace"
    try:
        names = [os.fsencode(name) for name in path.split("/")]
    except UnicodeEncodeError:
        return "it contains characters that no file name can have"
    if any(len(name) > _LONGEST_NAME for name in names):
        return f"a name of more than {_LONGEST_NAME} bytes is too long for the file system"
    return _windows_fault(path) if os.name == "nt" else None


def _windows_fault(path: str) -> str | None:
    for name in re.split(r"[\\/]", re.sub(r"^[A-Za-z]:", "", path)):
        if ":" in name or _WINDOWS_DEVICE.fullmatch(name):
            return f"{name!r} is a device or a stream, not a file"
        if name not in ("", ".", "..") and name != name.rstrip(". "):
            return f"{name!r} ends with a dot or a blank, which Windows would cut off"
    return None


def protected(parts: Sequence[str]) -> str | None:
    """The first of `parts` that is never written, compared as the most careless file system would."""
    plain = [_plain(part) for part in parts]
    for index, name in enumerate(plain):
        if name in PROTECTED or name.endswith(_PROTECTED_ENDINGS) or (plain[index - 1 : index], name) in _PROTECTED_IN:
            return parts[index]
    return None


def _plain(name: str) -> str:
    plain = _IGNORABLE.sub("", unicodedata.normalize("NFKC", name)).casefold()
    return plain.partition(":")[0].rstrip(". ")
