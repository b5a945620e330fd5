"""The open documents as the editor has them on screen: the agent's `Buffers`, fed by the didOpen family."""

import asyncio
import logging
from dataclasses import dataclass

from lsprotocol import types

from llamagent_server.lsp.text import Encoding, Place, Text
from llamagent_server.workspace.buffers import OpenDocument
from llamagent_server.workspace.uris import key

# In code points. A larger document, or one more where so much is open, is known to be open, and not what is in it.
MAX_DOCUMENT = 10_000_000
MAX_DOCUMENTS = 200_000_000
TOO_LARGE = f"it is too large: more than {MAX_DOCUMENT // 1_000_000} million characters"
TOO_MANY = "too much is open in the editor: close other files, then open this one again"
OUT_OF_STEP = "the editor's changes of it came out of order or were not understood: close it and open it again"

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Document:
    """`problem` says why its text is not known; then that is empty."""

    uri: str
    language_id: str
    version: int
    text: Text
    problem: str = ""


class Documents:
    """Every open document but unnamed ones: an editor may give several of those the same URI, `file://`."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.generation = 0
        self._open: dict[str, _Document] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    def get(self, uri: str) -> OpenDocument | None:
        document = self._open.get(key(uri))
        return _snapshot(document) if document else None

    def all(self) -> tuple[OpenDocument, ...]:
        return tuple(_snapshot(document) for document in self._open.values())

    def text(self, uri: str) -> Text | None:
        """The live text, for its positions, where it is known. It must not be kept."""
        document = self._open.get(key(uri))
        return document.text if document and not document.problem else None

    def open(self, item: types.TextDocumentItem) -> None:
        if _has_name(item.uri):
            document = _Document(item.uri, item.language_id, item.version, Text("", self.encoding))
            self._open[key(item.uri)] = document
            self._put(document, item.text)
            self._tell()

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Changes in their order, each on the text that the one before left.

        A version that goes back says that some got lost or overtook others: what the editor shows is known again once
        it sends the whole text.
        """
        document = self._open.get(key(params.text_document.uri))
        if document is None:
            # Some editors send changes before didOpen, or after they renamed a buffer; the text follows with didOpen.
            _log.info("a change of a document that is not open: %s", params.text_document.uri)
            return
        if params.text_document.version < document.version:
            self._lose(document, OUT_OF_STEP)
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangeWholeDocument):
                self._put(document, change.text)
            elif not document.problem:
                _apply(document, change)
        if len(document.text) > MAX_DOCUMENT:
            self._lose(document, TOO_LARGE)
        document.version = params.text_document.version
        self._tell()

    def _put(self, document: _Document, text: str) -> None:
        """`text` is the whole text now."""
        document.text, document.problem = Text("", self.encoding), ""
        if len(text) > MAX_DOCUMENT:
            self._lose(document, TOO_LARGE)
        elif len(text) + sum(len(other.text) for other in self._open.values()) > MAX_DOCUMENTS:
            self._lose(document, TOO_MANY)
        else:
            document.text = Text(text, self.encoding)

    def _lose(self, document: _Document, why: str) -> None:
        _log.warning("%s: %s", document.uri, why)
        document.text, document.problem = Text("", self.encoding), why

    def version(self, uri: str) -> int:
        """Of an open document; 0 for any other."""
        document = self._open.get(key(uri))
        return document.version if document else 0

    def unknown(self, uri: str) -> None:
        """What an open document shows was not understood."""
        document = self._open.get(key(uri))
        if document is not None:
            self._lose(document, OUT_OF_STEP)
            self._tell()

    def close(self, uri: str) -> None:
        if self._open.pop(key(uri), None) is not None:
            self._tell()

    async def changed(self, since: int, seconds: float) -> bool:
        """Wait until `generation` is no longer `since`; False when it still is after `seconds`."""
        try:
            async with asyncio.timeout(max(seconds, 0)):
                while self.generation == since:
                    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiting.add(waiting)
                    try:
                        await waiting
                    finally:
                        self._waiting.discard(waiting)
        except TimeoutError:
            return False
        return True

    def _tell(self) -> None:
        self.generation += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)


def _apply(document: _Document, change: types.TextDocumentContentChangePartial) -> None:
    start, end = change.range.start, change.range.end
    document.text.replace(Place(start.line, start.character), Place(end.line, end.character), change.text)


def _snapshot(document: _Document) -> OpenDocument:
    return OpenDocument(document.uri, str(document.text), document.version, document.language_id, document.problem)


def _has_name(uri: str) -> bool:
    return uri.rstrip("/") not in ("file:", "")
