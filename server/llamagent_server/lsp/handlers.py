"""The doors: one thin function for each message that a client sends. Parse, one call, answer."""

from collections.abc import Callable
from functools import partial
from typing import Any

from lsprotocol import types

from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument
from llamagent_server.lsp.changes import changed, opened, uri_of
from llamagent_server.lsp.client import JsonMap, read_folder
from llamagent_server.lsp.protocol import Phase
from llamagent_server.lsp.server import Daemon

# Read by us: pygls' converter would guess at wrong values, or refuse all for one that nobody needs.
RAW = (
    types.INITIALIZE,
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.WORKSPACE_EXECUTE_COMMAND,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
)

OWN_SUFFIXES = (".toml", ".md")  # of files that could be ours


def register(daemon: Daemon) -> None:
    """Open every door of `daemon`."""
    daemon.protocol.raw.update(RAW)
    for method, door in DOORS.items():
        daemon.server.feature(method)(partial(door, daemon))


def _initialize(daemon: Daemon, params: JsonMap) -> dict[str, Json]:
    return daemon.initialize(params or {})


async def _initialized(daemon: Daemon, _: types.InitializedParams) -> None:
    await daemon.session.initialized()


async def _shutdown(daemon: Daemon, _: None) -> None:
    daemon.protocol.phase = Phase.SHUTDOWN
    await daemon.close()


def _exit(daemon: Daemon, _: None) -> None:
    """0 after a shutdown, else 1 (LSP 3.17, Exit Notification)."""
    orderly = daemon.protocol.phase is Phase.SHUTDOWN
    daemon.end(0 if orderly else 1, "exit" if orderly else "exit without shutdown")


def _ignore(_: Daemon, __: object) -> None:
    """Known, and of no consequence here."""


# --- Documents -----------------------------------------------------------------------------------------------------


def _did_open(daemon: Daemon, params: JsonMap) -> None:
    uri = uri_of(params)
    try:
        item = opened(params)
    except BadArgument:
        if uri is not None:
            daemon.session.documents.unknown(uri)
        raise
    daemon.session.documents.open(item)
    if (app := daemon.session.made) is not None:
        app.workspace.opened(item.uri)
    _check(daemon, item.uri)


def _did_change(daemon: Daemon, params: JsonMap) -> None:
    """After a change that cannot be read what the editor shows is not known."""
    documents, uri = daemon.session.documents, uri_of(params) or ""
    try:
        change = changed(params, documents.version(uri))
    except BadArgument:
        documents.unknown(uri)
        raise
    documents.change(change)
    _check(daemon, uri)


def _did_save(daemon: Daemon, params: types.DidSaveTextDocumentParams) -> None:
    daemon.session.editor.saved(params.text_document.uri)
    if (app := daemon.session.made) is not None:
        app.workspace.saved(params.text_document.uri)


def _did_close(daemon: Daemon, params: types.DidCloseTextDocumentParams) -> None:
    daemon.session.documents.close(params.text_document.uri)
    if (app := daemon.session.made) is not None:
        app.workspace.closed(params.text_document.uri)
    _check(daemon, params.text_document.uri)


def _check(daemon: Daemon, uri: str) -> None:
    """Only what could be ours loads what judges it."""
    if uri.endswith(OWN_SUFFIXES):
        from llamagent_server.lsp.own_files import publish

        publish(daemon.session, uri)


# --- Workspace -----------------------------------------------------------------------------------------------------


async def _did_change_configuration(daemon: Daemon, params: JsonMap) -> None:
    """Some clients send the settings along, others want to be asked for them."""
    sent = params.get("settings") if params else None
    ours = sent.get("llamagent") if isinstance(sent, dict) else None
    if isinstance(ours, dict):
        daemon.session.set_settings(ours)
    else:
        await daemon.session.pull_settings()


def _did_change_folders(daemon: Daemon, params: JsonMap) -> None:
    event = params.get("event") if params else None
    said = event if isinstance(event, dict) else {}
    daemon.session.change_folders(added=_listed(said.get("added")), removed=_listed(said.get("removed")))


def _listed(value: Json) -> tuple[Any, ...]:
    items = value if isinstance(value, list) else []
    return tuple(folder for item in items if isinstance(item, dict) and (folder := read_folder(item)) is not None)


def _progress_cancelled(daemon: Daemon, params: types.WorkDoneProgressCancelParams) -> None:
    daemon.session.progress.cancel(params.token)


async def _completion(daemon: Daemon, params: types.CompletionParams) -> list[types.CompletionItem]:
    from llamagent_server.lsp.assist import complete_prompt
    from llamagent_server.lsp.own_files import complete

    if (found := complete(daemon.session, params)) is not None:
        return found
    return await complete_prompt(daemon.session, params)


async def _hover(daemon: Daemon, params: types.HoverParams) -> types.Hover | None:
    from llamagent_server.lsp.own_files import hover

    return await hover(daemon.session, params)


def _diagnostic(daemon: Daemon, params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
    uri = params.text_document.uri
    if not uri.endswith(OWN_SUFFIXES):
        return types.RelatedFullDocumentDiagnosticReport([])
    from llamagent_server.lsp.own_files import diagnostics

    return types.RelatedFullDocumentDiagnosticReport(diagnostics(daemon.session, uri) or [])


def _code_action(daemon: Daemon, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    from llamagent_server.lsp.actions import code_actions

    return code_actions(daemon.session, params)


async def _execute_command(daemon: Daemon, params: JsonMap) -> dict[str, Json]:
    from llamagent_server.lsp.commands import execute  # late: the reply to `initialize` needs none of it

    return await execute(daemon.session, params)


DOORS: dict[str, Callable[[Daemon, Any], Any]] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.SHUTDOWN: _shutdown,
    types.EXIT: _exit,
    types.SET_TRACE: _ignore,
    types.TEXT_DOCUMENT_DID_OPEN: _did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: _did_change,
    types.TEXT_DOCUMENT_DID_SAVE: _did_save,
    types.TEXT_DOCUMENT_DID_CLOSE: _did_close,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _did_change_configuration,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: _did_change_folders,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: _progress_cancelled,
    types.WORKSPACE_EXECUTE_COMMAND: _execute_command,
    types.TEXT_DOCUMENT_COMPLETION: _completion,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
}
