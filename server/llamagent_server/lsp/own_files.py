"""Help in the files that are llamagent's own, while the person edits them: settings and skills, each with its own room.

Problems are pulled where the client can (`textDocument/diagnostic`), else published; never both.
"""

from lsprotocol import types

from llamagent_server.lsp import settings_files, skill_files
from llamagent_server.lsp.catalogue import Say
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.text import Text


def publish(session: EditorSession, uri: str) -> None:
    """Say what is wrong in the file that was opened or changed; take it back when it was closed."""
    if session.client.pulls_diagnostics:
        return
    document = session.documents.get(uri)
    found = diagnostics(session, uri)
    if found is not None:
        told = types.PublishDiagnosticsParams(uri, found, document.version if document else None)
        session.protocol.tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, told)


def diagnostics(session: EditorSession, uri: str) -> list[types.Diagnostic] | None:
    """What is wrong in a file of ours, nothing where it is closed; None for any other document."""
    text = session.documents.text(uri) or Text("", session.client.encoding)
    for kind in (settings_files, skill_files):
        if (found := kind.diagnostics(session, uri, text)) is not None:
            found = found if session.documents.get(uri) is not None else []
            for one in found:
                one.message = session.protocol.say(one.message)
            return found
    return None


async def hover(session: EditorSession, params: types.HoverParams) -> types.Hover | None:
    """What the key on this line does, and what it may hold."""
    text = session.documents.text(params.text_document.uri)
    if text is None:
        return None
    lines = await settings_files.hover(session, params, text) or skill_files.hover(session, params, text)
    said = [session.protocol.say(line) for line in lines or []]
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(said))) if said else None


def complete(session: EditorSession, params: types.CompletionParams) -> list[types.CompletionItem] | None:
    """Keys and values; None in documents that are not ours."""
    text = session.documents.text(params.text_document.uri)
    if text is None:
        return None
    found = settings_files.complete(session, params, text)
    if found is None:
        found = skill_files.complete(session, params, text)
    return None if found is None else [_said(session.protocol.say, item) for item in found]


def _said(say: Say, item: types.CompletionItem) -> types.CompletionItem:
    item.detail = item.detail and say(item.detail)
    if isinstance(item.documentation, str):
        item.documentation = say(item.documentation)
    return item
