"""Diagnostics, hover and completion in the headers of skills, while the person edits them: SKILL.md, `<name>.md`."""

import re

from lsprotocol import types

from llamagent_server.lsp.convert import in_line
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.text import Place, Text
from llamagent_server.store.places import PROJECT_FOLDER, real, user_folder
from llamagent_server.store.skill_headers import BY_NAME, KEYS, Fault, Key, Weight, faults, split
from llamagent_server.store.skills import FOLDER, NESTED, SHARED
from llamagent_server.workspace.uris import to_path

SOURCE = "llamagent"
_KEY = re.compile(r"(?P<key>[A-Za-z][\w-]*)[ \t]*(?::|\Z)")
_TYPED = re.compile(r"(?P<key>[\w-]*)(?P<colon>:[ \t]*(?P<value>\S*))?")
_SEVERITIES = {
    Weight.ERROR: types.DiagnosticSeverity.Error,
    Weight.WARNING: types.DiagnosticSeverity.Warning,
    Weight.REMARK: types.DiagnosticSeverity.Information,
}


def _skill(session: EditorSession, uri: str) -> tuple[str, bool] | None:
    """The name of the skill that a document is, and whether it is a folder's SKILL.md; None for other documents."""
    path = to_path(uri)
    if path is None or path.suffix != ".md":
        return None
    nested = path.name == NESTED
    shelf = path.parent.parent if nested else path.parent
    name = path.parent.name if nested else path.stem
    shelves = [root / folder / FOLDER for root in session.roots for folder in (PROJECT_FOLDER, SHARED)]
    if shelf in shelves or real(shelf) == real(user_folder() / FOLDER):
        return name, nested
    return None


def diagnostics(session: EditorSession, uri: str, text: Text) -> list[types.Diagnostic] | None:
    """What is wrong with a skill's header; None for documents that are no skills."""
    skill = _skill(session, uri)
    if skill is None:
        return None
    name, nested = skill
    return [_diagnostic(text, fault) for fault in faults(str(text), name if nested else None)]


def _diagnostic(text: Text, fault: Fault) -> types.Diagnostic:
    span = in_line(text, fault.line, fault.start, fault.end)
    return types.Diagnostic(span, fault.message, severity=_SEVERITIES[fault.weight], source=SOURCE)


def _in_header(text: Text, line: int) -> bool:
    """Whether a line stands in the header, closed or not yet."""
    if line == 0 or text.line(0).rstrip() != "---":
        return False
    return not any(text.line(number).rstrip() == "---" for number in range(1, line + 1))


def hover(session: EditorSession, params: types.HoverParams, text: Text) -> list[str] | None:
    """Paragraphs on the key of this line; None where there is none of a skill's."""
    line = params.position.line
    if _skill(session, params.text_document.uri) is None or not _in_header(text, line):
        return None
    found = _KEY.match(text.line(line))
    key = BY_NAME.get(found["key"]) if found else None
    return None if key is None else [f"**{key.name}**", key.help, f"Allowed: {key.allowed}."]


def complete(session: EditorSession, params: types.CompletionParams, text: Text) -> list[types.CompletionItem] | None:
    """Keys that are not there yet, and the name; None in documents that are no skills."""
    skill = _skill(session, params.text_document.uri)
    if skill is None:
        return None
    name, nested = skill
    line = params.position.line
    if line == 0 and not text.line(0).strip("- ") and split(str(text))[0] is None:
        return [_whole_header(name, nested)]
    found = _TYPED.fullmatch(text.part(Place(line, 0), Place(line, params.position.character)))
    if not _in_header(text, line) or found is None:
        return []
    if found["colon"] is None:
        there = set(re.findall(r"^([\w-]+)[ \t]*:", str(text), re.MULTILINE))
        return [_key(key) for key in KEYS if key.name not in there]
    if found["key"] == "name":
        return [types.CompletionItem(name, kind=types.CompletionItemKind.Value)]
    return []


def _key(key: Key) -> types.CompletionItem:
    return types.CompletionItem(
        key.name,
        kind=types.CompletionItemKind.Property,
        detail=key.allowed,
        documentation=key.help,
        insert_text=f"{key.name}: " if key.is_text else f"{key.name}:\n  ",
    )


def _whole_header(name: str, nested: bool) -> types.CompletionItem:
    named = f"name: {name}\n" if nested else ""
    return types.CompletionItem(
        "---",
        kind=types.CompletionItemKind.Snippet,
        detail="the header of a skill",
        insert_text=f"---\n{named}description: \n---\n",
    )
