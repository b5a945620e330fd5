"""What a language server can add: completion in the prompt, where that is a document."""

from lsprotocol import types

from llamagent_server.agent.results import Completion
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.text import Place, Text
from llamagent_server.lsp.wire import PROMPT_URI, prompt_words

_KINDS = {"file": types.CompletionItemKind.File, "command": types.CompletionItemKind.Function}


async def complete_prompt(session: EditorSession, params: types.CompletionParams) -> list[types.CompletionItem]:
    """The choices at the cursor in a prompt; nothing in any other document."""
    document = session.documents.get(params.text_document.uri)
    if document is None or not params.text_document.uri.startswith(PROMPT_URI):
        return []
    text = Text(document.text, session.client.encoding)
    offset = text.offset(Place(params.position.line, params.position.character))
    app = await session.app()
    found = await app.complete(document.text, offset, prompt_words())
    return [_item(text, choice, number) for number, choice in enumerate(found.items)]


def _item(text: Text, choice: Completion, number: int) -> types.CompletionItem:
    start, end = (text.place(offset) for offset in (choice.start, choice.end))
    span = types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
    return types.CompletionItem(
        choice.label,
        kind=_KINDS.get(choice.kind, types.CompletionItemKind.Value),
        detail=choice.detail or None,
        sort_text=f"{number:04}",
        filter_text=choice.label,
        text_edit=types.TextEdit(span, choice.insert_text),
    )
