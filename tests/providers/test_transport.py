"""The transport on real sockets: where the bytes go, when it gives up, and that it leaves nothing behind."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from llamagent_server.errors import ModelFailed, ModelUnreachable
from llamagent_server.providers.transport import HttpRequest, exchange
from tests.fakes import FakeOllama, Raw, Refusal, Reply, say
from tests.providers.asking import MODEL, none_requesting, requesting


def get(url: str, *, idle: float = 10.0, max_bytes: int = 10_000_000) -> HttpRequest:
    return HttpRequest("GET", url, {}, None, idle, max_bytes)


def post(server: FakeOllama, *, idle: float = 10.0) -> HttpRequest:
    body = f'{{"model":"{MODEL}","messages":[{{"role":"user","content":"x"}}]}}'.encode()
    return HttpRequest("POST", f"{server.url}/api/chat", {}, body, idle, 10_000_000)


@contextmanager
def listening(*, backlog: int = 1) -> Iterator[socket.socket]:
    """A port where connections are taken by the system and never answered."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(backlog)
        yield listener


def url_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}/"


async def test_silence_before_the_headers_is_given_up_after_the_idle_time() -> None:
    with listening() as listener, pytest.raises(ModelFailed, match=r"sent nothing for 0\.05 s") as caught:
        async with exchange(get(url_of(listener), idle=0.05)):
            pass
    assert "request_timeout" in (caught.value.hint or "")


async def test_silence_inside_the_body_is_given_up_after_the_idle_time() -> None:
    with FakeOllama([say("a b c", hold_after=1)]) as server:
        async with exchange(post(server, idle=0.05)) as response:
            assert await response.chunk()
            with pytest.raises(ModelFailed, match="sent nothing"):
                await response.chunk()
        await server.until(lambda: server.disconnects == 1)


async def test_a_slow_stream_is_not_given_up_while_bytes_come() -> None:
    with FakeOllama([say("a b c d e f", delay=0.05)]) as server:
        async with exchange(post(server, idle=0.2)) as response:
            assert b'"done":true' in await response.read(100_000)


async def test_a_connection_closed_before_the_headers_is_unreachable() -> None:
    with listening() as listener:

        def slam() -> None:
            listener.accept()[0].close()

        thread = threading.Thread(target=slam)
        thread.start()
        with pytest.raises(ModelUnreachable, match="broke before an answer"):
            async with exchange(get(url_of(listener))):
                pass
        thread.join()


async def test_what_does_not_speak_http_is_unreachable() -> None:
    with listening() as listener:

        def greet() -> None:
            connection = listener.accept()[0]
            connection.recv(1000)
            connection.sendall(b"SSH-2.0-OpenSSH_9.0\r\n")
            connection.close()

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(ModelUnreachable, match="broke before an answer"):
            async with exchange(get(url_of(listener))):
                pass
        thread.join()


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://localhost/", "http://", "http://localhost:nope/", "http://[::1/", ""]
)
async def test_an_address_that_is_none_is_said(url: str) -> None:
    with pytest.raises(ModelUnreachable, match="no address") as caught:
        async with exchange(get(url)):
            pass
    assert "`url`" in (caught.value.hint or "")


async def test_localhost_is_tried_in_both_its_addresses() -> None:
    with socket.socket(socket.AF_INET6) as listener:
        try:
            listener.bind(("::1", 0))
        except OSError:
            pytest.skip("only on systems with IPv6")
        listener.listen(1)

        def answer() -> None:
            connection = listener.accept()[0]
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        async with exchange(get(f"http://localhost:{listener.getsockname()[1]}/")) as response:
            assert await response.read(10) == b"ok"
        thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: elsewhere the thread waits for its connect timeout")
async def test_cancelled_while_it_connects_it_is_gone_at_once() -> None:
    with listening(backlog=0) as listener, contextlib.ExitStack() as stack:
        for _ in range(4):  # a full backlog: the next connection is neither taken nor refused
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        await none_requesting()
        task = asyncio.create_task(_enter(get(url_of(listener))))
        await asyncio.sleep(0.1)
        assert requesting()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await none_requesting()


async def _enter(request: HttpRequest) -> None:
    async with exchange(request):
        pass


async def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(ModelUnreachable, match=r"http://no-such-host\.invalid:1"):
        async with exchange(get("http://no-such-host.invalid:1/")):
            pass


async def test_a_password_in_the_address_is_not_shown() -> None:
    with listening() as listener:
        url = url_of(listener).replace("http://", "http://me:s3cret@")
    with pytest.raises(ModelUnreachable) as caught:
        async with exchange(get(url)):
            pass
    assert "s3cret" not in f"{caught.value} {caught.value.detail}"


