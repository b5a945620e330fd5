"""One big file over HTTP: checked by its hash, and gone on with where an earlier try broke off."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from llamagent_server.errors import ModelFailed, ModelUnreachable
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.failures import without_password

if TYPE_CHECKING:
    import requests

_CHUNK = 1 << 18
_TRIES = 4
_CONNECT_SECONDS, _IDLE_SECONDS = 15.0, 60.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The file that must come: its size in bytes and its SHA-256 in hex."""

    size: int
    sha256: str


class NotServed(ModelUnreachable):
    """Not one byte of it came: another way to the same file may work."""


class _BrokeOff(Exception):
    """The connection ended early; what had come is kept."""


def download(url: str, target: Path, wanted: Wanted, watch: Callable[[int], None], cancel: Cancel) -> None:
    """`url` (http, https or file) at `target`; until it is whole it lies beside it as `.part`.

    `watch` is told how many bytes are here. Raises NotServed, ModelUnreachable (what has come is kept), ModelFailed.
    """
    if target.exists() and _digest(target) == wanted.sha256:
        return
    part = target.with_suffix(".part")
    if urlsplit(url).scheme == "file":
        shutil.copyfile(_local(url), part)
    else:
        _in_tries(url, part, wanted, watch, cancel)
    _verify(part, wanted, url)
    part.replace(target)


def _in_tries(url: str, part: Path, wanted: Wanted, watch: Callable[[int], None], cancel: Cancel) -> None:
    problem: Exception | None = None
    for _ in range(_TRIES):
        before = _size(part)
        if before >= wanted.size:
            return
        try:
            _go_on(url, part, wanted.size, watch, cancel)
            return
        except _BrokeOff as broke:
            problem = broke
            if cancel.asked or _size(part) <= before:
                break
    if not _size(part):
        raise NotServed(
            f"{_host(url)} does not give the file.", hint="Look at the network and ask again.", detail=str(problem)
        )
    raise ModelUnreachable(
        f"The download from {_host(url)} broke off: {_size(part) / 1e6:.0f} of {wanted.size / 1e6:.0f} MB are here.",
        hint="Look at the network and ask again: it goes on where it stopped.",
        detail=str(problem),
    )


def _go_on(url: str, part: Path, most: int, watch: Callable[[int], None], cancel: Cancel) -> None:
    """Fetch what is missing of `part`, which never gets longer than about `most`. Raises _BrokeOff, NotServed."""
    import requests
    from urllib3.exceptions import HTTPError

    have = _size(part)
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        answer = requests.get(url, headers=headers, stream=True, timeout=(_CONNECT_SECONDS, _IDLE_SECONDS))
        with closing(answer), part.open("ab" if _goes_on(answer, have) else "wb") as file:
            for done in _written(answer, file):
                watch(done)
                if cancel.asked:
                    raise _BrokeOff("stopped")
                if done > most:
                    return
    except (requests.RequestException, HTTPError) as error:
        raise _BrokeOff(str(error)) from error


def _goes_on(response: "requests.Response", have: int) -> bool:
    """Whether the body follows what is here; else it is the whole file. Raises NotServed for any other answer."""
    if response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        return True
    if response.status_code == 200:
        return False
    raise NotServed(
        f"{_host(response.url)} answered {response.status_code} instead of the file.",
        hint="Check what `pip config list` names as index.",
    )


def _written(response: "requests.Response", file: IO[bytes]) -> Iterator[int]:
    # Not iter_content: where the connection breaks it would lose what it had gathered of a chunk.
    while chunk := response.raw.read1(_CHUNK, decode_content=False):
        file.write(chunk)
        yield file.tell()


def _verify(part: Path, wanted: Wanted, url: str) -> None:
    digest = _digest(part)
    if digest != wanted.sha256:
        part.unlink()
        raise ModelFailed(
            f"What came from {_host(url)} is not the file that it should be; it was thrown away.",
            hint="Check what `pip config list` names as index, and that nothing between changes what you download.",
            detail=f"sha256 {digest}, expected {wanted.sha256}",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _host(url: str) -> str:
    return urlsplit(without_password(url)).netloc or "this machine"


def _local(url: str) -> Path:
    from urllib.request import url2pathname

    return Path(url2pathname(unquote(urlsplit(url).path)))
