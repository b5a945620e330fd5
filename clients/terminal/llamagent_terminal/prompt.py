"""Questions to the person: no answer of any kind is a yes."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from llamagent_terminal.ahead import set_aside
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.terminal import read_line

# English, French, German: what a person's fingers type without thinking.
_YES = frozenset({"y", "yes", "o", "oui", "j", "ja"})
STOPPED = "q"  # the reason of a no that ends the turn
_STOP = frozenset({STOPPED, "quit"})
_ALWAYS = frozenset({"a", "always"})
_NETWORK = frozenset({"w", "with network"})


class Answer(StrEnum):
    YES = "yes"
    ALWAYS = "always"
    NETWORK = "network"  # yes, this once and with network
    NO = "no"
    STOP = "stop"  # no, and the turn is to end
    NONE = "none"  # the question was taken back, or Ctrl-C or Ctrl-D was pressed


def yes_or_no(screen: Screen, question: str, stop: Callable[[], bool], *, more: Sequence[Answer] = ()) -> Answer:
    """`more` are answers offered beside yes and no; `stop` tells when the question is no longer one."""
    choices = ", ".join(("y/N", *(_OFFERS[answer] for answer in more)))
    typed = _asked(screen, stop, Span(question, Style.BOLD), f" [{choices}] ")
    if not typed:
        return Answer.NONE
    word = typed.strip().casefold()
    if word in _YES:
        return Answer.YES
    if word in _STOP:
        return Answer.STOP
    return next((answer for answer in more if word in _WORDS[answer]), Answer.NO)


_OFFERS = {Answer.ALWAYS: "a = always in this session", Answer.NETWORK: "w = once, with network"}
_WORDS = {Answer.ALWAYS: _ALWAYS, Answer.NETWORK: _NETWORK}


def reason(screen: Screen, stop: Callable[[], bool]) -> str | None:
    """Why the answer was no, for the model; None when the person gives none."""
    words = Span("Why not? (told to the model; Enter for nothing, q to stop here) ", Style.DIM)
    return (_asked(screen, stop, words) or "").strip() or None


def stops(reason: str | None) -> bool:
    """Whether the person wants the turn to end rather than to give a reason."""
    return (reason or "").casefold() in _STOP


def choice(screen: Screen, titles: Sequence[str], stop: Callable[[], bool]) -> int | None:
    """The index of one of `titles`; None for no answer. With two, the first is the yes."""
    if len(titles) <= 2:
        answer = yes_or_no(screen, f"{titles[0]}?", stop)
        no = len(titles) - 1 if len(titles) == 2 else None
        return {Answer.YES: 0, Answer.NO: no, Answer.STOP: no}.get(answer)
    for number, title in enumerate(titles, 1):
        screen.line(f"  {number}  {title}")
    typed = (_asked(screen, stop, f"[1-{len(titles)}, Enter for none] ") or "").strip()
    return int(typed) - 1 if typed.isdecimal() and 1 <= int(typed) <= len(titles) else None


def _asked(screen: Screen, stop: Callable[[], bool], *question: Span | str) -> str | None:
    set_aside()
    screen.prompt(*question)
    typed = read_line(stop)
    if typed is None or not typed.endswith("\n"):
        screen.line()  # the person did not end the line
    return typed
