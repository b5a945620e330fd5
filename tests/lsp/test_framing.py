"""Every way to frame a message that can be understood is, and what cannot be is refused at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.lsp.framing import Frames, FramingLost, frame


def check(data: bytes, expected: list[bytes] | str, *, piece: int = 1 << 20, limit: int = 1000) -> None:
    """`expected` is the bodies, or a word of the reason why the framing is lost."""
    frames = Frames(limit)
    bodies: list[bytes] = []
    if isinstance(expected, str):
        with pytest.raises(FramingLost, match=expected):
            for start in range(0, len(data), piece):
                bodies += frames.feed(data[start : start + piece])
        return
    for start in range(0, len(data), piece):
        bodies += frames.feed(data[start : start + piece])
    assert bodies == expected


CASES: list[tuple[bytes, list[bytes] | str]] = [
    (b"Content-Length: 2\r\n\r\n{}", [b"{}"]),
    (b"content-length:2\r\n\r\n{}", [b"{}"]),
    (b"CONTENT-LENGTH:   2  \r\n\r\n{}", [b"{}"]),
    (b"Content-Length: 2\n\n{}", [b"{}"]),
    (b"Content-Length: 2\n\r\n{}", [b"{}"]),
    (
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\nX-A: b:c\r\n\r\n{}",
        [b"{}"],
    ),
    (b"\r\n\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    (b"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n[]", [b"", b"[]"]),
    (b"Content-Length: 3\r\n\r\n{}", []),
    (b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]", [b"{}", b"[]"]),
    (b"Content-Length: 1\r\n\r\n{}", "no LSP header"),
    (b"Content-Length: 3\r\n\r\n{}Content-Length: 2\r\n\r\n{}", "no LSP header|no Content-Length|without"),
    (b"Content-Length: -2\r\n\r\n{}", "no Content-Length"),
    (b"Content-Length: two\r\n\r\n{}", "no Content-Length"),
    (b"Content-Length: 1001\r\n\r\n", "limit"),
    (b"Content-Length: 99999999999999999999\r\n\r\n", "no Content-Length"),
    (b"Content-Type: x\r\n\r\n{}", "without Content-Length"),
    (b"GET / HTTP/1.1\r\n", "no LSP header"),
    (b"POST http://localhost:80 HTTP/1.1\r\n", "no LSP header"),
    (b"\x16\x03\x01\x02\x00", "no LSP header"),
    (b"{}", "no LSP header"),
    (b"hello world", "no LSP header"),
    (b"X: " + b"a" * 10_000, "more than"),
    (b"X: aaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000, "more than"),
]


@pytest.mark.parametrize(("data", "expected"), CASES)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_messages_are_told_apart(data: bytes, expected: list[bytes] | str, piece: int) -> None:
    check(data, expected, piece=piece)


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
def test_what_is_framed_is_read_back(bodies: list[bytes], piece: int) -> None:
    check(b"".join(frame(body) for body in bodies), bodies, piece=piece)


def test_it_knows_when_it_stands_inside_a_message() -> None:
    frames = Frames()
    assert not frames.inside
    for data, inside in ((b"Con", True), (b"tent-Length: 2\r\n", True), (b"\r\n", True), (b"{", True), (b"}", False)):
        list(frames.feed(data))
        assert frames.inside is inside
