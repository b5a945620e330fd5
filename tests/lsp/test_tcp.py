"""Over TCP every connection is a server of its own, and nobody gets in without the token."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.lsp.framing import Frames, frame
from llamagent_server.lsp.main import MAX_CONNECTIONS
from tests.lsp.rawclient import PATIENCE

TOKEN = "a-long-and-secret-word"


@dataclass
class Wire:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    frames: Frames = field(default_factory=Frames)
    bodies: list[bytes] = field(default_factory=list)

    async def request(self, message_id: int, method: str, params: Any = None) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}
        self.writer.write(frame(json.dumps(message).encode()))
        async with asyncio.timeout(PATIENCE):
            while not self.bodies:
                data = await self.reader.read(65536)
                if not data:
                    raise EOFError
                self.bodies += self.frames.feed(data)
        answer = json.loads(self.bodies.pop(0))
        assert isinstance(answer, dict)
        return answer

    async def initialize(self, token: str | None = TOKEN, **params: Any) -> dict[str, Any]:
        options = {} if token is None else {"initializationOptions": {"token": token}}
        return await self.request(0, "initialize", {"processId": 1, "capabilities": {}, **options, **params})

    async def open(self, folder: Path, **options: Any) -> None:
        """Begin to work on `folder`."""
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        options = {"token": TOKEN, **options}
        assert "result" in await self.initialize(workspaceFolders=folders, initializationOptions=options)
        self.writer.write(frame(json.dumps({"jsonrpc": "2.0", "method": "initialized", "params": {}}).encode()))

    async def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        params = {"command": f"llamagent.{name}", "arguments": [arguments]}
        return await self.request(1, "workspace/executeCommand", params)

    async def closed(self) -> bool:
        async with asyncio.timeout(PATIENCE):
            return await self.reader.read() == b""


@dataclass
class Server:
    process: asyncio.subprocess.Process
    host: str
    port: int

    async def connect(self) -> Wire:
        return Wire(*await asyncio.open_connection(self.host, self.port))


@asynccontextmanager
async def serving(folder: Path, address: str = "127.0.0.1:0") -> AsyncIterator[Server]:
    token_file = folder / "token"
    token_file.write_text(TOKEN + "\n")
    command = (sys.executable, "-m", "llamagent_server", "serve", "--tcp", address, "--token-file", str(token_file))
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            line = (await process.stderr.readline()).decode()
        host, _, port = line.split()[-1].rpartition(":")
        yield Server(process, host, int(port))
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()


async def test_the_token_lets_a_client_in(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        wire = await server.connect()
        assert (await wire.initialize())["result"]["serverInfo"]["name"] == "llamagent"
        reply = await wire.request(1, "workspace/executeCommand", {"command": "llamagent.help"})
        assert "result" in reply


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", TOKEN[:-1], "\u00e9", "\ud800"])
async def test_without_the_token_the_door_is_shut(tmp_path: Path, token: str | None) -> None:
    async with serving(tmp_path) as server:
        wire = await server.connect()
        assert "token" in (await wire.initialize(token))["error"]["message"]
        assert await wire.closed()
        assert "result" in await (await server.connect()).initialize()


async def test_nothing_is_done_for_who_sends_more_with_a_wrong_token(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        wire = await server.connect()
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
        more = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "workspace/executeCommand",
            "params": {"command": "llamagent.help"},
        }
        wire.writer.write(frame(json.dumps(hello).encode()) + frame(json.dumps(more).encode()))
        async with asyncio.timeout(PATIENCE):
            said = await wire.reader.read()
        assert b'"result"' not in said
        assert said.count(b'"error"') == 1 + said.count(b'"id":2')


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01", b"{}"])
async def test_what_is_not_lsp_is_closed_at_once(tmp_path: Path, data: bytes) -> None:
    async with serving(tmp_path) as server:
        wire = await server.connect()
        wire.writer.write(data)
        assert await wire.closed()
        assert "result" in await (await server.connect()).initialize()


async def test_each_connection_has_its_own_workspace_conversations_and_trust(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        (folder / ".llamagent").mkdir(parents=True)
        (folder / ".llamagent/config.toml").write_text(f'model = "{folder.name}"\n')
    async with serving(tmp_path) as server:
        one, two, again = [await server.connect() for _ in range(3)]
        await one.open(folders[0], trusted=True)
        await two.open(folders[1], trusted=True)
        await again.open(folders[1], trusted=False, settings={"model": "again"})
        models = []
        for wire in (one, two, again):
            settings = (await wire.command("config"))["result"]["settings"]
            models.append(next(row["value"] for row in settings if row["key"] == "model"))
        assert models == ["one", "two", "again"]
        session = (await one.command("new"))["result"]["session"]
        assert "result" in await one.command("context", session=session)
        assert (await two.command("context", session=session))["error"]["data"]["kind"] == "unknown_session"
        await one.command("set_model", value="mine")
        settings = (await two.command("config"))["result"]["settings"]
        assert next(row["value"] for row in settings if row["key"] == "model") == "two"


async def test_one_connections_end_is_not_the_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        first, second, probe = [await server.connect() for _ in range(3)]
        await first.initialize()
        await second.initialize()
        probe.writer.close()
        assert (await first.request(1, "shutdown"))["result"] is None
        first.writer.write(frame(b'{"jsonrpc": "2.0", "method": "exit"}'))
        assert await first.closed()
        assert "result" in await second.request(1, "workspace/executeCommand", {"command": "llamagent.help"})


async def test_one_connection_more_than_there_may_be_is_closed_until_another_has_gone(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        wires = [await server.connect() for _ in range(MAX_CONNECTIONS)]
        for wire in wires:
            assert "result" in await wire.initialize()
        assert await (await server.connect()).closed()
        assert "result" in await wires[-1].request(1, "workspace/executeCommand", {"command": "llamagent.help"})
        wires.pop().writer.close()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    assert "result" in await (await server.connect()).initialize()
                    break
                except (EOFError, ConnectionError):  # the server has not yet heard of the end
                    continue


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=str)
async def test_a_signal_ends_the_server_and_every_connection(tmp_path: Path, number: signal.Signals, code: int) -> None:
    async with serving(tmp_path) as server:
        wire = await server.connect()
        await wire.initialize()
        server.process.send_signal(number)
        assert await wire.closed()
        async with asyncio.timeout(PATIENCE):
            assert await server.process.wait() == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tcp", "127.0.0.1:0"], "--token-file"),
        (["--tcp", "127.0.0.1:0", "--token-file", "/no/such/file"], "cannot be read"),
        (["--tcp", "127.0.0.1:0", "--token-file", "/dev/null"], "not empty"),
        (["--tcp", "256.0.0.1:1", "--token-file", "TOKEN"], "cannot listen"),
    ],
)
async def test_a_wrong_start_is_a_usage_error(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "token").write_text(TOKEN)
    given = [str(tmp_path / "token") if argument == "TOKEN" else argument for argument in arguments]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "llamagent_server", "serve", *given, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE):
        _, said = await process.communicate()
    assert process.returncode == 2
    assert words in said.decode()
