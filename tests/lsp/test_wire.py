"""The tables are whole, and what clients send is read with nothing guessed."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from llamagent_server.core.events import record
from llamagent_server.errors import BadArgument
from llamagent_server.lsp import wire
from llamagent_server.lsp.greeting import SERVED
from llamagent_server.lsp.wire import COMMANDS, METHODS, Ask, ContextItem, Position, Range, parse


def check(cls: type, value: object, expected: object) -> None:
    """`expected` is the parsed value, or the words that the error must contain."""
    if not isinstance(expected, str):
        assert parse(cls, value) == expected
        return
    with pytest.raises(BadArgument) as caught:
        parse(cls, value)
    for words in expected.split(" … "):
        assert words in str(caught.value)


RANGE = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}

CASES: list[tuple[type, object, object]] = [
    (Ask, {"text": "hi"}, Ask("hi")),
    (Ask, {"text": "hi", "session": None, "mode": "read"}, Ask("hi", mode="read")),
    (Ask, {}, "text is missing … a string"),
    (Ask, {"text": None}, "text is missing"),
    (Ask, {"text": 5}, "text must be a string, not the number 5"),
    (Ask, {"text": "hi", "txet": 1}, "txet is not known … text, session, context, mode, detach, steer"),
    (Ask, {"text": "hi", "mode": "write"}, 'mode must be "agent" or "read", not "write"'),
    (Ask, {"text": "hi", "detach": 1}, "detach must be true or false, not the number 1"),
    (Ask, {"text": "hi", "detach": "true"}, "detach must be true or false"),
    (Ask, {"text": "hi", "context": {}}, "context must be a list, not an object"),
    (Ask, {"text": "hi", "context": [1]}, "context[0] must be an object"),
    (Ask, {"text": "hi", "context": [{"languageID": "x"}]}, "context[0].languageID is not known … languageId"),
    (
        Ask,
        {"text": "hi", "context": [{"uri": "file:///a", "languageId": "py", "range": RANGE}]},
        Ask("hi", context=(ContextItem("file:///a", None, "py", Range(Position(1, 2), Position(3, 4))),)),
    ),
    (Ask, {"text": "hi", "context": [{"range": {"start": {"line": 0.5, "character": 0}}}]}, "must be an integer"),
    (Ask, "hi", 'must be an object, not "hi"'),
    (Ask, ["hi"], "must be an object, not a list"),
    (wire.SetTemperature, {"value": 1}, wire.SetTemperature(1)),
    (wire.SetTemperature, {"value": True}, "value must be a number, not true"),
    (wire.SetTemperature, {"value": "0.2"}, "value must be a number"),
    (wire.SetNumCtx, {"value": 4096.0}, "value must be an integer"),
    (wire.StoredSession, {"ref": 1}, wire.StoredSession(1)),
    (wire.StoredSession, {"ref": "abc"}, wire.StoredSession("abc")),
    (wire.StoredSession, {"ref": False}, "ref must be an integer or a string, not false"),
    (wire.NoArguments, {}, wire.NoArguments()),
    (wire.NoArguments, {"a": 1}, "a is not known here … none"),
    (wire.ConsentReply, {"decision": "yes"}, 'decision must be "run" or "always" or "refuse"'),
    (
        wire.DiagnosticsReply,
        {"diagnostics": {"file:///a": [{"message": "m"}]}},
        wire.DiagnosticsReply({"file:///a": ({"message": "m"},)}),
    ),
    (wire.DiagnosticsReply, {"diagnostics": {"file:///a": 3}}, "diagnostics.file:///a must be a list"),
    (wire.SaveReply, {"saved": ["a", 1]}, "saved[1] must be a string"),
]


@pytest.mark.parametrize(("cls", "value", "expected"), CASES)
def test_arguments_are_read_strictly(cls: type, value: object, expected: object) -> None:
    check(cls, value, expected)


def test_what_is_written_as_a_record_is_read_back_the_same() -> None:
    asked = Ask("hi", context=(ContextItem("file:///a", range=Range(Position(1, 2), Position(3, 4))),), steer=True)
    assert parse(Ask, record(asked)) == asked


def test_every_command_and_message_can_be_parsed() -> None:
    for cls in [c.arguments for c in COMMANDS] + [t for m in METHODS for t in (m.params, m.result) if t]:
        with pytest.raises(BadArgument, match="must be an object"):
            parse(cls, 3)
        with pytest.raises(BadArgument, match="not known"):
            parse(cls, {"no such key": 3})


def test_names_are_unique_and_flags_exist() -> None:
    for table in (COMMANDS, METHODS):
        names = [row.name for row in table]
        assert len(set(names)) == len(names)
    known = set(record(wire.Flags()))  # single words: the same on the wire
    assert {m.flag for m in METHODS if m.flag} <= known


def test_everything_that_is_served_stands_in_the_table() -> None:
    assert set(SERVED) <= {command.name for command in COMMANDS}


def test_a_field_that_json_cannot_hold_is_a_programming_error() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: bytes

    with pytest.raises(TypeError):
        parse(Odd, {"value": "x"})


def test_importing_the_wire_imports_neither_pygls_nor_requests() -> None:
    code = "import sys, llamagent_server.lsp.wire; print({'pygls', 'lsprotocol', 'requests'} & set(sys.modules))"
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
