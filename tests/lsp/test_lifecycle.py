"""The daemon as a process: how it starts, what may touch its stream, and every way in which it ends."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from llamagent_server.lsp.framing import frame
from tests.lsp.rawclient import PATIENCE, SERVE, RawClient, daemon

# --- Starting ------------------------------------------------------------------------------------------------------


async def test_it_says_who_it_is_and_what_it_offers() -> None:
    async with daemon() as client:
        result = (await client.initialize())["result"]
    assert result["serverInfo"]["name"] == "llamagent"
    assert result["capabilities"]["experimental"] == {"llamagent": {"protocol": 1}}
    assert "llamagent.ask" in result["capabilities"]["executeCommandProvider"]["commands"]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-7"], "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-7", "utf-32", "utf-8"], "utf-32"),
    ],
)
async def test_the_clients_first_encoding_that_we_know_is_taken(offered: list[str] | None, chosen: str) -> None:
    general = {"general": {"positionEncodings": offered}} if offered is not None else {}
    async with daemon() as client:
        result = (await client.initialize(capabilities=general))["result"]
    assert result["capabilities"]["positionEncoding"] == chosen


async def test_started_by_hand_it_says_what_it_is() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *SERVE, stdin=theirs, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    os.close(theirs)
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        assert b"an editor starts it" in await process.stderr.readline()
    os.write(ours, b"\x04")
    async with asyncio.timeout(PATIENCE):
        assert await process.wait() == 1
    os.close(ours)


# --- Ending --------------------------------------------------------------------------------------------------------


async def test_exit_after_shutdown_is_0() -> None:
    async with daemon() as client:
        await client.initialize()
        assert (await client.request("shutdown"))["result"] is None
        await client.notify("exit")
        assert await client.wait() == 0
        assert await client.errors() == ""


async def test_exit_without_shutdown_is_1() -> None:
    async with daemon() as client:
        await client.initialize()
        await client.notify("exit")
        assert await client.wait() == 1


async def test_exit_before_initialize_is_1() -> None:
    async with daemon() as client:
        await client.notify("exit")
        assert await client.wait() == 1


@pytest.mark.parametrize("shut_down", [True, False])
async def test_the_end_of_input_ends_it(shut_down: bool) -> None:
    async with daemon() as client:
        await client.initialize()
        if shut_down:
            await client.request("shutdown")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await client.wait() == (0 if shut_down else 1)


async def test_the_end_of_input_in_the_middle_of_a_message_is_said() -> None:
    async with daemon() as client:
        await client.initialize()
        await client.send_bytes(b"Content-Length: 100\r\n\r\n{")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await client.wait() == 1
        assert "in the middle of a message" in await client.errors()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)], ids=str
)
async def test_signals_end_it_in_order(number: signal.Signals, code: int) -> None:
    async with daemon() as client:
        await client.initialize()
        client.process.send_signal(number)
        assert await client.wait() == code


async def test_a_client_that_closed_only_its_reading_end_is_gone() -> None:
    reads, writes = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *SERVE, stdin=asyncio.subprocess.PIPE, stdout=writes, stderr=asyncio.subprocess.PIPE
    )
    os.close(writes)
    os.close(reads)
    client = RawClient(process)
    await client.start_request("initialize", {"capabilities": {}})
    assert await client.wait() == 1
    assert "the client is gone" in await client.errors()


async def test_lost_framing_ends_it_with_the_reason() -> None:
    async with daemon() as client:
        await client.initialize()
        await client.send_bytes(b"Content-Length: 1\r\n\r\n{}{}\r\n\r\n")
        assert await client.wait() == 1
        assert "no LSP header" in await client.errors()


EDITOR = """
import subprocess, sys, os, json, time
daemon = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                   "params": {"processId": os.getpid(), "capabilities": {}}}).encode()
daemon.stdin.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
daemon.stdin.flush()
daemon.stdout.readline()
# Another process holds the pipes open, so that no end of input tells of the editor's end.
os.set_inheritable(daemon.stdin.fileno(), True)
holder = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL)
print(daemon.pid, holder.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: it waits for a process by its descriptor")
async def test_an_editor_that_was_killed_is_noticed_within_5_seconds() -> None:
    editor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", EDITOR, *SERVE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert editor.stdout is not None
    pid, holder = map(int, (await editor.stdout.readline()).split())
    watched = os.pidfd_open(pid)
    try:
        editor.kill()
        await editor.wait()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(watched, ended.set)
        async with asyncio.timeout(5):
            await ended.wait()
    finally:
        asyncio.get_running_loop().remove_reader(watched)
        os.close(watched)
        os.kill(holder, signal.SIGKILL)


# Starts the daemon on pipes that others hold, too, lets it begin to serve, and is gone without a word.
SILENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
print(child.stderr.readline(), file=sys.stderr)
"""
SERVING = (
    "import sys; from llamagent_server.lsp import serving; serving.HELLO_SECONDS = 0.2; "
    "print('begun', file=sys.stderr); from llamagent_server.cli import main; sys.exit(main(['serve', '--stdio']))"
)


@pytest.mark.skipif(sys.platform == "win32", reason="there an orphan keeps its parent's number")
async def test_an_editor_that_died_before_it_said_who_it_is_is_noticed() -> None:
    stdin, held_open = os.pipe()
    until_it_ends, stdout = os.pipe()
    try:
        command = (sys.executable, "-c", SERVING)
        editor = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SILENT, *command, stdin=stdin, stdout=stdout, stderr=asyncio.subprocess.DEVNULL
        )
        assert await editor.wait() == 0
        os.close(stdout)
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(os.read, until_it_ends, 1) == b""
    finally:
        for descriptor in (stdin, held_open, until_it_ends):
            os.close(descriptor)


async def test_a_process_id_that_is_not_of_this_machine_ends_nothing() -> None:
    async with daemon() as client:
        await client.initialize(pid=2**22 + 5)
        await asyncio.sleep(1.5)
        assert "result" in await client.command("llamagent.help")


# --- What may touch the stream -------------------------------------------------------------------------------------

NOISY = """
import subprocess, sys, os
from llamagent_server.lsp import commands
from llamagent_server.lsp.main import ServeOptions, serve_stdio

async def noisy(session, arguments, token):
    print("a stray print")
    os.write(1, b"a stray write\\n")
    eaten = subprocess.run([sys.executable, "-c", "import sys; print('a child'); print(sys.stdin.read())"]).returncode
    return {"eaten": eaten}

commands._DOORS["help"] = noisy
sys.exit(serve_stdio(ServeOptions()))
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
async def test_neither_a_stray_print_nor_a_child_touches_the_stream(unbuffered: str) -> None:
    async with daemon((sys.executable, "-c", NOISY), PYTHONUNBUFFERED=unbuffered) as client:
        await client.initialize()
        asked = await client.start_request("workspace/executeCommand", {"command": "llamagent.help"})
        follows = await client.start_request("workspace/executeCommand", {"command": "llamagent.help"})
        assert (await client.reply_to(asked))["result"] == {"eaten": 0}
        assert (await client.reply_to(follows))["result"] == {"eaten": 0}
        await client.request("shutdown")
        await client.notify("exit")
        assert await client.wait() == 0
        said = await client.errors()
    assert said.count("a child") == said.count("a stray write") == 2


async def test_a_client_that_stops_reading_does_not_stop_the_daemon_from_hearing() -> None:
    """Far more than a pipe holds waits to be read, and the daemon still takes what comes in."""
    async with daemon() as client:
        await client.initialize()
        for _ in range(200):
            await client.start_request("workspace/executeCommand", {"command": "llamagent.help"})
        last = await client.start_request("shutdown")
        await client.send_bytes(b"\r\n")
        assert (await client.reply_to(last))["result"] is None
        assert sum("result" in message for message in client.others) == 200


# --- Growth --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: it reads /proc")
async def test_ten_thousand_changes_leave_no_growth() -> None:
    uri = "file:///nowhere/a.py"
    item = {"uri": uri, "languageId": "python", "version": 0, "text": "a\n" * 1000}

    async def change(client: RawClient, times: int) -> int:
        """Resident bytes after so many changes."""
        for version in range(times):
            place = {"line": version % 1000, "character": 0}
            change = {"range": {"start": place, "end": {**place, "character": 1}}, "text": "b"}
            params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
            await client.send_bytes(
                frame(json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}).encode())
            )
        await client.command("llamagent.help")
        pages = int(Path(f"/proc/{client.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    async with daemon() as client:
        await client.initialize()
        await client.notify("textDocument/didOpen", {"textDocument": item})
        # What the agent imports after the reply to `initialize` is no growth with each change.
        await client.command("llamagent.config", {})
        before = await change(client, 2000)
        after = await change(client, 10_000)
    assert after - before < 1_000_000
