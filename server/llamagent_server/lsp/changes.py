"""didOpen and didChange as they came, read with nothing guessed: a text that is no text is not made one."""

from typing import TypeGuard

from lsprotocol import types

from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument
from llamagent_server.lsp.client import JsonMap

_MOST = 2**31 - 1  # LSP's uinteger ends here


def opened(params: JsonMap) -> types.TextDocumentItem:
    """Raises BadArgument."""
    item = _object(params, "textDocument")
    language = item.get("languageId")
    version = item.get("version")
    return types.TextDocumentItem(
        _text(item, "uri"),
        language if isinstance(language, str) else "",
        int(version) if _is_version(version) else 0,
        _text(item, "text"),
    )


def uri_of(params: JsonMap) -> str | None:
    """Which document a message is about, if it says so."""
    item = params.get("textDocument") if params else None
    uri = item.get("uri") if isinstance(item, dict) else None
    return uri if isinstance(uri, str) else None


def changed(params: JsonMap, version: int) -> types.DidChangeTextDocumentParams:
    """`version` is what the document had: older clients may leave the new one out. Raises BadArgument."""
    item = _object(params, "textDocument")
    found = item.get("version")
    if found is not None and not _is_version(found):
        raise BadArgument("version must be an integer.")
    changes = params.get("contentChanges")
    if not isinstance(changes, list):
        raise BadArgument("contentChanges must be a list.")
    identifier = types.VersionedTextDocumentIdentifier(version if found is None else int(found), _text(item, "uri"))
    return types.DidChangeTextDocumentParams(identifier, [_change(change) for change in changes])


def _change(change: Json) -> types.TextDocumentContentChangeEvent:
    if not isinstance(change, dict):
        raise BadArgument("A change must be an object.")
    text = _text(change, "text")
    if change.get("range") is None:
        return types.TextDocumentContentChangeWholeDocument(text)
    span = _object(change, "range")
    return types.TextDocumentContentChangePartial(
        types.Range(_place(_object(span, "start")), _place(_object(span, "end"))), text
    )


def _place(place: JsonMap) -> types.Position:
    return types.Position(*(_count(place, key) for key in ("line", "character")))


def _count(place: JsonMap, key: str) -> int:
    found = place.get(key)
    if not _is_number(found) or found < 0:
        raise BadArgument(f"{key} must be an integer from 0.")
    return min(int(found), _MOST)


def _is_number(value: Json) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_version(value: Json) -> TypeGuard[int | float]:
    return _is_number(value) and abs(value) <= _MOST


def _object(params: JsonMap, key: str) -> JsonMap:
    found = params.get(key) if params else None
    if not isinstance(found, dict):
        raise BadArgument(f"{key} must be an object.")
    return found


def _text(item: JsonMap, key: str) -> str:
    found = item.get(key)
    if not isinstance(found, str):
        raise BadArgument(f"{key} must be a string.")
    return found
