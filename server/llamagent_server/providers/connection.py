"""The blocking side of an exchange: dial, send, read with `requests`. Imported by the thread of the first request."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

from llamagent_server.errors import ModelError, ModelFailed, ModelUnreachable
from llamagent_server.providers.failures import without_password
from llamagent_server.providers.transport import Head, HttpRequest, Line

CONNECT_SECONDS = 10.0
_READ_BYTES = 64 * 1024
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def items(request: HttpRequest, line: Line) -> Iterator[Head | bytes]:
    """The head, then the body's bytes as they arrive. Raises ModelError, or HungUp from the line."""
    with (
        contextlib.closing(_dial(request.url, line)) as own,
        _session(own) as session,
        contextlib.closing(_send(session, request)) as response,
    ):
        yield Head(response.status_code, response.headers.get("Content-Type", ""), response.headers.get("Location"))
        try:
            while data := response.raw.read1(_READ_BYTES, decode_content=True):
                yield data
        except urllib3.exceptions.ReadTimeoutError as error:
            raise _idle(request) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ModelFailed(
                "The model server's reply broke off.",
                hint="Try again; if it happens each time, look at the log of the model server.",
                detail=repr(error),
                retryable=True,
            ) from error


def _send(session: requests.Session, request: HttpRequest) -> requests.Response:
    """The response with its head read. No proxy, no redirect: the bytes go to the configured server only."""
    try:
        prepared = session.prepare_request(
            requests.Request(request.method, request.url, headers=dict(request.headers), data=request.body)
        )
        return session.send(
            prepared,
            stream=True,
            timeout=(CONNECT_SECONDS, request.idle_seconds),
            allow_redirects=False,
            verify=_certificates(),
        )
    except requests.exceptions.ReadTimeout as error:
        raise _idle(request) from error
    except requests.exceptions.SSLError as error:
        raise ModelUnreachable(
            f"No secure connection to {_server(request.url)}.",
            hint="Check that `url` should begin with https, and the server's certificate (SSL_CERT_FILE).",
            detail=repr(error),
        ) from error
    except (requests.exceptions.RequestException, OSError) as error:
        raise ModelUnreachable(
            f"The connection to {_server(request.url)} broke before an answer came.",
            hint="Check that this is a model server and that it still runs.",
            detail=repr(error),
        ) from error


def _dial(url: str, line: Line) -> socket.socket:
    """A connected socket that the line can shut down, also while it connects."""
    host, port = _host_and_port(url)
    failure: OSError | None = None
    for name in _names(host):
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failure = failure or OSError(f"unknown host: {error}")
            continue
        for family, kind, protocol, _, address in found:
            try:
                return _connected(socket.socket(family, kind, protocol), address, line)
            except OSError as error:
                failure = error
    raise ModelUnreachable(f"No model server answers at {_server(url)}.", detail=str(failure)) from failure


def _connected(own: socket.socket, address: Any, line: Line) -> socket.socket:
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(own.close)
        own.settimeout(CONNECT_SECONDS)
        line.adopt(own)
        own.connect(address)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        on_failure.pop_all()
    return own


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ModelUnreachable(f"{url!r} is no address of a model server ({error}).", hint="Correct `url`.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise ModelUnreachable(
            f"{without_password(url)!r} is no address of a model server.",
            hint="Correct `url`, for example http://localhost:11434.",
        )
    return host, port or (443 if parts.scheme == "https" else 80)


def _server(url: str) -> str:
    """The address without the path of one request, as a person knows it."""
    parts = urlsplit(without_password(url))
    return f"{parts.scheme}://{parts.netloc}"


def _names(host: str) -> tuple[str, ...]:
    """`localhost` is IPv4 first: model servers listen there by default, and on some systems a refused attempt at ::1
    takes seconds."""
    return ("127.0.0.1", "::1") if host == "localhost" else (host,)


def _session(own: socket.socket) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no proxies, no .netrc
    session.headers.clear()
    adapter = _Adapter(own)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


class _Adapter(HTTPAdapter):
    """Speaks over a socket that is connected already."""

    def __init__(self, own: socket.socket) -> None:
        self._own = own
        super().__init__(max_retries=0)

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        make = pool.ConnectionCls

        def over_own_socket(*a: Any, **k: Any) -> Any:
            connection: Any = make(*a, **k)
            connection._new_conn = lambda: self._own
            return connection

        pool.ConnectionCls = over_own_socket  # called by the pool, never subclassed
        return pool


def _certificates() -> bool | str:
    """With trust_env off, `requests` would not see the bundle of a company's own certificates."""
    named = (os.environ.get(variable, "") for variable in _CA_VARIABLES)
    return next((path for path in named if path and Path(path).is_file()), True)


def _idle(request: HttpRequest) -> ModelError:
    return ModelFailed(
        f"The model server sent nothing for {request.idle_seconds:g} s.",
        hint="Use a smaller model, or raise `request_timeout` if the machine only needs longer.",
    )
