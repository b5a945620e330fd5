"""One client's server: its protocol, who is let in, what is offered, and the session that comes of it."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from cattrs import Converter
from pygls.exceptions import JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from llamagent_server import __version__
from llamagent_server.core.messages import Json
from llamagent_server.lsp.catalogue import catalogue
from llamagent_server.lsp.client import Client, JsonMap, read_client
from llamagent_server.lsp.greeting import ACTION_KINDS, PREFIX, PROTOCOL_VERSION, SERVED
from llamagent_server.lsp.protocol import Phase, StrictProtocol

if TYPE_CHECKING:
    from llamagent_server.lsp.session import EditorSession

STOP_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Server(LanguageServer):
    """pygls' server without pop-ups about itself."""

    protocol: StrictProtocol

    def report_server_error(self, error: Exception, source: object) -> None:
        _log.error("%s: %s", source, error)


class LateConverter:
    """pygls' converter, made at its first use: `initialize` is answered without one, and so sooner."""

    def __getattr__(self, name: str) -> Any:
        converter: Converter = default_converter()  # type: ignore[no-untyped-call]
        self.__dict__.update(structure=converter.structure, unstructure=converter.unstructure)
        return getattr(converter, name)


@dataclass(frozen=True, slots=True)
class Start:
    """How the daemon was started: settings of the command line, and the token that a client must show, if any."""

    overrides: Mapping[str, Json] = field(default_factory=dict)
    token: str | None = None


class Daemon:
    """`end` closes the connection: an exit code, and why."""

    def __init__(self, start: Start, end: Callable[[int, str], None]) -> None:
        self.server = Server(
            "llamagent",
            __version__,
            protocol_cls=StrictProtocol,
            converter_factory=lambda: cast(Converter, LateConverter()),
        )
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

    def initialize(self, params: JsonMap) -> dict[str, Json]:
        client = read_client(params)
        if not self._is_let_in(client.options.token or ""):
            self.protocol.phase = Phase.SHUTDOWN
            self.end(1, "a client showed no token or a wrong one")
            raise JsonRpcInvalidRequest("The token in initializationOptions.token is missing or wrong.")
        self.client = client
        self.protocol.say = lambda english: catalogue(client.locale).say(english)
        self.greeted.set()
        return {"capabilities": _capabilities(client), "serverInfo": {"name": "llamagent", "version": __version__}}

    def _is_let_in(self, shown: str) -> bool:
        token = self._start.token
        return token is None or secrets.compare_digest(token.encode(), shown.encode("utf-8", "surrogatepass"))

    async def close(self) -> None:
        await self.protocol.stop_requests(STOP_SECONDS)
        if self._session is not None:
            await self._session.close()


_DIAGNOSTICS: dict[str, Json] = {
    "identifier": "llamagent",
    "interFileDependencies": False,
    "workspaceDiagnostics": False,
}


def _capabilities(client: Client) -> dict[str, Json]:
    """`ServerCapabilities`, as JSON."""
    incremental = 2
    return {
        "positionEncoding": client.encoding.value,
        "textDocumentSync": {"openClose": True, "change": incremental, "save": True},
        "completionProvider": {"triggerCharacters": ["@", "/"]},
        "hoverProvider": True,
        "codeActionProvider": {"codeActionKinds": list(ACTION_KINDS)} if client.action_literals else True,
        **({"diagnosticProvider": _DIAGNOSTICS} if client.pulls_diagnostics else {}),
        "executeCommandProvider": {"commands": [PREFIX + name for name in SERVED]},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        "experimental": {"llamagent": {"protocol": PROTOCOL_VERSION}},
    }
