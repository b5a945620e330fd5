"""A small LSP client on bare pipes, for what well-behaved clients never do."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from llamagent_server.lsp.framing import Frames, frame
from llamagent_server.store import temporary

SERVE = (sys.executable, "-m", "llamagent_server", "serve", "--stdio")
PATIENCE = 10.0  # seconds until a test gives up


class RawClient:
    """`others` collects what is no reply; requests of the server stay unanswered unless a test answers them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.others: list[dict[str, Any]] = []
        self._frames = Frames()
        self._bodies: list[bytes] = []
        self._ids = 0

    async def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def send(self, message: Any) -> None:
        await self.send_bytes(frame(json.dumps(message).encode()))

    async def notify(self, method: str, params: Any = None) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def start_request(self, method: str, params: Any = None) -> int:
        self._ids += 1
        await self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self._ids

    async def request(self, method: str, params: Any = None) -> dict[str, Any]:
        return await self.reply_to(await self.start_request(method, params))

    async def command(self, name: str, *arguments: Any) -> dict[str, Any]:
        return await self.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    async def reply_to(self, message_id: object) -> dict[str, Any]:
        """The reply with that id; what comes before is kept in `others`."""
        while True:
            message = await self.read()
            if "method" not in message and message.get("id") == message_id:
                return message
            self.others.append(message)

    async def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not self._bodies:
                data = await self.process.stdout.read(65536)
                if not data:
                    raise EOFError("the daemon has closed its stream")
                self._bodies += self._frames.feed(data)
        message = json.loads(self._bodies.pop(0))
        assert isinstance(message, dict)
        return message

    async def initialize(self, *, pid: int | None = None, **params: Any) -> dict[str, Any]:
        reply = await self.request(
            "initialize", {"processId": pid, "capabilities": {}, "workspaceFolders": None, **params}
        )
        await self.notify("initialized", {})
        return reply

    async def wait(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def errors(self) -> str:
        """All of the daemon's stderr, once it has ended."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            return (await self.process.stderr.read()).decode()


@asynccontextmanager
async def daemon(command: Sequence[str] = SERVE, **environment: str) -> AsyncIterator[RawClient]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield RawClient(process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
            temporary.sweep()
