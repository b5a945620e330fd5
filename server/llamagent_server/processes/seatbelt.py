"""The sandbox on macOS: a profile for sandbox-exec(1). Not tried by the project's own tests, which run on Linux."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llamagent_server.processes.box import Box, kept
from llamagent_server.processes.homes import SECRETS, homes

PROGRAM = "/usr/bin/sandbox-exec"
# Where the system itself lets every program write. What a command leaves there is not private, as it is on Linux.
_SCRATCH = ("/private/tmp", "/private/var/tmp", "/private/var/folders", "/dev")


@dataclass(frozen=True, slots=True)
class Seatbelt:
    reports = False

    def argv(self, inner: Sequence[str], box: Box, env: Mapping[str, str]) -> list[str]:
        return [PROGRAM, "-p", "\n".join(profile(box, env)), *inner]


def profile(box: Box, env: Mapping[str, str]) -> Iterator[str]:
    """The lines of the profile; of those that fit, the last one counts."""
    yield "(version 1)"
    yield "(allow default)"
    if not box.network:
        yield "(deny network*)"
        # Within the machine's own loopback a program's tests may speak to what they started.
        yield '(allow network* (local ip "localhost:*"))'
    yield "(deny file-write*)"
    for folder in (*map(Path, _SCRATCH), *box.folders):
        yield f"(allow file-write* {_below(folder)})"
    for path, writable in kept(box):
        yield f"({'allow' if writable else 'deny'} file-write* {_below(path)})"
    secrets = (home / name for home in homes(env) for name in SECRETS)
    for path in (*secrets, *box.hidden):
        yield f"(deny file-read* file-write* {_below(path)})"
    # Agents that act for the person: keys, the clipboard, other programs.
    yield '(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.securityd.xpc"))'
    yield "(deny appleevent-send)"


def _below(path: Path) -> str:
    return f"(subpath {json.dumps(str(path), ensure_ascii=False)})"
