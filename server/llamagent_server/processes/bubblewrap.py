"""The sandbox on Linux: bubblewrap's command line (bwrap(1)).

Everything is read-only but the workspace and an own /tmp; homes, /run and what else holds keys or sockets are not
there; no network unless the person said so; an own process namespace that dies with the guardian.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llamagent_server.processes.box import Box, kept
from llamagent_server.processes.homes import SECRETS, homes, tool_folders
from llamagent_server.processes.there import is_folder, is_there

# Places with sockets, with other people's files, with other systems' disks (WSL's /mnt/c), or to write into.
EMPTIED = ("/tmp", "/var/tmp", "/run", "/home", "/root", "/mnt", "/media")
# In /run, but part of the system's programs, or of its names on the network.
_SYSTEM = ("/run/current-system", "/run/opengl-driver")
_RESOLVERS = ("/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf", "/mnt/wsl/resolv.conf")
_TMPFS_BYTES = 1 << 30
# A .gitconfig has the name for commits; one that has a key or a password in it, too, is not shown.
_GIT_SECRET = re.compile(r"token|password|extraheader|://[^/\s@]*@", re.IGNORECASE)
_GIT_FILES = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_GIT_BYTES = 100_000
# Tells the guardian how many processes are there besides this shell and bwrap's first one (see processes/guardian.py).
_WITHIN = '"$@" 3>&-; code=$?; set -- /proc/[0-9]*; [ $# -gt 2 ] && echo "left $(($# - 2))" >&3; exit $code'


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """`sized`: this version can bound the size of a tmpfs."""

    program: str
    sized: bool = True
    reports = True

    def argv(self, inner: Sequence[str], box: Box, env: Mapping[str, str]) -> list[str]:
        return [self.program, *self._options(box, env), "--", "/bin/sh", "-c", _WITHIN, "sh", *inner]

    def _options(self, box: Box, env: Mapping[str, str]) -> Iterator[str]:
        yield from "--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try".split()
        yield from () if box.network else ("--unshare-net",)
        yield from "--die-with-parent --new-session --cap-drop ALL".split()
        if os.getuid() == 0:
            # Else root could not write into a workspace that belongs to somebody else, as in many containers.
            yield from ("--cap-add", "CAP_DAC_OVERRIDE")
        else:
            yield "--unshare-user"
        yield from "--ro-bind / / --dev /dev --proc /proc".split()
        yield from self._empty(Path("/dev/shm"))
        emptied = _outermost([*map(Path, EMPTIED), *homes(env)])
        # A folder that holds the workspace's own parents is made anew; one that lies within the workspace is not.
        for place in emptied:
            if not _holds(box.folders, place):
                yield from self._empty(place)
        yield from _shown(box, env, emptied)
        for folder in box.folders:
            yield from ("--bind", str(folder), str(folder))
        for path, writable in kept(box):
            yield from ("--bind" if writable else "--ro-bind", str(path), str(path))
        for secret in _within_reach(box, env):
            yield from ("--tmpfs", str(secret)) if is_folder(secret) else ("--ro-bind", "/dev/null", str(secret))
        yield from ("--chdir", str(box.cwd))

    def _empty(self, place: Path) -> Iterator[str]:
        yield from ("--size", str(_TMPFS_BYTES)) if self.sized else ()
        yield from ("--tmpfs", str(place))


def _outermost(places: Sequence[Path]) -> list[Path]:
    """Those that exist, links resolved, without those that lie in another one."""
    real = sorted({Path(os.path.realpath(place)) for place in places if is_folder(place)} - {Path("/")})
    return [place for place in real if not any(place != other and place.is_relative_to(other) for other in real)]


def _holds(folders: Sequence[Path], place: Path) -> bool:
    return any(place.is_relative_to(folder) for folder in folders)


def _shown(box: Box, env: Mapping[str, str], emptied: Sequence[Path]) -> Iterator[str]:
    """What of the emptied places is there again, read-only."""
    named = [Path(place) for place in (*_SYSTEM, *(_RESOLVERS if box.network else ()))]
    named += tool_folders(env)
    for home in homes(env):
        named += [home / name for name in _GIT_FILES if _is_harmless(home / name)]
    for place in named:
        # What holds a whole emptied place would bring that back.
        if is_there(place) and _holds(emptied, place) and place not in emptied:
            yield from ("--ro-bind", str(place), str(place))


def _is_harmless(config: Path) -> bool:
    try:
        with config.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_GIT_BYTES)
    except OSError:
        return False
    return len(text) < _GIT_BYTES and not _GIT_SECRET.search(text)


def _within_reach(box: Box, env: Mapping[str, str]) -> Iterator[Path]:
    """Secrets in what is shown: of a home that is the workspace or part of it, and in the folders of tools."""
    shown = box.folders
    tools = tool_folders(env)
    for home in homes(env):
        for name in SECRETS:
            secret = Path(os.path.realpath(home / name))
            if is_there(secret) and _holds((*shown, *tools), secret) and not _holds([secret], box.cwd):
                yield secret
    yield from (path for path in box.hidden if is_there(path) and not _holds([path], box.cwd))
