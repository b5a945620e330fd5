"""The conversation with one daemon: begun as an editor begins it, one request at a time, ended in order."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from llamagent_server.lsp import wire
from llamagent_terminal.client import (
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Answered,
    Asked,
    Daemon,
    Failed,
    Gone,
    Interrupted,
    Told,
)
from llamagent_terminal.leftovers import sweep
from llamagent_terminal.options import Options
from llamagent_terminal.review import HANDLERS, Desk
from llamagent_terminal.screen import Screen
from llamagent_terminal.show import ERROR, HARNESS, Story, Watcher, say
from llamagent_terminal.terminal import can_ask, interrupt_reading, on_interrupt
from llamagent_terminal.textedit import ENCODINGS

_TICK_SECONDS = 0.25
_QUITTING_SECONDS = 1.0
_GONE_SECONDS = 10.0  # the reader waits for the exit code and for the last words
_ERROR_MESSAGE = 1  # MessageType.Error


class RequestFailed(Exception):
    """The daemon answered with an error; `message` says what to do."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def cancelled(self) -> bool:
        return self.code == REQUEST_CANCELLED


class DaemonGone(Exception):
    def __init__(self, gone: Gone) -> None:
        super().__init__(f"the daemon ended (exit code {gone.code})")
        self.code = gone.code
        self.last_words = gone.last_words


class Quit(Exception):
    """The person pressed Ctrl-C a second time."""


@dataclass(frozen=True, slots=True)
class View:
    """Where a person watches. `asking`: where questions are asked, if not there; `watcher`: who is told the trace, if
    it is not shown as a story."""

    screen: Screen
    asking: Screen | None = None
    watcher: Watcher | None = None


