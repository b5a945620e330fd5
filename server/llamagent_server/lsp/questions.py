"""Questions to the person in the editor's own dialogs, one at a time."""

import asyncio
import logging
from collections.abc import Sequence

from lsprotocol import types

from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.protocol import StrictProtocol

_log = logging.getLogger(__name__)


class Questions:
    """Hold `one_at_a_time` from a question's first word until all that follows from its answer is done."""

    def __init__(self, protocol: StrictProtocol) -> None:
        self._protocol = protocol
        self.one_at_a_time = asyncio.Lock()

    async def choose(self, message: str, titles: Sequence[str]) -> str | None:
        """The chosen one of `titles`; None for no answer of any kind."""
        params = types.ShowMessageRequestParams(
            types.MessageType.Info, message, [types.MessageActionItem(title) for title in titles]
        )
        try:
            chosen = await self._protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, params, _title)
        except AskFailed as problem:
            _log.warning("a question got no answer: %s", problem)
            return None
        return chosen if chosen in titles else None


def _title(value: object) -> str | None:
    title = value.get("title") if isinstance(value, dict) else None
    return title if isinstance(title, str) else None
