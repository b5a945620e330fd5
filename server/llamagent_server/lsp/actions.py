"""Code actions: mend a problem, explain or ask about a selection, do what a comment asks.

Editors ask with each move of the cursor, so nothing here reads a file or waits. Every action is a command that starts a
detached turn: what goes along is read when it is chosen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from llamagent_server.core.messages import Json
from llamagent_server.lsp import visible
from llamagent_server.lsp.comments import asked_in_comment
from llamagent_server.lsp.greeting import ASK_KIND, EXPLAIN_KIND, FIX_KIND, PREFIX
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.text import Place, Text
from llamagent_server.lsp.words import Words, words
from llamagent_server.workspace.names import protected
from llamagent_server.workspace.snapshots import is_work
from llamagent_server.workspace.uris import to_path

SOURCE = "llamagent"  # of the diagnostics that are ours, and that no model needs to mend
AROUND_PROBLEM = 15  # lines on either side that go along
AROUND_COMMENT = 40
TITLE_CHARS = 60


@dataclass(frozen=True, slots=True)
class _Offer:
    """One action before it is written for the client."""

    kind: str
    title: str
    command: str
    arguments: dict[str, Json]
    mends: tuple[types.Diagnostic, ...] = ()


def code_actions(session: EditorSession, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    """What is offered at a place; nothing in documents that are no work of the person's."""
    uri = params.text_document.uri
    text = session.documents.text(uri)
    if text is None or not is_work(uri):
        return []
    only = params.context.only
    offers = [offer for offer in _offers(session, params, text) if _is_wanted(offer.kind, only)]
    return [_written(offer, literal=session.client.action_literals) for offer in offers]


def _is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Kinds are hierarchical (LSP 3.17, CodeActionKind): `refactor` asks for `refactor.inline` too, and "" for all."""
    return not only or any(want == "" or kind == want or kind.startswith(f"{want}.") for want in only)


def _written(offer: _Offer, *, literal: bool) -> types.CodeAction | types.Command:
    command = types.Command(offer.title, PREFIX + offer.command, arguments=[offer.arguments])
    if not literal:
        return command
    return types.CodeAction(offer.title, kind=offer.kind, diagnostics=list(offer.mends) or None, command=command)


def _offers(session: EditorSession, params: types.CodeActionParams, text: Text) -> Iterator[_Offer]:
    told = words(session.client.locale)
    uri, span = params.text_document.uri, params.range
    start, end = Place(span.start.line, span.start.character), Place(span.end.line, span.end.character)
    problems = tuple(problem for problem in params.context.diagnostics if problem.source != SOURCE)
    if problems and _may_change(uri, session.roots):
        yield _fix(session, uri, problems, told)
    asked = asked_in_comment(text.line(start.line))
    if asked and session.trusted is not False:
        short = asked if len(asked) <= TITLE_CHARS else f"{asked[:TITLE_CHARS]}…"
        around = _item(uri, _lines(start.line - AROUND_COMMENT, start.line + AROUND_COMMENT))
        title = told.ask_comment.format(text=visible.line(short))
        words_only = f" {asked}" if asked.startswith("/") else asked  # a file of the project gives no commands
        yield _Offer(ASK_KIND, title, "ask", {"text": words_only, "context": [around], "detach": True})
    if start != end and text.part(start, end).strip():
        exactly = _item(uri, _range(start, end))
        question: dict[str, Json] = {"text": told.explain_this, "context": [exactly], "mode": "read", "detach": True}
        yield _Offer(EXPLAIN_KIND, told.explain, "ask", question)
        if session.client.flags.prompt:
            yield _Offer(ASK_KIND, told.ask_about, "ask_about", {"context": [exactly]})


def _fix(session: EditorSession, uri: str, problems: tuple[types.Diagnostic, ...], told: Words) -> _Offer:
    first = min(problem.range.start.line for problem in problems)
    last = max(problem.range.end.line for problem in problems)
    item = _item(uri, _lines(first - AROUND_PROBLEM, last + AROUND_PROBLEM))
    item["diagnostics"] = [session.protocol.plain(problem) for problem in problems]
    text = told.fix_one if len(problems) == 1 else told.fix_some
    return _Offer(FIX_KIND, told.fix, "ask", {"text": text, "context": [item], "detach": True}, problems)


def _may_change(uri: str, roots: Sequence[Path]) -> bool:
    """Whether an edit of the document could be proposed at all. By its name alone: links are found out later."""
    path = to_path(uri)
    if path is None or not roots:
        return True
    root = next((root for root in roots if path.is_relative_to(root)), None)
    return root is not None and protected(path.relative_to(root).parts) is None


def _item(uri: str, span: dict[str, Json]) -> dict[str, Json]:
    return {"uri": uri, "range": span}


def _lines(first: int, last: int) -> dict[str, Json]:
    """From the line `first` to the end of `last`; a range beyond the end means the end."""
    return _range(Place(max(0, first), 0), Place(last + 1, 0))


def _range(start: Place, end: Place) -> dict[str, Json]:
    return {"start": {**start._asdict()}, "end": {**end._asdict()}}
