"""A client in the same process: it gets every message that the protocol sends and answers as it is told."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types

from llamagent_server.lsp.client import Client, read_client
from llamagent_server.lsp.documents import Documents
from llamagent_server.lsp.framing import Frames
from llamagent_server.lsp.protocol import Phase, StrictProtocol
from llamagent_server.lsp.server import Server
from llamagent_server.lsp.text import Encoding, Place, Text

Answer = Callable[[Any], Any | Awaitable[Any]]


class Rejected(Exception):
    """The client's error reply: code and message."""


@dataclass
class Loopback:
    """`answers` maps a method to what is answered; a method that is not there gets MethodNotFound."""

    answers: dict[str, Answer] = field(default_factory=dict)
    encoding: Encoding = Encoding.UTF16
    sent: list[dict[str, Any]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.protocol: StrictProtocol = Server("test", "0", protocol_cls=StrictProtocol).protocol
        self.protocol.phase = Phase.RUNNING
        self.protocol.send = self._receive
        self.documents = Documents(self.encoding)
        self.replies: list[Any] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def _receive(self, frame: bytes, _for_show: bool) -> None:
        (body,) = Frames().feed(frame)
        message = json.loads(body)
        self.sent.append(message)
        self.arrived.set()
        if "method" in message and "id" in message:
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "method" not in message:
            self.replies.append(message)

    async def _answer(self, message: dict[str, Any]) -> None:
        answer = self.answers.get(message["method"])
        try:
            if answer is None:
                raise Rejected(-32601, "no such method")
            result = answer(message["params"])
            if asyncio.iscoroutine(result):
                result = await result
        except Rejected as rejected:
            code, words = rejected.args
            self.reply({"id": message["id"], "error": {"code": code, "message": words}})
            return
        self.reply({"id": message["id"], "result": result})

    def reply(self, message: Mapping[str, Any]) -> None:
        self.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def call(self, method: str, params: Any, message_id: int | str | None = None) -> None:
        """Send a request, or a notification where there is no `message_id`."""
        head = {} if message_id is None else {"id": message_id}
        self.reply({**head, "method": method, "params": params})

    def sent_params(self, method: str) -> list[Any]:
        return [message.get("params") for message in self.sent if message.get("method") == method]

    async def until_sent(self, method: str, times: int = 1) -> Any:
        """The params of the `times`-th message with `method`."""
        async with asyncio.timeout(5):
            while len(found := self.sent_params(method)) < times:
                self.arrived.clear()
                await self.arrived.wait()
        return found[times - 1]

    # --- The editor's documents ------------------------------------------------------------------------------------

    def opens(self, uri: str, text: str, version: int = 1) -> None:
        self.documents.open(types.TextDocumentItem(uri, "plaintext", version, text))

    def changes(self, uri: str, text: str, version: int) -> None:
        change = types.TextDocumentContentChangeWholeDocument(text)
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.documents.change(types.DidChangeTextDocumentParams(identifier, [change]))

    def applies(self, edit: dict[str, Any]) -> None:
        """Make a workspace edit in the open documents and report it, as an editor does."""
        for uri, edits in edits_by_uri(edit).items():
            document = self.documents.get(uri)
            text = apply_edits(document.text if document else "", edits, self.documents.encoding)
            if document is None:
                self.opens(uri, text)
            else:
                self.changes(uri, text, document.version + 1)


def edits_by_uri(edit: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    if "changes" in edit:
        return dict(edit["changes"])
    return {op["textDocument"]["uri"]: op["edits"] for op in edit["documentChanges"] if "textDocument" in op}


def apply_edits(text: str, edits: list[dict[str, Any]], encoding: Encoding) -> str:
    """All ranges mean the text before any of the edits (LSP 3.17, TextEdit[])."""
    result = Text(text, encoding)
    for edit in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]))[::-1]:
        start, end = edit["range"]["start"], edit["range"]["end"]
        result.replace(Place(start["line"], start["character"]), Place(end["line"], end["character"]), edit["newText"])
    return str(result)


def client(capabilities: dict[str, Any] | None = None, *, locale: str | None = None, **flags: bool) -> Client:
    """What a client that declares `capabilities`, and our `flags`, is to us."""
    able = {"workspace": {"applyEdit": True}} if capabilities is None else capabilities
    able = {**able, "experimental": {"llamagent": flags}} if flags else able
    return read_client({"capabilities": able, "locale": locale, "workspaceFolders": None})
