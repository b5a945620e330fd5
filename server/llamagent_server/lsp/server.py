"""One client's server: its protocol, who is let in, what is offered, and the session that comes of it."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer

from llamagent_server import __version__
from llamagent_server.core.messages import Json
from llamagent_server.lsp.client import Client, JsonMap, read_client
from llamagent_server.lsp.protocol import Phase, StrictProtocol
from llamagent_server.lsp.wire import COMMANDS, PROTOCOL_VERSION

if TYPE_CHECKING:
    from llamagent_server.lsp.session import EditorSession

STOP_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Server(LanguageServer):
    """pygls' server without pop-ups about itself."""

    protocol: StrictProtocol

    def report_server_error(self, error: Exception, source: object) -> None:
        _log.error("%s: %s", source, error)


@dataclass(frozen=True, slots=True)
class Start:
    """How the daemon was started: settings of the command line, and the token that a client must show, if any."""

    overrides: Mapping[str, Json] = field(default_factory=dict)
    token: str | None = None


class Daemon:
    """`end` closes the connection: an exit code, and why."""

    def __init__(self, start: Start, end: Callable[[int, str], None]) -> None:
        self.server = Server("llamagent", __version__, protocol_cls=StrictProtocol)
        self.protocol = self.server.protocol
        self.end = end
        self.greeted = asyncio.Event()  # a client was let in
        self.client: Client | None = None
        self._start = start
        self._session: EditorSession | None = None

    @property
    def session(self) -> "EditorSession":
        """Made when the first message after `initialize` needs it: the reply does not wait for what this imports."""
        if self.client is None:
            raise RuntimeError("not initialized")
        if self._session is None:
            from llamagent_server.lsp.session import EditorSession

            self._session = EditorSession(self.protocol, self.client, self._start.overrides)
        return self._session

    def initialize(self, params: JsonMap) -> types.InitializeResult:
        client = read_client(params)
        if not self._is_let_in(client.options.token or ""):
            self.protocol.phase = Phase.SHUTDOWN
            self.end(1, "a client showed no token or a wrong one")
            raise JsonRpcInvalidRequest("The token in initializationOptions.token is missing or wrong.")
        self.client = client
        self.greeted.set()
        return types.InitializeResult(self._capabilities(client), types.ServerInfo("llamagent", __version__))

    def _is_let_in(self, shown: str) -> bool:
        token = self._start.token
        return token is None or secrets.compare_digest(token.encode(), shown.encode("utf-8", "surrogatepass"))

    def _capabilities(self, client: Client) -> types.ServerCapabilities:
        features = self.protocol.fm
        capabilities: types.ServerCapabilities = ServerCapabilitiesBuilder(
            types.ClientCapabilities(),
            set(features.features),
            features.feature_options,
            [command.id for command in COMMANDS if command.served],
            types.TextDocumentSyncKind.Incremental,
            position_encoding=client.encoding.value,
        ).build()  # type: ignore[no-untyped-call]
        capabilities.experimental = {"llamagent": {"protocol": PROTOCOL_VERSION}}
        return capabilities

    async def close(self) -> None:
        await self.protocol.stop_requests(STOP_SECONDS)
        if self._session is not None:
            await self._session.close()
