"""A command that is typed as an ask, `/model NAME`: done as the command is, and answered in words, in any editor."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from llamagent_server.agent.results import Exported, Started, TurnResult
from llamagent_server.core.events import StopReason, TurnUsage
from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument, LlamagentError
from llamagent_server.lsp import speech, wire
from llamagent_server.lsp.progress import Token
from llamagent_server.lsp.said import answer
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.wire_slash import Mistyped, Typed
from llamagent_server.lsp.words import words

if TYPE_CHECKING:
    from llamagent_server.app import App

SLOW_SECONDS = 0.5  # what takes longer has a bar
SHOW_THEMSELVES = frozenset({"retry", "pull_model"})  # a turn, and a download with a bar of its own
MANY_LINES = 40

Do = Callable[[str, dict[str, Json]], Awaitable[object]]

_log = logging.getLogger(__name__)


async def run(
    session: EditorSession, asked: wire.Ask, typed: Typed | Mistyped, token: Token | None, do: Do
) -> TurnResult | Started:
    """The answer to an ask whose text is a command; `do` does one, given its name and its arguments. Raises
    LlamagentError."""
    if isinstance(typed, Mistyped):
        raise BadArgument(typed.message, hint=typed.hint)
    if (problem := typed.problem) is not None:
        raise BadArgument(problem, hint="/help lists the commands.")
    if not asked.detach:
        return await _done(session, asked, typed, token, do)
    app = await session.app()
    session.go_on(_alone(session, _done(session, asked, typed, token, do)))
    return Started(*app.place())


async def _alone(session: EditorSession, work: Awaitable[TurnResult]) -> None:
    """Nobody waits for it, so that a failure is told."""
    try:
        await work
    except LlamagentError as failure:
        _log.info("a typed command failed: %s", failure)
        session.editor.tell(types.MessageType.Error, str(failure))


async def _done(session: EditorSession, asked: wire.Ask, typed: Typed, token: Token | None, do: Do) -> TurnResult:
    app = await session.app()
    name, arguments = _call(session, asked, typed)
    if name == "trust" and arguments["trusted"] and not await _trusts(session, arguments):
        return _told(app, session, asked, session.protocol.say("Nothing was changed."))
    work = asyncio.ensure_future(do(name, arguments))
    try:
        await _watched(session, typed, work, token)
        result = await work
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            work.cancel()
            raise
        session_id, turn = app.place()
        return TurnResult("", session_id, turn, StopReason.CANCELLED, 0, TurnUsage())
    if isinstance(result, TurnResult):
        return result
    return _told(app, session, asked, await _words(session, typed, result))


def _told(app: "App", session: EditorSession, asked: wire.Ask, words: str) -> TurnResult:
    """The answer, which the person sees in the trace or by a message."""
    told = app.aside(asked.text.strip(), words)
    if not told.traced:
        session.answers.show(words)
    return told.result


async def _watched(session: EditorSession, typed: Typed, work: "asyncio.Future[object]", token: Token | None) -> None:
    """Wait for `work`, with a bar where that takes a while."""
    await asyncio.wait([work], timeout=SLOW_SECONDS)
    if work.done() or typed.row.command in SHOW_THEMSELVES:
        return
    bar = session.progress.open_work(work.cancel, token, title=words(session.client.locale).working)
    try:
        bar.report(f"/{typed.row.word}", None)
        await asyncio.wait([work])
    finally:
        bar.end()


def _call(session: EditorSession, asked: wire.Ask, typed: Typed) -> tuple[str, dict[str, Json]]:
    """The command and its arguments. A setting's word alone asks for its value."""
    row = typed.row
    if row.setting is not None and not typed.rest:
        return "config", {}
    arguments = typed.arguments
    command = next(command for command in wire.COMMANDS if command.name == row.command)
    if asked.session is not None and "session" in {field.name for field in fields(command.arguments)}:
        arguments["session"] = asked.session
    if row.command == "trust":
        arguments["folder"] = str(_folder(session, typed.rest))
    return row.command, arguments


async def _trusts(session: EditorSession, arguments: dict[str, Json]) -> bool:
    """An ask may hold words that somebody else wrote, from a pipe for instance: trust is given by a button only."""
    return await session.editor.ask_trust(str(arguments["folder"]), ())


def _folder(session: EditorSession, rest: str) -> Path:
    """The folder that is named, from the workspace's; without a name that one."""
    if not session.roots:
        raise BadArgument("No folder is open.", hint="Open one, or name it by its full path.")
    return session.roots[0] / Path(rest).expanduser() if rest else session.roots[0]


async def _words(session: EditorSession, typed: Typed, result: object) -> str:
    said = answer(typed, result)
    long = isinstance(result, Exported) and said.count("\n") > MANY_LINES
    if long and await session.shown.show("conversation.md", said):
        return session.protocol.say("The conversation was opened as a file.")
    return said if isinstance(result, Exported) else speech.lines(session.protocol.say, said)
