"""The parsers: the same events however the bytes are cut, and a value for everything that is none."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.events import Channel
from llamagent_server.providers.lines import Garbage, LineSplitter, Oversized, Record
from llamagent_server.providers.ndjson import NdjsonParser
from llamagent_server.providers.sse import Done, SseEvent, SseParser
from llamagent_server.providers.thinking import ThinkSplitter, split_orphan

cuts = st.lists(st.integers(0, 400), max_size=12)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place for place in places if place < len(data)), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def ndjson(*chunks: bytes, limit: int = 1000) -> list[Record | Garbage]:
    parser = NdjsonParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def sse(*chunks: bytes, limit: int = 1000) -> list[SseEvent]:
    parser = SseParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


# --- lines


@given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b""))), cuts)
def test_lines_are_the_same_however_the_bytes_are_cut(lines: list[bytes], places: list[int]) -> None:
    splitter = LineSplitter()
    data = b"\r\n".join([*lines, b""])
    assert [line for chunk in cut(data, places) for line in splitter.feed(chunk)] == lines
    assert splitter.close() == []


@given(st.integers(0, 50), cuts)
def test_a_line_too_long_is_one_value_and_the_next_is_read(extra: int, places: list[int]) -> None:
    splitter = LineSplitter(limit=10)
    data = b"ok\n" + b"x" * (11 + extra) + b"\nnext\n"
    lines = [line for chunk in cut(data, places) for line in splitter.feed(chunk)]
    assert lines == [b"ok", Oversized(10), b"next"]


def test_a_line_too_long_does_not_stay_in_memory() -> None:
    splitter = LineSplitter(limit=10)
    for _ in range(1000):
        splitter.feed(b"x" * 1000)
    assert len(splitter._rest) <= 10


# --- NDJSON


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8), max_size=3), max_size=5), cuts)
def test_ndjson_objects_are_the_same_however_the_bytes_are_cut(
    objects: list[dict[str, str]], places: list[int]
) -> None:
    data = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in objects)
    assert ndjson(*cut(data, places), limit=10_000) == [Record(dict(one)) for one in objects]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n\r\n  \n", []),
        (b'{"a":1}', [Record({"a": 1})]),
        (b'\xef\xbb\xbf{"a":1}\n', [Record({"a": 1})]),
        (b'{"a":"\xff"}\n', [Record({"a": "\ufffd"})]),
        (b'{"a":"x\ty"}\n', [Record({"a": "x\ty"})]),
        (b'{"a":"\\u003c"}\n', [Record({"a": "<"})]),
    ],
)
def test_ndjson(data: bytes, expected: list[Record]) -> None:
    assert ndjson(data) == expected


@pytest.mark.parametrize("data", [b"nonsense", b'{"a":', b"[1]", b"1", b"null", b"[" * 900, b"9" * 900, b"x" * 2000])
def test_ndjson_gives_garbage_a_value(data: bytes) -> None:
    (event,) = ndjson(data + b"\n")
    assert isinstance(event, Garbage)
    assert event.problem


def test_nesting_without_end_is_garbage_and_no_crash() -> None:
    (event,) = ndjson(b"[" * 100_000 + b"\n", limit=1_000_000)
    assert isinstance(event, Garbage)


# --- SSE


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8), max_size=3), max_size=5), cuts)
def test_sse_objects_are_the_same_however_the_bytes_are_cut(objects: list[dict[str, str]], places: list[int]) -> None:
    data = b"".join(b"data: " + json.dumps(one, ensure_ascii=False).encode() + b"\r\n\r\n" for one in objects)
    assert sse(*cut(data + b"data: [DONE]\r\n\r\n", places), limit=10_000) == [
        *[Record(dict(one)) for one in objects],
        Done(),
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'data: {"a":1}\n\n', [Record({"a": 1})]),
        (b'data:{"a":1}\n\n', [Record({"a": 1})]),
        (b'data: {"a":1}\ndata: {"a":2}\n', [Record({"a": 1}), Record({"a": 2})]),
        (b'data: {"a":\ndata: 1}\n\n', [Record({"a": 1})]),
        (b': keep-alive\n\nevent: message\nid: 7\nretry: 3\ndata: {"a":1}\n\n', [Record({"a": 1})]),
        (b'data: {"a":1}', [Record({"a": 1})]),
        (b"data: [DONE]", [Done()]),
        (b"data:\n\ndata: \n\n", []),
        (b'{"error":"x"}\n', [Record({"error": "x"})]),
    ],
)
def test_sse(data: bytes, expected: list[SseEvent]) -> None:
    assert sse(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"data: nonsense\n\n",
        b'data: {"a":\n\n',
        b'data: {"a":',
        b"<html>\n",
        b"data: " + b"x" * 2000 + b"\n\n",
        b"data: [\n" * 200,
    ],
)
def test_sse_gives_garbage_a_value(data: bytes) -> None:
    events = sse(data)
    assert events
    assert all(isinstance(event, Garbage) for event in events)


# --- inline thoughts


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    found = [part for piece in pieces for part in splitter.feed(piece)] + splitter.close()
    assert all(text for _, text in found)
    thinking = "".join(text for channel, text in found if channel is Channel.THINKING)
    return thinking, "".join(text for channel, text in found if channel is Channel.CONTENT)


THOUGHTS = [
    ("", ("", "")),
    ("  plain\n", ("", "  plain\n")),
    ("<think>a</think>b", ("a", "b")),
    ("\n<think>\na\n</think>\n\nb\n", ("\na\n", "b\n")),
    ("<thinking>a</thinking>b", ("a", "b")),
    ("[THINK]a[/THINK]b", ("a", "b")),
    ("<think>a</think>\n<think>b</think>c", ("ab", "c")),
    ("<think></think>b", ("", "b")),
    ("<think>never closed", ("never closed", "")),
    ("<think>a < b </thin", ("a < b </thin", "")),
    ("<think>a</think>  \n", ("a", "")),
    ("<thin", ("", "<thin")),
    ("<thought>a</thought>", ("", "<thought>a</thought>")),
    ("Use <think>a</think> tags.", ("", "Use <think>a</think> tags.")),
    ("<think>a</think>Then <think>.", ("a", "Then <think>.")),
]


@pytest.mark.parametrize(("text", "expected"), THOUGHTS)
def test_inline_thoughts(text: str, expected: tuple[str, str]) -> None:
    assert split(text) == expected
    assert split(*text) == expected


@given(st.sampled_from([text for text, _ in THOUGHTS]), cuts)
def test_inline_thoughts_are_the_same_however_the_text_is_cut(text: str, places: list[int]) -> None:
    pieces = [piece.decode() for piece in cut(text.encode(), places)]
    assert split(*pieces) == split(text)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\n</think>\n\nb", ("a", "b")),
        ("a\n</think>", ("a", "")),
        ("The tag </think> ends it.", ("", "The tag </think> ends it.")),
        ("As in\n<think>\nx\n</think>\n", ("", "As in\n<think>\nx\n</think>\n")),
        ("plain", ("", "plain")),
    ],
)
def test_thoughts_whose_tag_the_template_opened(content: str, expected: tuple[str, str]) -> None:
    assert split_orphan(content) == expected
