"""What a person attached to an ask, as the text that they see."""

from collections.abc import Mapping
from typing import Protocol

from llamagent_server.agent.prompt import Attachment
from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument
from llamagent_server.lsp.convert import offsets
from llamagent_server.lsp.documents import Documents
from llamagent_server.lsp.text import Text
from llamagent_server.lsp.wire import ContextItem

_SEVERITIES: Mapping[Json, str] = {1: "error", 2: "warning", 3: "information", 4: "hint"}


class Files(Protocol):
    """The workspace, for what is not open."""

    def label(self, uri: str) -> str:
        """The path within the workspace, for people and the model."""
        ...

    def disk_text(self, uri: str) -> str | None:
        """None where no file is. Raises LlamagentError for what may not or cannot be read."""
        ...


def attachment(item: ContextItem, documents: Documents, files: Files) -> Attachment:
    """Raises LlamagentError where there is no such text."""
    diagnostics = tuple(_line(diagnostic) for diagnostic in item.diagnostics)
    first_line = item.range.start.line + 1 if item.range else None
    if item.uri is None:
        if item.text is None:
            raise BadArgument("An item of context needs a uri or a text.")
        return Attachment("selection", item.text, item.language_id or "", first_line, diagnostics)
    label = files.label(item.uri)
    if item.text is not None:
        return Attachment(label, item.text, item.language_id or "", first_line, diagnostics)
    document = documents.get(item.uri)
    text = document.text if document else files.disk_text(item.uri)
    if text is None:
        raise BadArgument(f"There is no file {label}.")
    if item.range is not None:
        start, end = offsets(documents.text(item.uri) or Text(text, documents.encoding), item.range)
        text = text[start:end]
    language = item.language_id or (document.language_id if document else "")
    return Attachment(label, text, language, first_line, diagnostics)


def _line(diagnostic: Mapping[str, Json]) -> str:
    """One LSP diagnostic as one line, such as `12: error: undefined name 'x' (pyflakes)`."""
    severity = _SEVERITIES.get(diagnostic.get("severity"), "error")
    message = " ".join(str(diagnostic.get("message", "")).split())
    source = diagnostic.get("source")
    return f"{_line_number(diagnostic)}{severity}: {message}" + (f" ({source})" if source else "")


def _line_number(diagnostic: Mapping[str, Json]) -> str:
    match diagnostic.get("range"):
        case {"start": {"line": int(line)}}:
            return f"{line + 1}: "
        case _:
            return ""
