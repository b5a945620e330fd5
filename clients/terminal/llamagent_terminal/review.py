"""What the daemon asks of the person: may this edit be made, may this command run, and whatever else needs a yes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from llamagent_server.lsp import wire
from llamagent_terminal import prompt
from llamagent_terminal.apply import Change, perform, plan
from llamagent_terminal.client import Asked
from llamagent_terminal.diff import Kind
from llamagent_terminal.options import Consent
from llamagent_terminal.prompt import Answer
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.show import EDITOR, HARNESS, TOOL, head, say
from llamagent_terminal.textedit import Encoding, WrongEdit
from llamagent_terminal.visible import code, line
from llamagent_terminal.visible import command as command_line

NO_TERMINAL = "there is no terminal to ask in"

# More of a command than this may not be on a small screen at once.
_LINES_SEEN = 15
_CHARACTERS_SEEN = 1000

_RUNS: Mapping[Answer, dict[str, object]] = {
    Answer.YES: {"decision": "run"},
    Answer.ALWAYS: {"decision": "always"},
    Answer.NETWORK: {"decision": "run", "network": True},
}

_ROW_STYLES = {
    Kind.HUNK: Style.HUNK,
    Kind.SAME: Style.PLAIN,
    Kind.REMOVED: Style.REMOVED,
    Kind.ADDED: Style.ADDED,
    Kind.NOTE: Style.DIM,
}


class Desk:
    """Where questions land. `asks`: whether a person can be asked; `stop(request)`: whether a question is void.

    `refusals` and `consents` count the answers of the running turn; `settled` gets the calls that were refused here,
    whose result needs no telling. `in_turn`: whether a model will read why the answer was no.
    """

    def __init__(
        self,
        screen: Screen,
        root: Path,
        consent: Consent,
        *,
        asks: bool,
        stop: Callable[[Asked], bool],
        settled: set[str],
    ) -> None:
        self.encoding: Encoding = "utf-16"
        self.refusals = 0
        self.consents = 0
        self.edits = 0  # of these consents
        self.in_turn = False
        self._screen = screen
        self._root = root
        self._consent = consent
        self._asks = asks
        self._stop = stop
        self._settled = settled

    def begin_turn(self) -> None:
        self.refusals = self.consents = self.edits = 0

    # --- Edits

    def review(self, request: Asked) -> dict[str, object]:
        """`workspace/applyEdit`: the diff is shown, and written after the yes."""
        try:
            changes = plan(request.params.get("edit") or {}, self._root, self.encoding)
            self._show(changes)
            self._note(request.params.get("edit") or {})
            answer, reason = self._ask(request, _apply_question(changes))
            if answer is not Answer.YES:
                self._screen.line(Span("  left as it is", Style.DIM))
                return self._not_applied(reason)
            perform(changes, self._root)
        except WrongEdit as error:
            say(self._screen, HARNESS, f"not applied: {error}")
            return {"applied": False, "failed": True, "failureReason": str(error)}
        self.consents += 1
        self.edits += 1
        made = "removed" if all(change.after is None for change in changes) else "written"
        self._screen.line(Span(f"  {made}", Style.ADDED))
        return {"applied": True}

    def _not_applied(self, reason: str | None) -> dict[str, object]:
        self.refusals += 1
        return {"applied": False, **_words("failureReason", reason)}

    def _show(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            new = " (new file)" if change.before is None else " (the file is removed)" if change.after is None else ""
            difference = change.diff
            self._screen.line()
            counts = (Span(f"  +{difference.added}", Style.ADDED), Span(f" -{difference.removed}", Style.REMOVED))
            head(self._screen, EDITOR, Span(line(change.name), Style.BOLD), new, *counts)
            for row in difference.rows:
                sign = "" if row.kind is Kind.HUNK else row.kind.value
                self._screen.line(Span(sign + code(row.text), _ROW_STYLES[row.kind]))

    def _note(self, edit: Mapping[str, Any]) -> None:
        """What the daemon calls the edit, where it says more than the diff does."""
        annotations = edit.get("changeAnnotations")
        for annotation in annotations.values() if isinstance(annotations, Mapping) else ():
            label = annotation.get("label") if isinstance(annotation, Mapping) else None
            if isinstance(label, str) and "(" in label:
                self._screen.line(Span(f"  {line(label)}", Style.DIM))

    # --- Commands

    def consent(self, request: Asked) -> dict[str, object]:
        """`llamagent/consent`: the command exactly as it would run, and where."""
        command, call = str(request.params.get("command", "")), str(request.params.get("call", ""))
        first, *more = command.split("\n")
        head(self._screen, TOOL, Span(f"$ {command_line(first)}", Style.BOLD))
        for text in more:
            self._screen.line("            ", Span(command_line(text), Style.BOLD))
        self._screen.line(
            "  ", Span(f"in {line(str(request.params.get('cwd', '')))}, {_walls(request.params)}", Style.DIM)
        )
        walled = bool(request.params.get("sandboxed")) and not request.params.get("network")
        offers = (Answer.ALWAYS, Answer.NETWORK) if walled else (Answer.ALWAYS,)
        answer, reason = self._ask(request, _run_question(command), offers)
        if answer in _RUNS:
            self.consents += 1
            return _RUNS[answer]
        self.refusals += 1
        self._settled.add(call)
        self._screen.line(Span("  not run", Style.DIM))
        return {"decision": "refuse", **_words("reason", reason)}

    # --- Anything else

    def choose(self, request: Asked) -> dict[str, object] | None:
        """`window/showMessageRequest`: with nobody to ask, the last action (Not now, Refuse, ...)."""
        message, actions = str(request.params.get("message", "")), request.params.get("actions") or []
        titles = [str(action.get("title", "")) for action in actions]
        say(self._screen, HARNESS, message)
        if not titles:
            return None
        if not self._asks:
            self._screen.line("  ", Span(f"{titles[-1]}: {NO_TERMINAL}", Style.DIM))
            return dict(actions[-1])
        chosen = prompt.choice(self._screen, titles, lambda: self._stop(request))
        return None if chosen is None else dict(actions[chosen])

    def save(self, request: Asked) -> dict[str, object]:
        """`llamagent/save`: whatever was applied is on disk already."""
        return {"saved": list(request.params.get("uris") or [])}

    def _ask(self, request: Asked, question: str, more: Sequence[Answer] = ()) -> tuple[Answer, str | None]:
        """The answer, and for a no to a model its reason."""
        if self._consent is not Consent.ASK:
            self._screen.line(Span(f"{question} {self._consent} (--{self._consent})", Style.DIM))
            return Answer(self._consent.value), "refused by --no" if self._consent is Consent.NO else None
        if not self._asks:
            words = f"{question} no: {NO_TERMINAL} (--yes accepts, --no refuses)"
            for text in self._screen.wrapped(words, 0):
                self._screen.line(Span(text, Style.HARNESS))
            return Answer.NO, NO_TERMINAL

        def stop() -> bool:
            return self._stop(request)

        answer = prompt.yes_or_no(self._screen, question, stop, more=more)
        if answer is Answer.STOP:
            return Answer.NO, prompt.STOPPED if self.in_turn else None
        explains = answer is Answer.NO and self.in_turn
        return answer, prompt.reason(self._screen, stop) if explains else None


def _apply_question(changes: tuple[Change, ...]) -> str:
    if len(changes) == 1:
        change = changes[0]
        verb = "Create" if change.before is None else "Remove" if change.after is None else "Apply to"
        return f"{verb} {line(change.name)}?"
    return f"Apply to {len(changes)} files?"


def _run_question(command: str) -> str:
    """Of what may have scrolled off the screen one must know that there is more of it."""
    lines = command.count("\n") + 1
    if lines <= _LINES_SEEN and len(command) <= _CHARACTERS_SEEN:
        return "Run it?"
    return f"Run all of it ({lines:,} {'line' if lines == 1 else 'lines'}, {len(command):,} characters)?"


def _walls(params: Mapping[str, Any]) -> str:
    if not params.get("sandboxed"):
        return "not sandboxed"
    return "sandboxed, with network" if params.get("network") else "sandboxed, no network"


HANDLERS: dict[str, Callable[[Desk, Asked], object]] = {
    "workspace/applyEdit": Desk.review,
    wire.CONSENT: Desk.consent,
    wire.SAVE: Desk.save,
    "window/showMessageRequest": Desk.choose,
    "window/workDoneProgress/create": lambda _desk, _request: None,
    "client/registerCapability": lambda _desk, _request: None,
    "client/unregisterCapability": lambda _desk, _request: None,
}


def _words(key: str, reason: str | None) -> dict[str, object]:
    """A reason as it goes to the daemon, or the wish to stop."""
    if prompt.stops(reason):
        return {"stop": True}
    return {key: reason} if reason else {}
