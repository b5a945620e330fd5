"""Output as text: no escapes, no control characters, the end of overwritten lines; shortened at line ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.processes.output import HEAD_BYTES, TAIL_BYTES, Output, plain, shortened


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link", "xlink"),
        (b"\x1b(Bx\x1b[?25l\x1b[2K", "x"),
        (b"10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        (b"caf\xc3\xa9 \xff\x00\x07\x08\tx", "caf\u00e9 \ufffd\tx"),
    ],
)
def test_output_becomes_plain_text(raw: bytes, text: str) -> None:
    assert plain(raw) == text


@given(st.binary(max_size=200))
def test_no_output_makes_it_fail_or_keeps_an_escape(raw: bytes) -> None:
    assert "\x1b" not in plain(raw)


@pytest.mark.parametrize("size", [0, 10, HEAD_BYTES, HEAD_BYTES + TAIL_BYTES, 3 * (HEAD_BYTES + TAIL_BYTES)])
def test_both_ends_are_kept(size: int) -> None:
    output = Output()
    data = bytes(97 + at % 26 for at in range(size))
    for at in range(0, size, 1000):
        output.add(data[at : at + 1000])
    assert output.size == size
    if size <= HEAD_BYTES + TAIL_BYTES:
        assert output.text == data.decode()
    else:
        assert output.text.startswith(data[:HEAD_BYTES].decode())
        assert output.text.endswith(data[-TAIL_BYTES:].decode())


@given(st.text(alphabet="ab\n", max_size=400), st.integers(20, 200), st.floats(0, 1))
def test_shortened_text_fits_and_keeps_its_ends(text: str, room: int, share: float) -> None:
    short, cut = shortened(text, room, head_share=share)
    assert cut == (len(text) > room)
    assert len(short) <= room + 60
    if not cut:
        assert short == text


def test_shortening_cuts_at_line_ends_and_says_how_much() -> None:
    short, _ = shortened("".join(f"line {n}\n" for n in range(100)), 60, head_share=0.5)
    assert short.split("\n")[3:6] == ["line 3", "[... 93 lines cut (738 characters) ...]", "line 97"]
