"""What the editor shows is what we have, whatever order, spelling and encoding its messages come in."""

import asyncio
import random
from typing import Any

import pytest
from lsprotocol import types
from pygls.protocol import default_converter

from llamagent_server.lsp.documents import MAX_DOCUMENT, MAX_DOCUMENTS, OUT_OF_STEP, TOO_LARGE, TOO_MANY, Documents
from llamagent_server.lsp.text import Encoding, Place, Text

URI = "file:///p/a.py"
_converter = default_converter()


def change_of(version: int, *changes: dict[str, Any], uri: str = URI) -> types.DidChangeTextDocumentParams:
    params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
    return _converter.structure(params, types.DidChangeTextDocumentParams)


def at(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    places = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"range": places, "text": text}


def opened(text: str, uri: str = URI, encoding: Encoding = Encoding.UTF16) -> Documents:
    documents = Documents(encoding)
    documents.open(types.TextDocumentItem(uri, "python", 1, text))
    return documents


def text_of(documents: Documents, uri: str = URI) -> str | None:
    document = documents.get(uri)
    return document.text if document else None


def test_changes_are_made_one_after_the_other() -> None:
    documents = opened("one\ntwo\n")
    documents.change(change_of(2, at(0, 0, 3, "first\nsecond"), at(1, 0, 6, "2nd"), at(2, 3, 3, "!")))
    document = documents.get(URI)
    assert document is not None
    assert (document.text, document.version, document.language_id) == ("first\n2nd\ntwo!\n", 2, "python")


def test_a_change_without_a_range_is_the_whole_text() -> None:
    documents = opened("one\n")
    documents.change(change_of(2, at(0, 0, 1, "O"), {"text": "two\n"}, at(0, 0, 1, "T")))
    assert text_of(documents) == "Two\n"


@pytest.mark.parametrize(
    ("encoding", "character"), [(Encoding.UTF8, 4), (Encoding.UTF16, 2), (Encoding.UTF32, 1)], ids=str
)
def test_ranges_count_in_the_negotiated_encoding(encoding: Encoding, character: int) -> None:
    documents = opened("\U0001f600b\n", encoding=encoding)
    documents.change(change_of(2, at(0, character, character + 1, "X")))
    assert text_of(documents) == "\U0001f600X\n"


def test_a_change_of_a_document_that_is_not_open_is_passed_over() -> None:
    documents = Documents(Encoding.UTF16)
    documents.change(change_of(2, at(0, 0, 0, "a"), {"text": "b"}))
    assert text_of(documents) is None
    documents.open(types.TextDocumentItem(URI, "python", 3, "now\n"))
    assert text_of(documents) == "now\n"


def test_a_second_didopen_replaces_the_first() -> None:
    documents = opened("one")
    documents.open(types.TextDocumentItem(URI, "python", 0, "two"))
    assert text_of(documents) == "two"
    assert len(documents.all()) == 1


def test_unnamed_buffers_are_left_out_for_they_all_have_one_uri() -> None:
    documents = opened("one", uri="file://")
    documents.open(types.TextDocumentItem("file:///", "text", 1, "two"))
    documents.change(change_of(2, {"text": "three"}, uri="file://"))
    documents.close("file://")
    assert documents.all() == ()


@pytest.mark.parametrize(
    ("spelled", "asked"),
    [
        ("file:///p/a%20b.py", "file:///p/a b.py"),
        ("file:///p/%C3%A9.py", "file:///p/\u00e9.py"),
        ("file:///p/a%2Bb%40c.py", "file:///p/a+b@c.py"),
        ("untitled:Untitled-1", "untitled:Untitled-1"),
    ],
)
def test_a_document_is_found_under_every_spelling_and_keeps_the_clients(spelled: str, asked: str) -> None:
    documents = opened("one", uri=spelled)
    document = documents.get(asked)
    assert document is not None
    assert document.uri == spelled
    documents.close(asked)
    assert documents.get(spelled) is None


def test_a_snapshot_does_not_move_with_the_document() -> None:
    documents = opened("one")
    before = documents.get(URI)
    documents.change(change_of(2, {"text": "two"}))
    assert before is not None
    assert (before.text, before.version) == ("one", 1)


def test_the_generation_counts_every_change() -> None:
    documents = Documents(Encoding.UTF16)
    seen = [documents.generation]
    documents.open(types.TextDocumentItem(URI, "python", 1, "one"))
    seen.append(documents.generation)
    documents.change(change_of(2, {"text": "two"}))
    seen.append(documents.generation)
    documents.close(URI)
    seen.append(documents.generation)
    documents.close(URI)
    assert seen == sorted(set(seen))
    assert documents.generation == seen[-1]


