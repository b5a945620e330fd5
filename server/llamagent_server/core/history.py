"""Which commands are git's own that add to a repository's history and do nothing else: these may write into `.git`."""

import re

# Of one command line, what is quoted without anything that a shell would still read in it.
_QUOTED = re.compile(r"""'[^']*'|"[^"`$\\]*\"""")
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=\- &]+")
_CHANGES = frozenset("add commit stash checkout switch restore reset merge branch tag rm mv cherry-pick revert".split())


def changes_history(command: str) -> bool:
    """Whether `command` is `git add`, `git commit` and the like, one or several joined by &&. In doubt, no."""
    words = _QUOTED.sub("QUOTED", command.strip())
    if not _PLAIN.fullmatch(words):
        return False
    return all(_is_change(part.split()) for part in words.split("&&"))


def _is_change(words: list[str]) -> bool:
    return len(words) >= 2 and words[0] == "git" and words[1] in _CHANGES and not any("&" in word for word in words)
