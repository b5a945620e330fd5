"""What a client said of itself in `initialize`, read once; whatever is missing or odd counts as not declared."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast

from llamagent_server.core.messages import Json
from llamagent_server.lsp.greeting import Flags, InitializationOptions
from llamagent_server.lsp.text import Encoding

JsonMap = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RootFolder:
    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class Client:
    """`process_id` is the editor's; `annotates`: it knows change annotations; `creates_files` and `deletes_files`: it
    takes CreateFile, DeleteFile; `action_literals`: a code action need not be a bare command; `pulls_diagnostics`:
    it asks for them (`textDocument/diagnostic`)."""

    name: str
    process_id: int | None
    locale: str | None
    folders: tuple[RootFolder, ...]
    encoding: Encoding
    flags: Flags
    options: InitializationOptions
    applies_edits: bool
    document_changes: bool
    creates_files: bool
    deletes_files: bool
    annotates: bool
    shows_progress: bool
    shows_documents: bool
    has_configuration: bool
    registers_configuration: bool
    action_literals: bool
    pulls_diagnostics: bool


def read_client(params: JsonMap) -> Client:
    """`params` of `initialize`, as plain JSON."""
    able = _map(params.get("capabilities"))
    edit = _map(_at(able, "workspace", "workspaceEdit"))
    changes = edit.get("documentChanges") is True
    operations = edit.get("resourceOperations")
    process_id = params.get("processId")
    locale = params.get("locale")
    return Client(
        name=str(_at(params, "clientInfo", "name") or "the editor"),
        process_id=process_id if isinstance(process_id, int) and not isinstance(process_id, bool) else None,
        locale=locale if isinstance(locale, str) else None,
        folders=_folders(params),
        encoding=_encoding(_at(able, "general", "positionEncodings")),
        flags=_flags(_map(_at(able, "experimental", "llamagent"))),
        options=_options(_map(params.get("initializationOptions"))),
        applies_edits=_at(able, "workspace", "applyEdit") is True,
        document_changes=changes,
        creates_files=changes and isinstance(operations, list) and "create" in operations,
        deletes_files=changes and isinstance(operations, list) and "delete" in operations,
        annotates=isinstance(edit.get("changeAnnotationSupport"), dict),
        shows_progress=_at(able, "window", "workDoneProgress") is True,
        shows_documents=_at(able, "window", "showDocument", "support") is True,
        has_configuration=_at(able, "workspace", "configuration") is True,
        registers_configuration=_at(able, "workspace", "didChangeConfiguration", "dynamicRegistration") is True,
        action_literals=isinstance(_at(able, "textDocument", "codeAction", "codeActionLiteralSupport"), dict),
        pulls_diagnostics=isinstance(_at(able, "textDocument", "diagnostic"), dict),
    )


def _flags(said: JsonMap) -> Flags:
    return Flags(**{field.name: said.get(field.name) is True for field in fields(Flags)})


def _options(said: JsonMap) -> InitializationOptions:
    trusted, settings, token = said.get("trusted"), said.get("settings"), said.get("token")
    return InitializationOptions(
        trusted=trusted if isinstance(trusted, bool) else None,
        settings=settings if isinstance(settings, dict) else None,
        token=token if isinstance(token, str) else None,
    )


def _encoding(offered: Json) -> Encoding:
    """The first of the client's that we know; UTF-16 where it offers none (LSP 3.17, Position)."""
    known = {encoding.value: encoding for encoding in Encoding}
    names = offered if isinstance(offered, list) else []
    return next((known[name] for name in names if isinstance(name, str) and name in known), Encoding.UTF16)


def _folders(params: JsonMap) -> tuple[RootFolder, ...]:
    """`workspaceFolders`, and only where the client has none of those, the older `rootUri`."""
    said = params.get("workspaceFolders")
    if isinstance(said, list):
        return tuple(folder for item in said if (folder := read_folder(_map(item))) is not None)
    root = params.get("rootUri")
    return (RootFolder(root, ""),) if isinstance(root, str) and root else ()


def read_folder(said: JsonMap) -> RootFolder | None:
    uri, name = said.get("uri"), said.get("name")
    if not isinstance(uri, str) or not uri:
        return None
    return RootFolder(uri, name if isinstance(name, str) else "")


def _at(value: object, *keys: str) -> Json:
    for key in keys:
        value = _map(value).get(key)
    return cast(Json, value)


def _map(value: object) -> JsonMap:
    return value if isinstance(value, Mapping) else {}
