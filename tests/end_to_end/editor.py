"""An editor in a few lines: the real daemon over real stdio, documents that change, questions that are answered."""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from llamagent_server.lsp.text import Encoding
from tests.lsp.loopback import apply_edits, edits_by_uri
from tests.lsp.rawclient import PATIENCE, SERVE, RawClient, daemon

Answer = Callable[[Any], Any]
FLAGS = {"review": True, "trace": True, "consent": True}


class Editor:
    """`answers` maps a method of the server's requests to what is answered. Without one the answer is an error."""

    def __init__(self, client: RawClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.answers: dict[str, Answer] = {"workspace/applyEdit": self.accept}
        self.messages: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self._replies: dict[object, asyncio.Future[dict[str, Any]]] = {}
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reader = asyncio.create_task(self._read())

    # --- Documents -------------------------------------------------------------------------------------------------

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    async def open(self, path: str, text: str | None = None) -> None:
        uri = self.uri(path)
        self.texts[uri] = (self.root / path).read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        item = {"uri": uri, "languageId": "python", "version": 1, "text": self.texts[uri]}
        await self.client.notify("textDocument/didOpen", {"textDocument": item})

    async def change(self, path: str, text: str) -> None:
        uri = self.uri(path)
        self.texts[uri] = text
        self.versions[uri] += 1
        await self.client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": self.versions[uri]}, "contentChanges": [{"text": text}]},
        )

    def text(self, path: str) -> str:
        """What the person sees: the open document, else the file."""
        uri = self.uri(path)
        return self.texts[uri] if uri in self.texts else (self.root / path).read_bytes().decode()

    # --- Answers ---------------------------------------------------------------------------------------------------

    async def accept(self, params: Any) -> dict[str, Any]:
        """Apply all of a workspace edit: in the open documents, else on disk."""
        for operation in params["edit"].get("documentChanges", []):
            if operation.get("kind") == "create":
                path = self._path(operation["uri"])
                assert not path.exists(), "the server creates a file that is there"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            elif operation.get("kind") == "delete":
                self._path(operation["uri"]).unlink()
                self.texts.pop(operation["uri"], None)
        for uri, edits in edits_by_uri(params["edit"]).items():
            path = self._path(uri)
            if uri in self.texts:
                await self.change(str(path.relative_to(self.root)), apply_edits(self.texts[uri], edits, Encoding.UTF16))
            else:
                before = path.read_bytes().decode() if path.exists() else ""
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(apply_edits(before, edits, Encoding.UTF16).encode())
        return {"applied": True}

    def _path(self, uri: str) -> Path:
        assert uri.startswith(self.root.as_uri()), f"the server edits {uri}"
        return self.root / uri.removeprefix(self.root.as_uri() + "/")

    def expect(self, number: int) -> asyncio.Future[dict[str, Any]]:
        """The future of the whole reply to the request with that id."""
        future = self._replies[number] = asyncio.get_running_loop().create_future()
        return future

    # --- Requests --------------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Any) -> Any:
        """The result of any request. An error reply fails the test."""
        self.client._ids += 1
        number = self.client._ids
        future = self.expect(number)
        await self.client.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        async with asyncio.timeout(3 * PATIENCE):
            reply = await future
        assert "error" not in reply, reply
        return reply["result"]

    async def start(self, command: str, /, **arguments: Any) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        """Send a command; its id and the future of its whole reply."""
        self.client._ids += 1
        number = self.client._ids
        future = self._replies[number] = asyncio.get_running_loop().create_future()
        params = {"command": f"llamagent.{command}", "arguments": [arguments]}
        await self.client.send({"jsonrpc": "2.0", "id": number, "method": "workspace/executeCommand", "params": params})
        return number, future

    async def command(self, command: str, /, **arguments: Any) -> Any:
        """The result of a command. An error reply fails the test."""
        _, future = await self.start(command, **arguments)
        async with asyncio.timeout(3 * PATIENCE):
            reply = await future
        assert "error" not in reply, reply
        return reply["result"]

    async def failing(self, command: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a command that must fail."""
        _, future = await self.start(command, **arguments)
        async with asyncio.timeout(3 * PATIENCE):
            reply = await future
        assert "error" in reply, reply
        error = reply["error"]
        assert isinstance(error, dict)
        return error

    async def ask(self, text: str, **arguments: Any) -> Any:
        return await self.command("ask", text=text, **arguments)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(3 * PATIENCE), self._changed:
            await self._changed.wait_for(condition)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The params of all messages of the server with `method`."""
        return [message["params"] for message in self.messages if message["method"] == method]

    # --- The wire --------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            try:
                message = await self.client.read()
            except TimeoutError:
                continue
            except (EOFError, ConnectionError):
                return
            async with self._changed:
                if "method" not in message:
                    self._replies.pop(message["id"]).set_result(message)
                else:
                    self.messages.append(message)
                    if message["method"] == "llamagent/trace":
                        self.events.append(message["params"])
                    if "id" in message:
                        task = asyncio.create_task(self._answer(message))
                        self._tasks.add(task)
                        task.add_done_callback(self._tasks.discard)
                self._changed.notify_all()

    async def _answer(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        answer = self.answers.get(message["method"])
        if answer is None:
            reply["error"] = {"code": -32601, "message": "no such method"}
        else:
            result = answer(message["params"])
            reply["result"] = await result if inspect.isawaitable(result) else result
        await self.client.send(reply)


CAPABILITIES = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
    },
    "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}},
}


@asynccontextmanager
async def editor(
    root: Path,
    home: Path,
    *,
    url: str,
    flags: dict[str, bool] | None = None,
    capabilities: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    trusted: bool | None = True,
    environment: dict[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    pid: int | None = None,
    locale: str | None = None,
) -> AsyncIterator[Editor]:
    """A daemon started on the project `root` with the model server at `url`, and nothing of the machine's own user."""
    env = {"LLAMAGENT_HOME": str(home), "OLLAMA_URL": "", "OLLAMA_HOST": "", "OLLAMA_MODEL": "", **(environment or {})}
    async with daemon((*SERVE, *arguments), **env) as client:
        able = dict(CAPABILITIES if capabilities is None else capabilities)
        able["experimental"] = {"llamagent": FLAGS if flags is None else flags}
        options: dict[str, Any] = {"settings": {"url": url, **(settings or {})}}
        if trusted is not None:
            options["trusted"] = trusted
        await client.initialize(
            pid=os.getpid() if pid is None else pid,
            capabilities=able,
            workspaceFolders=[{"uri": root.as_uri(), "name": root.name}],
            rootUri=root.as_uri(),
            initializationOptions=options,
            **({} if locale is None else {"locale": locale}),
        )
        opened = Editor(client, root)
        try:
            yield opened
        finally:
            opened._reader.cancel()
