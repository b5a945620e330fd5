"""A turn, or other long work, as `$/progress`: one line a step, and a button that cancels it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from lsprotocol import types

from llamagent_server.core.events import (
    EditProposed,
    Event,
    ModelRequested,
    Notice,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from llamagent_server.lsp.client import Client
from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.protocol import StrictProtocol
from llamagent_server.lsp.words import words

Token = int | str

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Bar:
    """One turn's progress. `waiting` are the values to send once the client knows the token, None from then on."""

    token: Token
    cancel: Callable[[], object]
    waiting: list[object] | None = field(default_factory=list)


class WorkBar:
    """Work outside of a turn's steps; begun when it is made. Implements app.bars.Bar."""

    def __init__(self, progress: "Progress", bar: _Bar, title: str) -> None:
        self._progress = progress
        self._bar = bar
        self._last: tuple[str, int | None] = ("", None)
        progress.send(bar, types.WorkDoneProgressBegin(title, cancellable=True, percentage=0))

    def report(self, words: str, percent: int | None) -> None:
        if (words, percent) != self._last:
            self._last = words, percent
            value = types.WorkDoneProgressReport(
                message=self._progress.say(words), percentage=percent, cancellable=True
            )
            self._progress.send(self._bar, value)

    def end(self) -> None:
        self._progress.send(self._bar, types.WorkDoneProgressEnd())
        self._progress.forget_work(self._bar)


class Progress:
    """Listens to the trace. A turn has a bar where the client gave it a token, or can be given one by us."""

    def __init__(self, protocol: StrictProtocol, client: Client) -> None:
        self._protocol = protocol
        self._words = words(client.locale)
        self._shows = client.shows_progress
        self._makes_tokens = client.shows_progress and not client.flags.trace
        self._work: list[_Bar] = []
        self._numbers = count(1)
        self._bars: dict[str, _Bar] = {}
        self._creating: set[asyncio.Task[None]] = set()

    def say(self, english: str) -> str:
        return self._protocol.say(english)

    def attach(self, turn: str, cancel: Callable[[], object], token: Token | None) -> bool:
        """Before the turn begins. `token` is the client's own `workDoneToken`. False where the turn gets no bar, or has
        one already: words that steer it are part of it."""
        if turn in self._bars or (token is None and not self._makes_tokens):
            return False
        if token is not None:
            self._bars[turn] = _Bar(token, cancel, waiting=None)
        else:
            self._bars[turn] = _Bar(f"llamagent-{turn}", cancel)
        return True

    def forget(self, turn: str) -> None:
        """The turn is over, whether it has begun or not."""
        self._bars.pop(turn, None)

    def cancel(self, token: Token) -> None:
        """The person pressed the button."""
        for bar in (*self._bars.values(), *self._work):
            if bar.token == token:
                bar.cancel()

    def open_work(
        self, cancel: Callable[[], object], token: Token | None = None, *, title: str | None = None
    ) -> WorkBar:
        """A bar for a download, or what `title` says: it is no part of a trace. `token` is the client's own. Where the
        client shows none, nothing is sent."""
        bar = _Bar(f"llamagent-work-{next(self._numbers)}" if token is None else token, cancel)
        if token is not None:
            bar.waiting = None
        elif self._shows:
            self._create_soon(bar)
        self._work.append(bar)
        return WorkBar(self, bar, title or self._words.downloading)

    def forget_work(self, bar: _Bar) -> None:
        if bar in self._work:
            self._work.remove(bar)

    def __call__(self, event: Event) -> None:
        bar = self._bars.get(event.turn)
        if bar is None:
            return
        match event.body:
            case TurnStarted(text=text):
                self._begin(bar, text)
            case ModelRequested(model=model):
                self._report(bar, event.step, model)
            case ToolStarted(name=name):
                self._report(bar, event.step, name)
            case EditProposed(files=files):
                self._report(bar, event.step, ", ".join(file.uri.rsplit("/", 1)[-1] for file in files))
            case Notice(text=text):  # such as a wait for a model that is being loaded
                self._report(bar, event.step, self.say(text))
            case TurnEnded():
                self.send(bar, types.WorkDoneProgressEnd())
                self.forget(event.turn)

    def _begin(self, bar: _Bar, text: str) -> None:
        if bar.waiting is not None:
            self._create_soon(bar)
        line = text.strip().splitlines()[0][:80] if text.strip() else ""
        self.send(bar, types.WorkDoneProgressBegin(self._words.working, cancellable=True, message=line))

    def _create_soon(self, bar: _Bar) -> None:
        task = asyncio.get_running_loop().create_task(self._create(bar))
        self._creating.add(task)
        task.add_done_callback(self._creating.discard)

    async def _create(self, bar: _Bar) -> None:
        params = types.WorkDoneProgressCreateParams(bar.token)
        try:
            await self._protocol.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, lambda _: None)
        except AskFailed as problem:
            _log.info("the client takes no progress: %s", problem)
            return
        values, bar.waiting = bar.waiting or [], None
        for value in values:
            self.send(bar, value)

    def _report(self, bar: _Bar, step: int, what: str) -> None:
        message = self._words.step.format(number=step, what=what)
        self.send(bar, types.WorkDoneProgressReport(message=message, cancellable=True))

    def send(self, bar: _Bar, value: object) -> None:
        if bar.waiting is not None:
            bar.waiting.append(value)
        else:
            self._protocol.tell(types.PROGRESS, {"token": bar.token, "value": value})
