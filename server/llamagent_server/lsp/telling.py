"""What a person is told of a turn: as our own trace where the client takes it, else by the messages that LSP has."""

import asyncio

from lsprotocol import types

from llamagent_server.core.events import (
    EditProposed,
    EditResolved,
    Event,
    HarnessDecided,
    Level,
    ModelDelta,
    Notice,
    StopReason,
    ToolReturned,
    TurnEnded,
)
from llamagent_server.lsp import speech, visible
from llamagent_server.lsp.client import Client
from llamagent_server.lsp.protocol import StrictProtocol
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.lsp.wire import TRACE
from llamagent_server.lsp.words import words

SHORT = 400  # characters that a message box still shows well
SHORT_LINES = 8
LOG_LINE = 200

_TYPES = {
    Level.INFO: types.MessageType.Info,
    Level.WARNING: types.MessageType.Warning,
    Level.ERROR: types.MessageType.Error,
}


class TraceSender:
    """For clients with the `trace` flag."""

    def __init__(self, protocol: StrictProtocol) -> None:
        self._protocol = protocol

    def __call__(self, event: Event) -> None:
        if isinstance(event.body, ModelDelta):
            self._protocol.tell(TRACE, event.to_json(), for_show=True)
        else:
            self._protocol.tell(TRACE, speech.event(self._protocol.say, event.to_json()))


class Answers:
    """Answers as messages, a long one as a file where the editor can show one."""

    def __init__(self, protocol: StrictProtocol, client: Client, shown: ShownFiles) -> None:
        self._protocol = protocol
        self._words = words(client.locale)
        self._shown = shown
        self._showing: set[asyncio.Task[None]] = set()

    def show(self, answer: str) -> None:
        if len(answer) <= SHORT and answer.count("\n") < SHORT_LINES:
            self._say(answer)
            return
        task = asyncio.get_running_loop().create_task(self._long(answer))
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)

    async def _long(self, answer: str) -> None:
        if await self._shown.show("answer.md", visible.prose(answer)):
            return
        path = self._shown.write("answer.md", visible.prose(answer))
        beginning = "\n".join(answer[:SHORT].splitlines()[:SHORT_LINES])
        where = f"\n{self._words.answer_in.format(path=path)}" if path else ""
        self._say(f"{beginning} …{where}")

    def _say(self, text: str) -> None:
        self._protocol.tell(types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(types.MessageType.Info, text))


class Messages:
    """For all others: a message for what one must know, the log for the rest."""

    def __init__(self, protocol: StrictProtocol, client: Client, shown: ShownFiles) -> None:
        self._protocol = protocol
        self._answers = Answers(protocol, client, shown)
        self.detached: set[str] = set()  # turns whose failure no reply will tell

    def __call__(self, event: Event) -> None:
        match event.body:
            case Notice(level=level, text=text):
                self._say(_TYPES[level], text, log_only=level is Level.INFO)
            case TurnEnded() as ended:
                self._ended(event.turn, ended)
            case body:
                line = _log_line(body)
                if line:
                    self._say(types.MessageType.Log, f"[{event.step}] {line}", log_only=True)

    def _say(self, kind: types.MessageType, text: str, *, log_only: bool = False) -> None:
        if log_only:
            self._protocol.tell(types.WINDOW_LOG_MESSAGE, types.LogMessageParams(kind, text))
        else:
            told = speech.lines(self._protocol.say, text)
            self._protocol.tell(types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(kind, told))

    def _ended(self, turn: str, ended: TurnEnded) -> None:
        steps = "1 step" if ended.steps == 1 else f"{ended.steps} steps"
        words = f"the turn ended: {ended.stop_reason.value}, {steps}, {ended.seconds:.0f} s"
        self._say(types.MessageType.Log, words, log_only=True)
        detached = turn in self.detached
        self.detached.discard(turn)
        if ended.error is not None:
            self._say(types.MessageType.Error, ended.error, log_only=not detached)
        elif ended.stop_reason is not StopReason.CANCELLED and ended.answer.strip():
            harness = ended.stop_reason is not StopReason.ANSWERED
            answer = ended.answer.strip()
            self._answers.show(self._protocol.say(answer) if harness else answer)


def _log_line(body: object) -> str:
    match body:
        case HarnessDecided(decision=decision, reason=reason):
            return f"{decision.value}: {reason}"
        case ToolReturned(name=name, ok=ok, content=content):
            first = content.strip().splitlines()[0] if content.strip() else ""
            return f"{name}: {'ok' if ok else 'failed'}: {first[:LOG_LINE]}"
        case EditProposed(files=files):
            return f"waits for your answer: {', '.join(file.uri.rsplit('/', 1)[-1] for file in files)}"
        case EditResolved(outcome=outcome, reason=reason):
            return f"edit {outcome.value}{f': {reason}' if reason else ''}"
        case _:
            return ""
