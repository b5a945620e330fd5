"""A turn as a person watches it: trace events in, lines on the screen out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from llamagent_terminal.calls import MOST_COLUMNS, Call, call_line, result_lines
from llamagent_terminal.screen import Screen, Span, Style


class Watcher(Protocol):
    """Who is told the trace of a turn."""

    def event(self, event: Mapping[str, Any]) -> None: ...

    def tick(self) -> None:
        """Called several times a second while nothing happens."""
        ...


@dataclass(frozen=True, slots=True)
class Actor:
    """Told apart three ways: by sign, by word, by colour."""

    word: str
    sign: str
    ascii_sign: str
    style: Style


MODEL = Actor("model", "◆", "*", Style.MODEL)
THINKING = Actor("thinking", "◇", "~", Style.DIM)
TOOL = Actor("tool", "▸", ">", Style.TOOL)
HARNESS = Actor("harness", "■", "#", Style.HARNESS)
EDITOR = Actor("edit", "✎", "=", Style.EDITOR)
ERROR = Actor("error", "✗", "!", Style.ERROR)

_TEXT_COLUMN = 10
_EDITS = frozenset({"write_file", "edit_file"})
_SAID = frozenset({"refuse", "nudge", "stop", "compact"})  # decisions that change what happens next


def head(screen: Screen, actor: Actor, *rest: Span | str) -> None:
    """The line with which an actor begins."""
    sign = actor.sign if screen.unicode else actor.ascii_sign
    gap = (" " * (_TEXT_COLUMN - 2 - len(actor.word)),) if rest else ()
    screen.line(Span(f"{sign} {actor.word}", actor.style), *gap, *rest)


def say(screen: Screen, actor: Actor, text: str) -> None:
    """A message of an actor. Its further lines are indented, so that none can be taken for another actor's."""
    first, *more = screen.wrapped(text, _TEXT_COLUMN)
    head(screen, actor, first)
    for line in more:
        screen.line(" " * _TEXT_COLUMN, line)


