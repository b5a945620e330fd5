"""The open documents as the editor has them on screen: the agent's `Buffers`, fed by the didOpen family."""

import asyncio
import logging
from dataclasses import dataclass

from lsprotocol import types

from llamagent_server.lsp.text import Encoding, Place, Text
from llamagent_server.workspace.buffers import OpenDocument
from llamagent_server.workspace.uris import key

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Document:
    uri: str
    language_id: str
    version: int
    text: Text


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
        """The live text, for its positions. It must not be kept."""
        document = self._open.get(key(uri))
        return document.text if document else None

    def open(self, item: types.TextDocumentItem) -> None:
        if _has_name(item.uri):
            text = Text(item.text, self.encoding)
            self._open[key(item.uri)] = _Document(item.uri, item.language_id, item.version, text)
            self._tell()

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Changes in their order, each on the text that the one before left."""
        document = self._open.get(key(params.text_document.uri))
        if document is None:
            # Some editors send changes before didOpen, or after they renamed a buffer; the text follows with didOpen.
            _log.info("a change of a document that is not open: %s", params.text_document.uri)
            return
        for change in params.content_changes:
            _apply(document, change, self.encoding)
        document.version = params.text_document.version
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


def _apply(document: _Document, change: types.TextDocumentContentChangeEvent, encoding: Encoding) -> None:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        document.text = Text(change.text, encoding)
        return
    start, end = change.range.start, change.range.end
    document.text.replace(Place(start.line, start.character), Place(end.line, end.character), change.text)


def _snapshot(document: _Document) -> OpenDocument:
    return OpenDocument(document.uri, str(document.text), document.version, document.language_id)


def _has_name(uri: str) -> bool:
    return uri.rstrip("/") not in ("file:", "")
