"""Whether an open document and its file still agree, and which of the two is the newer one.

Each time a document was opened or saved, it is noted what the file was then and whether the document said the same.
Later a file whose stamp differs was written by somebody else: if the document is as it was, the disk is the truth; if
somebody typed in it, there are two truths, which only a person can join.
"""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum

from llamagent_server.processes.threads import Lane
from llamagent_server.workspace import uris
from llamagent_server.workspace.buffers import OpenDocument
from llamagent_server.workspace.disk import Stamp

LOOKS_AT_ONCE = 8  # of an editor that opens a thousand documents at a time


class Truth(StrEnum):
    BUFFER = "buffer"
    DISK = "disk"
    GONE = "gone"  # the file was deleted; only the buffer is left
    BOTH = "both"  # a conflict: unsaved changes here, other changes there


@dataclass(frozen=True, slots=True)
class _Agreed:
    """`stamp` of the file when it was last looked at (None: not there, or it differed already); `digest` of the
    document's text while it has no unsaved changes (None: it had some from the beginning)."""

    stamp: Stamp | None
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was found; `text` is None where it is no UTF-8."""

    stamp: Stamp
    text: str | None


class Freshness:
    """`look(uri)` reads the file of an open document, None where there is none. It blocks, so it runs in threads."""

    def __init__(self, look: Callable[[str], Seen | None]) -> None:
        self._look = look
        self._agreed: dict[str, Future[_Agreed]] = {}
        self._lock = threading.Lock()
        self._lane = Lane(LOOKS_AT_ONCE)

    def opened(self, document: OpenDocument) -> None:
        self._note(document.uri, self._lane.start(lambda: self._at_opening(document), "llamagent-opened"))

    def saved(self, document: OpenDocument) -> None:
        self._note(document.uri, self._lane.start(lambda: self._at_saving(document), "llamagent-saved"))

    def closed(self, uri: str) -> None:
        with self._lock:
            self._agreed.pop(uris.key(uri), None)

    def truth(self, document: OpenDocument, stamp: Stamp | None) -> Truth:
        """Which text counts, the file's stamp being `stamp` now. Blocking."""
        key = uris.key(document.uri)
        noted = self._agreed.get(key)
        if noted is None:
            noted = self._note(document.uri, self._lane.start(lambda: self._at_opening(document), "llamagent-opened"))
        agreed = noted.result()
        if stamp is None:
            return Truth.GONE if agreed.stamp is not None else Truth.BUFFER
        if stamp == agreed.stamp:
            return Truth.BUFFER
        seen = self._look(document.uri)
        if seen is None:
            return Truth.BUFFER
        if seen.text is not None and same_text(document.text, seen.text):
            self._renew(key, noted, _Agreed(seen.stamp, _digest(document.text)))
            return Truth.BUFFER
        clean = agreed.digest == _digest(document.text)
        return Truth.DISK if clean and seen.text is not None else Truth.BOTH

    def _note(self, uri: str, noted: "Future[_Agreed]") -> "Future[_Agreed]":
        with self._lock:
            self._agreed[uris.key(uri)] = noted
        return noted

    def _renew(self, key: str, noted: "Future[_Agreed]", agreed: _Agreed) -> None:
        """Note `agreed`, unless the document was saved, closed or opened again meanwhile: that is newer."""
        with self._lock:
            if self._agreed.get(key) is noted:
                self._agreed[key] = _done(agreed)

    def _at_opening(self, document: OpenDocument) -> _Agreed:
        seen = self._look(document.uri)
        if seen is None:
            return _Agreed(None, None)
        # What only the editor can decode cannot be compared; an editor opens what is on disk.
        clean = seen.text is None or same_text(document.text, seen.text)
        return _Agreed(seen.stamp, _digest(document.text) if clean else None)

    def _at_saving(self, document: OpenDocument) -> _Agreed:
        seen = self._look(document.uri)
        agrees = seen is not None and (seen.text is None or same_text(document.text, seen.text))
        return _Agreed(seen.stamp if seen is not None and agrees else None, _digest(document.text))


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but line ends and a byte order mark."""
    if one == other:
        return True
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _done(agreed: _Agreed) -> "Future[_Agreed]":
    future: Future[_Agreed] = Future()
    future.set_result(agreed)
    return future
