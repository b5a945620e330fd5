"""`workspace/executeCommand`: which command is meant, its arguments, and its one call into the agent."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, get_type_hints

from llamagent_server.agent.results import Cancelled, Completions, ModelPulled, Started, TurnResult
from llamagent_server.app.mentions import mentioned
from llamagent_server.app.undoing import NewWords
from llamagent_server.core.events import camel, record
from llamagent_server.core.messages import Json
from llamagent_server.core.policy import Mode
from llamagent_server.errors import BadArgument, LlamagentError
from llamagent_server.lsp import speech, wire
from llamagent_server.lsp.attachments import attachment
from llamagent_server.lsp.client import JsonMap
from llamagent_server.lsp.progress import Token
from llamagent_server.lsp.session import EditorSession
from llamagent_server.lsp.strict import type_name
from llamagent_server.lsp.text import Text
from llamagent_server.lsp.typed import run
from llamagent_server.lsp.wire_slash import read
from llamagent_server.lsp.words import words

if TYPE_CHECKING:
    from llamagent_server.agent.turns import Turn

Door = Callable[[EditorSession, Any, Token | None], Awaitable[object]]


async def execute(session: EditorSession, params: JsonMap) -> dict[str, Json]:
    """The command's result as JSON. Raises LlamagentError."""
    command = _command(params.get("command") if params else None)
    given = _only_argument(params.get("arguments"), command)
    result = await _do(session, command, given, _token(params.get("workDoneToken")))
    return speech.result(session.protocol.say, result if isinstance(result, dict) else record(result))


async def _do(session: EditorSession, command: wire.Command, given: Json, token: Token | None) -> object:
    arguments: Any = wire.parse(command.arguments, given)
    door = _DOORS.get(command.name)
    if door is not None:
        return await door(session, arguments, token)
    method = getattr(await session.app(), command.name)
    return await method(**{field.name: getattr(arguments, field.name) for field in fields(command.arguments)})


def _command(name: Json) -> wire.Command:
    served = {command.id: command for command in wire.COMMANDS if command.served}
    if isinstance(name, str) and name in served:
        return served[name]
    near = difflib.get_close_matches(str(name), served, n=1)
    raise BadArgument(f"There is no command {name!r}.", hint=f"Did you mean {near[0]}?" if near else None)


def _only_argument(arguments: Json, command: wire.Command) -> Json:
    if arguments is None or arguments == [] or arguments == [None]:
        return {}
    if not isinstance(arguments, list) or len(arguments) != 1:
        raise BadArgument(f"{command.id} takes one object as its only argument.")
    return arguments[0]


def _token(value: Json) -> Token | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


async def _ask(session: EditorSession, asked: wire.Ask, token: Token | None) -> TurnResult | Started:
    if (typed := read(asked.text)) is not None:
        return await run(
            session, asked, typed, token, lambda name, given: _do(session, _command(wire.PREFIX + name), given, token)
        )
    # Before the first await: what the person attached is what they see at this moment.
    seen = [session.documents.get(item.uri) if item.uri else None for item in asked.context]
    async with session.asking:
        app = await session.app()
        attached = [
            await attachment(item, document, app.workspace, session.client.encoding)
            for item, document in zip(asked.context, seen, strict=True)
        ]
        named, unread = await mentioned(asked.text, app.workspace, app.may_not_see)
        turn = app.start_turn(
            asked.text,
            session=asked.session,
            attachments=[*attached, *named],
            mode=Mode(asked.mode),
            steer=asked.steer,
            unread=unread,
        )
    if asked.detach:
        session.progress.attach(turn.id, turn.cancel, token)
        session.detach(turn)
        return Started(turn.session, turn.id)
    return await _result(session, turn, token)


async def _retry(session: EditorSession, asked: wire.Retry, token: Token | None) -> TurnResult:
    app = await session.app()
    named, unread = await mentioned(asked.text or "", app.workspace, app.may_not_see)
    words = NewWords(asked.text, named, unread) if asked.text is not None else None
    begun = await app.retry(asked.session, asked.turn, words, undo=asked.undo)
    return begun if isinstance(begun, TurnResult) else await _result(session, begun, token)


async def _result(session: EditorSession, turn: "Turn", token: Token | None) -> TurnResult:
    """Wait for the end of a turn that has not begun yet, and stop it when the request is cancelled."""
    has_bar = session.progress.attach(turn.id, turn.cancel, token)
    try:
        return await turn.result()
    except asyncio.CancelledError:
        await _stopped(turn)
        raise
    finally:
        if has_bar:
            session.progress.forget(turn.id)


async def _ask_about(
    session: EditorSession, asked: wire.AskAbout, token: Token | None
) -> TurnResult | Started | Cancelled:
    text = await session.editor.input(words(session.client.locale).ask_about)
    if not text:
        return Cancelled(True)
    return await _ask(session, wire.Ask(text, context=asked.context, detach=True), token)


async def _stopped(turn: "Turn") -> None:
    """Cancel `turn` and wait until nothing of it runs any more."""
    if turn.cancel():
        try:
            await turn.result()
        except LlamagentError:
            return


async def _pull_model(session: EditorSession, asked: wire.PullModel, token: Token | None) -> ModelPulled:
    app = await session.app()
    return await app.pull_model(asked.name, open_bar=lambda cancel: session.progress.open_work(cancel, token))


async def _complete(session: EditorSession, asked: wire.Complete, _: Token | None) -> Completions:
    text = Text(asked.text, session.client.encoding)
    app = await session.app()
    found = await app.complete(asked.text, text.unit_offset(asked.offset), wire.prompt_words())
    return Completions(
        tuple(replace(item, start=text.units_to(item.start), end=text.units_to(item.end)) for item in found.items)
    )


async def _help(_: EditorSession, __: wire.NoArguments, ___: Token | None) -> dict[str, Json]:
    return {"commands": [_described(command) for command in wire.COMMANDS if command.served]}


def _described(command: wire.Command) -> dict[str, Json]:
    hints = get_type_hints(command.arguments)
    arguments: list[Json] = [
        {
            "name": camel(field.name),
            "type": type_name(hints[field.name]),
            "required": field.default is MISSING and field.default_factory is MISSING,
        }
        for field in fields(command.arguments)
    ]
    words = {"name": command.id, "title": command.title, "help": command.help, "slash": command.slash}
    return {**words, "arguments": arguments}


_DOORS: dict[str, Door] = {
    "ask": _ask,
    "ask_about": _ask_about,
    "retry": _retry,
    "pull_model": _pull_model,
    "complete": _complete,
    "help": _help,
}
