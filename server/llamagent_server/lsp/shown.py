"""Texts that a person is shown as files: kept in one private folder outside of every workspace, gone at the end."""

import logging
from itertools import count
from pathlib import Path

from lsprotocol import types

from llamagent_server.lsp.client import Client
from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.protocol import StrictProtocol
from llamagent_server.store import temporary
from llamagent_server.store.temporary import TemporaryFolder

_log = logging.getLogger(__name__)


class ShownFiles:
    def __init__(self, protocol: StrictProtocol, client: Client) -> None:
        self._protocol = protocol
        self._client = client
        self._folder: TemporaryFolder | None = None
        self._closed = False
        self._numbers = count(1)

    async def show(self, name: str, text: str) -> bool:
        """Open `text` in the editor; False where the editor cannot."""
        if not self._client.shows_documents:
            return False
        path = self.write(name, text)
        if path is None:
            return False
        params = types.ShowDocumentParams(path.as_uri(), take_focus=True)
        try:
            return await self._protocol.ask(types.WINDOW_SHOW_DOCUMENT, params, _success)
        except AskFailed as problem:
            _log.warning("the editor did not show %s: %s", path.name, problem)
            return False

    def write(self, name: str, text: str) -> Path | None:
        """A new file that holds `text`; None when the disk refuses, and after the end. `name` gives its stem and
        suffix."""
        if self._closed:
            return None
        wanted = Path(name)
        try:
            if self._folder is None:
                self._folder = temporary.make()
            path = self._folder.path / f"{wanted.stem}-{next(self._numbers)}{wanted.suffix}"
            path.write_text(text, encoding="utf-8", errors="replace", newline="")
        except OSError as problem:
            _log.warning("a text to be shown could not be written: %s", problem)
            return None
        return path

    def close(self) -> None:
        self._closed = True
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def _success(value: object) -> bool:
    return isinstance(value, dict) and value.get("success") is True