class Session:
    """`request` serves whatever the daemon asks meanwhile. Ctrl-C stops what runs, a second one raises Quit."""

    def __init__(self, daemon: Daemon, view: View, options: Options) -> None:
        self.screen = screen = view.screen
        self.folder = options.folder
        self.story = Story(screen)
        self.desk = Desk(
            view.asking or screen,
            options.folder,
            options.consent,
            asks=can_ask(),
            stop=lambda request: daemon.withdrawn(request) or self._pressed > self._handled,
            settled=self.story.settled,
        )
        self._daemon = daemon
        self._watcher = view.watcher or self.story
        self._pressed = self._handled = 0
        self._cancel: Callable[[], None] = lambda: None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed in the last request."""
        return self._handled > 0

    def press(self) -> None:
        """Ctrl-C. Called by the signal handler, in the middle of anything."""
        self._pressed += 1
        self._daemon.interrupt()
        if self._pressed > self._handled + 2:  # nobody listens: leave without ceremony
            raise Quit

    def command(self, name: str, /, **arguments: object) -> Any:
        """The result of `llamagent.<name>`. Raises RequestFailed, DaemonGone, Quit."""
        return self.request("workspace/executeCommand", _execute(name, arguments))

    def ask(self, text: str, *, read_only: bool) -> Mapping[str, Any]:
        """A turn. Ctrl-C stops it through the daemon, so that its result still comes."""
        return self.turn("ask", text=text, mode="read" if read_only else "agent")

    def turn(self, name: str, /, **arguments: object) -> Mapping[str, Any]:
        """The result of a command that is a turn: `ask` or `retry`."""
        self.desk.begin_turn()
        self.desk.in_turn = True
        cancel = _execute("cancel", {})
        try:
            result = self.request(
                "workspace/executeCommand",
                _execute(name, arguments),
                cancel=lambda: self._daemon.request("workspace/executeCommand", cancel),
            )
        finally:
            self.desk.in_turn = False
        return result if isinstance(result, Mapping) else {}

    def request(self, method: str, params: object, *, cancel: Callable[[], object] | None = None) -> Any:
        """The result of one request. Raises RequestFailed, DaemonGone, Quit."""
        self._pressed = self._handled = 0
        id_ = self._daemon.request(method, params)
        stop = cancel or (lambda: self._daemon.notify("$/cancelRequest", {"id": id_}))
        while True:
            match self._daemon.next(_TICK_SECONDS):
                case None:
                    self._watcher.tick()
                case Answered(id=done, result=result) if done == id_:
                    return result
                case Failed(id=done, code=code, message=message, data=data) if done == id_:
                    raise RequestFailed(code, message, data)
                case Asked() as asked:
                    self._serve(asked, stop)
                case Told(method=told, params=about):
                    self._told(told, about)
                case Interrupted():
                    self._interrupted(stop)
                case Gone() as gone:
                    raise DaemonGone(gone)

    def initialize(self, options: Options) -> None:
        result = self.request("initialize", _initialize(options))
        chosen = result.get("capabilities", {}).get("positionEncoding", "utf-16")
        self.desk.encoding = next((known for known in ENCODINGS if known == chosen), "utf-16")
        self._daemon.notify("initialized", {})

    @contextmanager
    def waking(self) -> Iterator[None]:
        """Within, the end of the daemon interrupts the reading of a line like Ctrl-C does."""
        self._daemon.on_gone = interrupt_reading
        try:
            self.require_daemon()
            yield
        finally:
            self._daemon.on_gone = lambda: None

    def require_daemon(self) -> None:
        """Raises DaemonGone when it ended."""
        while self._daemon.gone:
            match self._daemon.next(_GONE_SECONDS):
                case Gone() as gone:
                    raise DaemonGone(gone)
                case None:
                    raise DaemonGone(Gone(None, ()))

    def _serve(self, asked: Asked, stop: Callable[[], object]) -> None:
        handler = HANDLERS.get(asked.method)
        if handler is None:
            self._daemon.decline(asked, METHOD_NOT_FOUND, f"this client has no {asked.method}")
            return
        answer = handler(self.desk, asked)
        self._interrupted(stop)  # before the answer: the daemon must not go on because of a no that was a Ctrl-C
        if self._daemon.withdrawn(asked):
            self._daemon.decline(asked, REQUEST_CANCELLED, "the question was taken back")
        else:
            self._daemon.answer(asked, answer)

    def _interrupted(self, stop: Callable[[], object]) -> None:
        while self._handled < self._pressed:
            self._handled += 1
            if self._handled > 1:
                raise Quit
            self.screen.line()
            say(self.screen, HARNESS, "stopping (Ctrl-C again to leave at once)")
            stop()

    def _told(self, method: str, params: Mapping[str, Any]) -> None:
        if method == wire.TRACE:
            self._watcher.event(params)
        elif method == "$/progress":
            self.screen.status(_progress(params.get("value") or {}))
        elif method == "window/showMessage":
            say(self.screen, ERROR if params.get("type") == _ERROR_MESSAGE else HARNESS, str(params.get("message", "")))


@contextmanager
def opened(options: Options, view: View) -> Iterator[Session]:
    """A daemon of our own, ready to be asked; ended, whatever happens within."""
    sweep()
    daemon = Daemon(options.daemon)
    patience: float | None = _QUITTING_SECONDS
    try:
        session = Session(daemon, view, options)
        with on_interrupt(session.press):
            session.initialize(options)
            yield session
        patience = None
    finally:
        with suppress(OSError):  # nobody reads our output any more: the daemon is ended all the same
            view.screen.status("")
        daemon.end(patience)


def _progress(value: Mapping[str, Any]) -> str:
    """What a long task says of itself, such as a download; "" when it is over."""
    if value.get("kind") == "end":
        return ""
    share = value.get("percentage")
    words = [str(value.get("title") or ""), str(value.get("message") or ""), "" if share is None else f"{share} %"]
    return "  ".join(word for word in words if word)


def _execute(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    return {"command": wire.PREFIX + name, "arguments": [arguments]}


def _initialize(options: Options) -> dict[str, object]:
    uri = options.folder.as_uri()
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "llamagent-terminal"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": options.folder.name or str(options.folder)}],
        "initializationOptions": {"trusted": True} if options.trust else {},
        "capabilities": {
            "general": {"positionEncodings": list(ENCODINGS)},
            "workspace": {
                "applyEdit": True,
                "workspaceFolders": True,
                "workspaceEdit": {
                    "documentChanges": True,
                    "resourceOperations": ["create", "delete"],
                    "failureHandling": "transactional",
                    "changeAnnotationSupport": {},
                },
            },
            "window": {
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
                "workDoneProgress": True,
            },
            "experimental": {"llamagent": {"review": True, "trace": True, "consent": True, "save": True}},
        },
    }