async def test_a_redirect_is_not_followed() -> None:
    with FakeOllama() as other, listening() as listener:

        def redirect() -> None:
            connection = listener.accept()[0]
            connection.recv(1000)
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {other.url}/x\r\nContent-Length: 0\r\n\r\n".encode())
            connection.close()

        thread = threading.Thread(target=redirect)
        thread.start()
        async with exchange(get(url_of(listener))) as response:
            assert (response.head.status, response.head.location) == (302, f"{other.url}/x")
        thread.join()
        assert other.log == []


async def test_no_proxy_and_no_netrc_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password s3cret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with FakeOllama() as proxy, FakeOllama([say("ok")]) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        async with exchange(post(server)) as response:
            assert response.head.status == 200
        assert proxy.log == []
        assert "Authorization" not in server.requests[0].headers


async def test_a_body_too_long_is_cut_off() -> None:
    with FakeOllama([Raw([b"x" * 1000], endless=True)]) as server:
        async with exchange(get_chat(server, max_bytes=1_000_000)) as response:
            with pytest.raises(ModelFailed, match="did not end within 1 MB"):
                while await response.chunk():
                    pass
        await server.until(lambda: server.disconnects == 1)


def get_chat(server: FakeOllama, max_bytes: int) -> HttpRequest:
    asked = post(server)
    return HttpRequest(asked.method, asked.url, {}, asked.body, 10.0, max_bytes)


async def test_a_body_that_nobody_takes_holds_the_server_back() -> None:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 65536

    class Pieces(list[bytes]):
        def __iter__(self) -> Iterator[bytes]:
            return pieces()

    with FakeOllama([Raw(Pieces())]) as server:
        async with exchange(post(server)) as response:
            assert await response.chunk()
            before = -1
            while before != sent:  # until the server is stuck
                before = sent
                await asyncio.sleep(0.05)
        await server.until(lambda: server.disconnects == 1)
    assert sent * 65536 < 20_000_000


async def test_many_exchanges_at_once_do_not_mix() -> None:
    def echo(asked: dict[str, object]) -> Refusal:
        return Refusal(200, {"echo": asked["messages"]})

    async def one(server: FakeOllama, number: int) -> bytes:
        body = f'{{"model":"{MODEL}","messages":[{{"role":"user","content":"{number}"}}]}}'.encode()
        async with exchange(HttpRequest("POST", f"{server.url}/api/chat", {}, body, 10.0, 10_000)) as response:
            return await response.read(10_000)

    with FakeOllama([echo] * 30) as server:
        answers = await asyncio.gather(*(one(server, number) for number in range(30)))
    assert [f'"content": "{number}"'.encode() in answer for number, answer in enumerate(answers)] == [True] * 30


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only on systems with /proc")
async def test_sockets_are_closed_when_the_exchange_ends() -> None:
    def sockets() -> int:
        return sum(path.is_socket() for path in Path("/proc/self/fd").iterdir())

    with FakeOllama([say("ok")] * 10 + [Reply("a b c", hold_after=1)] * 10) as server:
        before = sockets()
        for _ in range(20):
            async with exchange(post(server)) as response:
                await response.chunk()
        async with asyncio.timeout(10):
            while sockets() > before:  # noqa: ASYNC110 -- the fake closes its ends when it sees ours closed
                await asyncio.sleep(0.01)


async def test_a_fault_of_our_own_ends_the_request_and_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with FakeOllama([]) as server, pytest.raises(ModelFailed, match="ended without an answer"):
        async with exchange(HttpRequest("POST", server.url, {}, cast(bytes, 5), 10.0, 1000)):
            pass
    (record,) = caplog.records
    assert "a fault of our own" in record.message and record.exc_info is not None


def test_a_request_under_way_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, sys\n"
        "from llamagent_server.providers.transport import HttpRequest, exchange\n"
        "async def main():\n"
        "    async def wait():\n"
        "        async with exchange(HttpRequest('GET', sys.argv[1], {}, None, 600.0, 1000)):\n"
        "            pass\n"
        "    task = asyncio.create_task(wait())\n"
        "    await asyncio.sleep(0.3)\n"
        "    print('leaving')\n"
        "asyncio.run(main())\n"
    )
    with listening() as listener:
        done = subprocess.run(
            [sys.executable, str(script), url_of(listener)], capture_output=True, text=True, timeout=20, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


def test_importing_the_providers_is_cheap() -> None:
    code = (
        "import sys\n"
        "import llamagent_server.providers.base\n"
        "heavy = {'requests', 'urllib3', 'http.client', 'xllamacpp', 'email'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
