"""What a person attached to an ask, as the text that they see."""

from collections.abc import Mapping

from llamagent_server.agent.prompt import Attachment
from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument
from llamagent_server.lsp import problems
from llamagent_server.lsp.convert import offsets
from llamagent_server.lsp.text import Encoding, Text
from llamagent_server.lsp.wire import ContextItem
from llamagent_server.workspace import OpenDocument, PathProblem, ProjectWorkspace


async def attachment(
    item: ContextItem, document: OpenDocument | None, workspace: ProjectWorkspace, encoding: Encoding
) -> Attachment:
    """`document` is the open document that `item` names, as it was when the person asked. Raises BadArgument."""
    if document is not None and document.problem:
        document = None
    diagnostics = tuple(_line(diagnostic) for diagnostic in item.diagnostics)
    first_line = item.range.start.line + 1 if item.range else None
    language = item.language_id or ""
    if item.text is not None:
        label = item.uri.rsplit("/", 1)[-1] if item.uri else "selection"
        return Attachment(label, item.text, language, first_line, diagnostics)
    if item.uri is None:
        raise BadArgument("An item of context needs a uri or a text.")
    found = await workspace.read(item.uri)
    if isinstance(found, PathProblem):
        if document is None:
            raise BadArgument(found.message)
        label, text = document.uri.rsplit("/", 1)[-1], document.text
    else:
        label, text = found.path, document.text if document else found.text
    if item.range is not None:
        start, end = offsets(Text(text, encoding), item.range)
        text = text[start:end]
    return Attachment(label, text, language or (document.language_id if document else ""), first_line, diagnostics)


def _line(diagnostic: Mapping[str, Json]) -> str:
    """One LSP diagnostic as one line, such as `12: error: undefined name 'x' (pyflakes)`."""
    line = problems.line_number(diagnostic)
    where = f"{line}: " if line else ""
    return f"{where}{problems.severity(diagnostic)}: {problems.text(diagnostic)}"
