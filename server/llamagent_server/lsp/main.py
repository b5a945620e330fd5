"""Entry points: serve one editor over stdio, or any number over TCP."""

import asyncio
import ipaddress
import logging
import socket
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llamagent_server.core.messages import Json
from llamagent_server.lsp.logs import start_logging
from llamagent_server.lsp.process import end_within, guard_stdio, on_stop_signals
from llamagent_server.lsp.server import Start
from llamagent_server.lsp.serving import Ending, serve_client
from llamagent_server.lsp.transport import Channel, Pipes, Socket

USAGE_ERROR = 2
MAX_CONNECTIONS = 32
EXIT_SECONDS = 3.5  # from the reason to end until the end, whatever still waits for something
BY_HAND = (
    "llamagent-server speaks the Language Server Protocol with an editor, over stdin and stdout; an editor starts it.\n"
    'To ask from a terminal: llamagent-server ask "..."   More: llamagent-server --help   (Ctrl-C ends this one.)\n'
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`overrides` are settings given on the command line; `token_file` holds what TCP clients must show."""

    overrides: Mapping[str, Json] = field(default_factory=dict)
    log_file: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    token_file: Path | None = None


def serve_stdio(options: ServeOptions) -> int:
    """Serve the editor that started this process; the exit code."""
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(BY_HAND)
    reads, writes = guard_stdio()
    return _run(_stdio(Pipes(reads, writes), Start(options.overrides)), options)


def serve_tcp(options: ServeOptions) -> int:
    """Serve every client that connects and shows the token; the exit code."""
    try:
        token = options.token_file.read_text(encoding="utf-8").strip() if options.token_file else ""
    except (OSError, ValueError) as problem:
        return _wrong(f"the token file cannot be read: {problem}")
    if not token:
        return _wrong("serving over TCP needs a token file that is not empty")
    return _run(_tcp(options.host, options.port, Start(options.overrides, token)), options)


def _run(serving: Coroutine[Any, Any, int], options: ServeOptions) -> int:
    try:
        logs = start_logging(options.log_file)
    except OSError as problem:
        serving.close()
        return _wrong(f"the log file cannot be written: {problem}")
    code = asyncio.run(serving)
    logs.stop()
    return code


async def _stdio(channel: Channel, start: Start) -> int:
    ending = Ending()
    on_stop_signals(asyncio.get_running_loop(), ending.end_by_signal)
    guard = asyncio.create_task(_end_in_time(ending))
    code = await serve_client(channel, start, ending)
    await guard
    return code


async def _end_in_time(ending: Ending) -> None:
    end_within(EXIT_SECONDS, await ending.wait())


async def _tcp(host: str, port: int, start: Start) -> int:
    """Every connection is a server of its own; the process lives until it is told to stop."""
    stopping = Ending()
    on_stop_signals(asyncio.get_running_loop(), stopping.end_by_signal)
    try:
        listener = _listen(host, port)
    except OSError as problem:
        return _wrong(f"cannot listen on {host}:{port}: {problem}")
    endings: dict[asyncio.Task[int], Ending] = {}
    accepting = asyncio.create_task(_accept(listener, start, endings))
    accepting.add_done_callback(lambda _: stopping.end(1, "no more connections can be taken"))
    code = await stopping.wait()
    end_within(EXIT_SECONDS, code)
    accepting.cancel()
    listener.close()
    for ending in endings.values():
        ending.end(code, "the server stops")
    if endings:
        await asyncio.wait(endings)
    return code


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    listener.setblocking(False)
    address = listener.getsockname()[0]
    sys.stderr.write(f"llamagent-server listens on {address}:{listener.getsockname()[1]}\n")
    sys.stderr.flush()
    if not ipaddress.ip_address(address).is_loopback:
        _log.warning("%s can be reached from other machines, and what is said there is not encrypted", address)
    return listener


async def _accept(listener: socket.socket, start: Start, endings: dict[asyncio.Task[int], Ending]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listener)
        if len(endings) >= MAX_CONNECTIONS:
            connection.close()
            continue
        ending = Ending()
        task = loop.create_task(serve_client(Socket(connection), start, ending))
        endings[task] = ending
        task.add_done_callback(endings.pop)


def _wrong(words: str) -> int:
    sys.stderr.write(f"llamagent-server: {words}\n")
    return USAGE_ERROR