async def test_who_waits_for_a_change_is_woken_by_it_and_not_by_time() -> None:
    documents = opened("one")
    waiting = [asyncio.ensure_future(documents.changed(documents.generation, 60)) for _ in range(2)]
    await asyncio.sleep(0)
    documents.change(change_of(2, {"text": "two"}))
    async with asyncio.timeout(5):
        assert await asyncio.gather(*waiting) == [True, True]
    assert await documents.changed(documents.generation - 1, 0) is True
    assert await documents.changed(documents.generation, 0) is False
    assert documents._waiting == set()


def problem_of(documents: Documents, uri: str = URI) -> str:
    document = documents.get(uri)
    assert document is not None and (document.text == "") == bool(document.problem)
    return document.problem


def test_a_version_that_goes_back_says_that_the_text_is_not_known_until_it_comes_whole() -> None:
    documents = opened("one\ntwo\n")
    documents.change(change_of(5, at(0, 0, 3, "ONE")))
    documents.change(change_of(4, at(0, 0, 0, "late")))
    assert problem_of(documents) == OUT_OF_STEP and documents.text(URI) is None
    documents.change(change_of(6, at(0, 0, 0, "more")))
    assert problem_of(documents) == OUT_OF_STEP
    documents.change(change_of(7, {"text": "whole\n"}, at(0, 0, 1, "W")))
    assert problem_of(documents) == "" and text_of(documents) == "Whole\n"


@pytest.mark.parametrize("version", [1, 2, 900], ids=["the same", "the next", "a gap"])
def test_a_version_need_not_count_by_one(version: int) -> None:
    documents = opened("one\n")
    documents.change(change_of(version, at(0, 0, 3, "two")))
    document = documents.get(URI)
    assert document is not None and (document.text, document.version, document.problem) == ("two\n", version, "")


def test_a_second_didopen_ends_being_out_of_step() -> None:
    documents = opened("one\n")
    documents.change(change_of(0, at(0, 0, 3, "two")))
    assert problem_of(documents) == OUT_OF_STEP
    documents.open(types.TextDocumentItem(URI, "python", 1, "three\n"))
    assert problem_of(documents) == "" and text_of(documents) == "three\n"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (at(99, 0, 5, "end"), "one\ntwo\nend"),
        (at(0, 99, 200, "!"), "one!\ntwo\n"),
        ({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 2**31 - 1, "character": 2**31 - 1}}}, ""),
        ({"range": {"start": {"line": 1, "character": 3}, "end": {"line": 0, "character": 0}}}, "\n"),
    ],
    ids=["a line beyond the last", "a column beyond the line's end", "to the end of all", "backwards"],
)
def test_a_range_beyond_the_end_ends_there(change: dict[str, Any], text: str) -> None:
    documents = opened("one\ntwo\n")
    documents.change(change_of(2, {"text": "", **change}))
    assert text_of(documents) == text


def test_a_document_that_is_too_large_is_open_without_its_text() -> None:
    documents = opened("x" * (MAX_DOCUMENT + 1))
    assert problem_of(documents) == TOO_LARGE
    documents.change(change_of(2, at(0, 0, 1, "y")))
    assert problem_of(documents) == TOO_LARGE
    documents.change(change_of(3, {"text": "small"}))
    assert text_of(documents) == "small"
    documents.change(change_of(4, at(0, 0, 0, "x" * MAX_DOCUMENT)))
    assert problem_of(documents) == TOO_LARGE
    documents.close(URI)
    assert documents.all() == ()


def test_so_much_may_be_open_and_what_comes_then_is_known_once_there_is_room() -> None:
    documents = Documents(Encoding.UTF16)
    text = "x" * MAX_DOCUMENT
    for number in range(MAX_DOCUMENTS // MAX_DOCUMENT):
        documents.open(types.TextDocumentItem(f"file:///p/{number}", "python", 1, text))
        assert problem_of(documents, f"file:///p/{number}") == ""
    documents.open(types.TextDocumentItem(URI, "python", 1, "one more"))
    assert problem_of(documents) == TOO_MANY
    documents.close("file:///p/0")
    documents.open(types.TextDocumentItem(URI, "python", 1, "one more"))
    assert text_of(documents) == "one more"


@pytest.mark.parametrize("seed", range(20))
def test_the_length_is_kept_through_edits(seed: int) -> None:
    chance = random.Random(seed)
    text = Text("a\r\nb\nc", Encoding.UTF16)
    for _ in range(50):
        places = [Place(chance.randrange(6), chance.randrange(6)) for _ in range(2)]
        text.replace(*places, "".join(chance.choices("xy\r\n\U0001f600", k=chance.randrange(4))))
        assert len(text) == len(str(text))