class Story:
    """Shows events in order. `settled` are calls whose outcome was already shown with the person's own answer."""

    def __init__(self, screen: Screen) -> None:
        self.settled: set[str] = set()
        self.tokens: tuple[int, int] | None = None  # of the context: used, and all there are
        self._screen = screen
        self._calls: dict[str, Call] = {}
        self._announced: set[str] = set()
        self._channel = ""
        self._content_shown = False
        self._waiting = ""
        self._since = 0.0

    def event(self, event: Mapping[str, Any]) -> None:
        shown = _KINDS.get(event.get("kind", ""))
        if shown is not None:
            shown(self, event)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Within, the person sees what is waited for, if it takes a while."""
        self._waiting, self._since = what, monotonic()
        try:
            yield
        finally:
            self._waiting = ""
            self._screen.status("")

    def tick(self) -> None:
        if self._waiting:
            self._screen.status(f"{self._waiting}, {int(monotonic() - self._since)} s")

    def _wait_for(self, what: str) -> None:
        self._waiting = what
        self._since = monotonic()
        self.tick()

    def _requested(self, event: Mapping[str, Any]) -> None:
        self._channel = ""
        self._content_shown = False
        again = f" (attempt {event['attempt']})" if event.get("attempt", 1) > 1 else ""
        self._wait_for(f"{event['model']} reads about {event['promptTokensEstimate']:,} tokens{again}")

    def _delta(self, event: Mapping[str, Any]) -> None:
        self._waiting = ""
        self._stream(event["channel"], event["text"])

    def _stream(self, channel: str, text: str) -> None:
        content = channel == "content"
        if channel != self._channel:
            if not text.strip():
                return
            text = text.lstrip("\n")
            self._screen.line()
            head(self._screen, MODEL if content else THINKING)
            self._channel = channel
        self._content_shown = self._content_shown or content
        self._screen.flow(text, Style.PLAIN if content else Style.DIM)

    def _replied(self, event: Mapping[str, Any]) -> None:
        self._waiting = ""
        if not self._content_shown and event["content"].strip():
            self._stream("content", event["content"].strip())
        self._screen.end_flow()
        for call in event["toolCalls"]:
            self._calls[call["id"]] = Call(call["name"], call["arguments"])

    def _decided(self, event: Mapping[str, Any]) -> None:
        decision, id_ = event["decision"], event.get("call", "")
        call = self._calls.get(id_)
        # An edit is announced by its diff, and a command that is asked about by the question.
        if call is not None and call.name not in _EDITS and not (decision == "ask" and call.name == "run_command"):
            self._announce(id_)
        if decision in _SAID:
            self._announce(id_)
            say(self._screen, HARNESS, f"{decision}: {event['reason']}")
        elif decision == "repair" and call is None:  # how the model is asked, and no call of its was put right
            say(self._screen, HARNESS, event["reason"])
        if decision == "refuse" and id_:
            self.settled.add(id_)  # its result says the same again

    def _started(self, event: Mapping[str, Any]) -> None:
        if event["name"] not in _EDITS and event["name"] != "run_command":
            self._announce(event["call"])
        self._wait_for(f"{event['name']} is running")

    def _announce(self, id_: str) -> None:
        """Say which call it is, once."""
        call = self._calls.get(id_)
        if call is not None and id_ not in self._announced:
            self._announced.add(id_)
            head(self._screen, TOOL, *call_line(call, min(self._screen.columns - _TEXT_COLUMN - 1, MOST_COLUMNS)))

    def _returned(self, event: Mapping[str, Any]) -> None:
        self._waiting = ""
        if event["call"] in self.settled:
            return
        if event["name"] != "run_command":
            self._announce(event["call"])
        call = self._calls.get(event["call"], Call(event["name"], {}))
        for span in result_lines(call, event):
            # What a command wrote stays as it is; our own words are wrapped.
            lines = [span.text] if event["name"] == "run_command" else self._screen.wrapped(span.text, 2)
            for text in lines:
                self._screen.line("  ", Span(text, span.style))

    def _proposed(self, event: Mapping[str, Any]) -> None:
        self._waiting = ""
        self._announced.update(event["calls"])

    def _resolved(self, event: Mapping[str, Any]) -> None:
        if event["outcome"] in ("accepted", "rejected"):
            self.settled.update(event["calls"])
        else:
            say(self._screen, EDITOR, f"{event['outcome']}: {event.get('reason') or 'not as proposed'}")

    def _gauge(self, event: Mapping[str, Any]) -> None:
        self.tokens = (event["tokens"], event["numCtx"])

    def _notice(self, event: Mapping[str, Any]) -> None:
        self._waiting = ""
        say(self._screen, ERROR if event["level"] == "error" else HARNESS, event["text"])

    def _ended(self, event: Mapping[str, Any]) -> None:
        self._waiting = ""
        self._screen.status("")
        reason = event["stopReason"]
        if reason not in ("answered", "error", "cancelled") and event["answer"]:
            say(self._screen, HARNESS, event["answer"])
        steps = "1 step" if event["steps"] == 1 else f"{event['steps']} steps"
        words = {"error": "failed", "cancelled": "stopped"}.get(reason, reason.replace("_", " "))
        facts = [words, steps, f"{event['seconds']:.1f} s"]
        if self.tokens is not None:
            facts.append(f"{self.tokens[0]:,} of {self.tokens[1]:,} tokens")
        for text in self._screen.wrapped((" · " if self._screen.unicode else ", ").join(facts), 0):
            self._screen.line(Span(text, Style.DIM))


_KINDS = {
    "model.requested": Story._requested,
    "model.delta": Story._delta,
    "model.replied": Story._replied,
    "harness.decided": Story._decided,
    "tool.started": Story._started,
    "tool.returned": Story._returned,
    "edit.proposed": Story._proposed,
    "edit.resolved": Story._resolved,
    "context.gauge": Story._gauge,
    "notice": Story._notice,
    "turn.ended": Story._ended,
}
