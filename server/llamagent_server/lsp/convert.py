"""Edits between our values and LSP's: free functions, pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types

from llamagent_server.core.diffs import hunks
from llamagent_server.lsp.text import Encoding, Place, Text
from llamagent_server.lsp.wire import Range


@dataclass(frozen=True, slots=True)
class Planned:
    """One file's edit as it will be sent: `base` is the text that is there (None = no such file), `version` that of the
    open document; `after` None removes the file."""

    uri: str
    base: str | None
    after: str | None
    version: int | None


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an edit that a client declares. `annotation` is the key of its one change annotation; None: none."""

    encoding: Encoding
    document_changes: bool
    creates_files: bool
    annotation: str | None
    needs_confirmation: bool


def offsets(text: Text, range_: Range) -> tuple[int, int]:
    """The code points between which `range_` lies, in order."""
    ends = (range_.start, range_.end)
    first, last = sorted(text.offset(Place(end.line, end.character)) for end in ends)
    return first, last


def position(place: Place) -> types.Position:
    return types.Position(place.line, place.character)


def in_line(text: Text, line: int, start: int, end: int) -> types.Range:
    """From one column of a line to another; columns are code points."""
    base = text.offset(Place(line, 0))
    return types.Range(position(text.place(base + start)), position(text.place(base + end)))


def text_edits(base: str | None, after: str, encoding: Encoding) -> list[types.TextEdit]:
    """What makes `after` out of `base`, touching as little as it can."""
    before = base or ""
    if not before.strip("\r\n"):
        # Editors disagree on how many lines an empty document has: this range holds all of them.
        whole = types.Range(types.Position(0, 0), types.Position(before.count("\n") + 1, 0))
        return [types.TextEdit(whole, after)]
    text = Text(before, encoding)
    return [
        types.TextEdit(types.Range(position(text.place(hunk.start)), position(text.place(hunk.end))), hunk.text)
        for hunk in hunks(before, after)
    ]


def workspace_edit(planned: Sequence[Planned], summary: str, form: Form) -> types.WorkspaceEdit:
    """All of `planned` as one edit in the client's form. `summary` names it for the person."""
    if not form.document_changes:
        return types.WorkspaceEdit(changes={p.uri: text_edits(p.base, p.after or "", form.encoding) for p in planned})
    operations: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    for file in planned:
        if file.base is None and form.creates_files:
            operations.append(types.CreateFile(file.uri, annotation_id=form.annotation))
        if file.after is None:
            operations.append(types.DeleteFile(file.uri, annotation_id=form.annotation))
            continue
        operations.append(_document_edit(file, form))
    if form.annotation is None:
        return types.WorkspaceEdit(document_changes=operations)
    note = types.ChangeAnnotation(summary, needs_confirmation=form.needs_confirmation)
    return types.WorkspaceEdit(document_changes=operations, change_annotations={form.annotation: note})


def _document_edit(file: Planned, form: Form) -> types.TextDocumentEdit:
    plain = text_edits(file.base, file.after or "", form.encoding)
    edits: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = [*plain]
    if form.annotation is not None:
        edits = [types.AnnotatedTextEdit(form.annotation, edit.range, edit.new_text) for edit in plain]
    return types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(file.uri, file.version), edits)
