"""Diagnostics, hover and completion in the settings files, while the person edits them: config.toml, server.toml."""

import re
from collections.abc import Sequence

from lsprotocol import types

from llamagent_server.lsp.convert import in_line
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.text import Place, Text
from llamagent_server.setting_rules import File, Setting, Type
from llamagent_server.settings import BY_KEY, SETTINGS, default
from llamagent_server.settings_load import Problem, Scope, SettingsFile, check_file
from llamagent_server.store.places import PROJECT_FOLDER, real, user_folder
from llamagent_server.workspace.uris import to_path

SOURCE = "llamagent"
MOST_CHARS = 64 * 1024
_LINE = re.compile(r"""\s*["']?(?P<key>[\w-]*)["']?\s*(?:=\s*(?P<value>["']?[\w.-]*))?\Z""")


def diagnostics(session: EditorSession, uri: str, text: Text) -> list[types.Diagnostic] | None:
    """What does not count in a settings file; None for any other document."""
    place = _place(session, uri)
    if place is None:
        return None
    problems = [] if len(str(text)) > MOST_CHARS else _problems(str(text), *place)
    return [_diagnostic(text, problem) for problem in problems]


def _place(session: EditorSession, uri: str) -> tuple[File, Scope] | None:
    """Which settings file a document is, None for any other. The user's is theirs, wherever it is opened from."""
    path = to_path(uri)
    if path is None or path.name not in tuple(File):
        return None
    file = File(path.name)
    if real(path.parent) == real(user_folder()):
        return file, Scope.USER
    if any(path.parent == root / PROJECT_FOLDER for root in session.roots):
        return file, Scope.WORKSPACE
    return None


def _problems(text: str, file: File, scope: Scope) -> Sequence[Problem]:
    """All problems; where a line is no TOML, the others are judged without it."""
    found = check_file(SettingsFile(file, file, scope, text))
    broken = next((problem for problem in found if problem.key is None and problem.line is not None), None)
    if broken is None or broken.line is None:
        return found
    lines = text.split("\n")
    lines[broken.line - 1] = ""
    rest = check_file(SettingsFile(file, file, scope, "\n".join(lines)))
    return [broken, *(problem for problem in rest if problem.key is not None)]


def _diagnostic(text: Text, problem: Problem) -> types.Diagnostic:
    number = max(0, (problem.line or 1) - 1)
    line = text.line(number)
    start = len(line) - len(line.lstrip())
    end = line.find("=") if problem.key is not None and "=" in line else len(line)
    end = max(start, len(line[:end].rstrip()))
    severity = types.DiagnosticSeverity.Warning if problem.key is not None else types.DiagnosticSeverity.Error
    return types.Diagnostic(in_line(text, number, start, end), problem.message, severity=severity, source=SOURCE)


async def hover(session: EditorSession, params: types.HoverParams, text: Text) -> list[str] | None:
    """Paragraphs on the key of this line: what it does, what it may hold, and where its value now comes from."""
    if _place(session, params.text_document.uri) is None:
        return None
    found = re.match(r"""\s*["']?([\w-]+)["']?\s*(?:=|\Z)""", text.line(params.position.line))
    setting = BY_KEY.get(found[1]) if found else None
    if setting is None:
        return None
    rows = {row.key: row for row in (await (await session.app()).config()).settings}
    row = rows[setting.key]
    lines = [
        f"**{setting.key}**",
        setting.help,
        f"Allowed: {setting.allowed}. Default: `{_toml(default(setting.key))}`.",
        f"Now: `{_toml(row.value)}` ({row.source}).",
    ]
    if not setting.workspace_may_set:
        lines.append("A project can never set it.")
    return lines


def complete(session: EditorSession, params: types.CompletionParams, text: Text) -> list[types.CompletionItem] | None:
    """Keys that are not there yet, and values where there are few; None in documents that are no settings files."""
    place = _place(session, params.text_document.uri)
    if place is None:
        return None
    number = params.position.line
    before = text.part(Place(number, 0), Place(number, params.position.character))
    found = _LINE.fullmatch(before)
    if found is None:
        return []
    if found["value"] is not None:
        return _values(BY_KEY.get(found["key"]))
    there = set(re.findall(r"""^\s*["']?([\w-]+)["']?\s*=""", str(text), re.MULTILINE))
    return [_key(setting) for setting in SETTINGS if setting.key not in there and _may_stand(setting, *place)]


def _may_stand(setting: Setting, file: File, scope: Scope) -> bool:
    return setting.file is file and (scope is Scope.USER or setting.workspace_may_set)


def _key(setting: Setting) -> types.CompletionItem:
    return types.CompletionItem(
        setting.key,
        kind=types.CompletionItemKind.Property,
        detail=setting.allowed,
        documentation=setting.help,
        insert_text=f"{setting.key} = ",
    )


def _values(setting: Setting | None) -> list[types.CompletionItem]:
    if setting is None:
        return []
    words = ["true", "false"] if setting.type is Type.SWITCH else []
    words += [f'"{choice}"' for choice in setting.choices]
    return [types.CompletionItem(word, kind=types.CompletionItemKind.Value) for word in words]


def _toml(value: object) -> str:
    match value:
        case None | "":
            return '""'
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return str(value)
