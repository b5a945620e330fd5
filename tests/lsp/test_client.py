"""What clients declare, read without trust in its shape."""

from typing import Any

import pytest

from llamagent_server.lsp.client import Client, RootFolder, read_client
from llamagent_server.lsp.greeting import Flags


def check(params: dict[str, Any], **expected: object) -> None:
    client = read_client(params)
    assert {name: getattr(client, name) for name in expected} == expected


def edits(**edit: Any) -> dict[str, Any]:
    return {"capabilities": {"workspace": {"applyEdit": True, "workspaceEdit": edit}}}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, {"process_id": None, "folders": (), "flags": Flags(), "applies_edits": False, "locale": None}),
        (edits(), {"applies_edits": True, "document_changes": False, "creates_files": False, "annotates": False}),
        (edits(documentChanges=True, resourceOperations=["create"]), {"document_changes": True, "creates_files": True}),
        (edits(resourceOperations=["create"]), {"creates_files": False}),
        (edits(documentChanges=True, resourceOperations=["rename"]), {"creates_files": False}),
        (edits(documentChanges=True, changeAnnotationSupport={}), {"annotates": True}),
        (edits(documentChanges="yes", changeAnnotationSupport=True), {"document_changes": False, "annotates": False}),
        ({"rootUri": "file:///p"}, {"folders": (RootFolder("file:///p", ""),)}),
        ({"rootUri": "file:///p", "workspaceFolders": []}, {"folders": ()}),
        (
            {"workspaceFolders": [{"uri": "file:///a", "name": "A"}, {"uri": 5}, None, {"name": "x"}]},
            {"folders": (RootFolder("file:///a", "A"),)},
        ),
        (
            {"capabilities": {"experimental": {"llamagent": {"review": True, "trace": 1, "newer": True}}}},
            {"flags": Flags(review=True)},
        ),
        ({"processId": True}, {"process_id": None}),
        (
            {"processId": 7, "locale": "de", "clientInfo": {"name": "Ed"}},
            {"process_id": 7, "locale": "de", "name": "Ed"},
        ),
    ],
)
def test_declarations_are_read(params: dict[str, Any], expected: dict[str, object]) -> None:
    check(params, **expected)


JUNK: list[Any] = [None, 5, "x", [], [5], {}, {"a": 1}, True]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_anywhere_counts_as_not_declared(junk: Any) -> None:
    keys = "processId locale workspaceFolders rootUri capabilities initializationOptions clientInfo".split()
    rooms = "workspace window general experimental".split()
    for params in (
        dict.fromkeys(keys, junk),
        {"capabilities": dict.fromkeys(rooms, junk)},
        {
            "capabilities": {
                room: {"workspaceEdit": junk, "showDocument": junk, "positionEncodings": junk} for room in rooms
            }
        },
        {
            "capabilities": {"experimental": {"llamagent": junk}},
            "initializationOptions": {"trusted": junk, "settings": junk},
        },
    ):
        assert isinstance(read_client(params), Client)


def test_initialization_options() -> None:
    options = read_client(
        {"initializationOptions": {"trusted": False, "settings": {"model": "m"}, "token": "t", "x": 1}}
    )
    assert (options.options.trusted, options.options.settings, options.options.token) == (False, {"model": "m"}, "t")
