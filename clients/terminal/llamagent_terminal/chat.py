"""`llamagent-server chat`: the conversation mode."""

import sys

from llamagent_terminal import slash, terminal
from llamagent_terminal.ahead import offered, set_aside
from llamagent_terminal.ask import INTERRUPTED, REFUSED, asking_screen, make_screen, resume_newest, say_failed, say_gone
from llamagent_terminal.completing import completing
from llamagent_terminal.options import Options
from llamagent_terminal.remembered import Remember, remembering
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.session import DaemonGone, Quit, RequestFailed, Session, View, opened
from llamagent_terminal.terminal import keeping_typed, raising_interrupts
from llamagent_terminal.wide import agreed

_QUOTES = '"""'


def chat(options: Options) -> int:
    """Talk until the person leaves. Returns the exit code."""
    terminal.leave_on_hangup()
    screen = make_screen(sys.stdout)
    try:
        if not agreed(asking_screen() or screen, options):
            return REFUSED
        with (
            keeping_typed(),
            opened(options, View(screen, asking_screen())) as session,
            remembering() as remember,
            completing(session),
        ):
            _greet(screen, str(options.folder))
            if options.resume:
                resume_newest(session)
            while (text := read_prompt(screen, session, remember)) is not None:
                if text.strip() in ("/quit", "/exit"):
                    break
                _answer(session, text, options)
                if session.interrupted:
                    set_aside()  # to send it is the person's, now that they have stopped what it was said to
            return 0
    except RequestFailed as error:
        return say_failed(screen, error)
    except DaemonGone as gone:
        return say_gone(screen, gone)
    except (Quit, KeyboardInterrupt):
        return INTERRUPTED


def _greet(screen: Screen, folder: str) -> None:
    title, hint = f"llamagent in {folder}", "/help lists the commands, Ctrl-D leaves"
    beside = screen.wrapped(f"{title}   {hint}", 0)
    if len(beside) == 1:
        screen.line(Span(title, Style.BOLD), f"   {hint}")
    else:
        screen.line(Span(title, Style.BOLD))
        screen.line(hint)


def _answer(session: Session, text: str, options: Options) -> None:
    try:
        if (typed := slash.command(text)) is not None:
            slash.run(session, typed)
        elif text.strip():
            session.ask(text, read_only=options.read_only)
    except RequestFailed as error:
        if error.cancelled:  # the person pressed Ctrl-C, and was told so
            session.screen.line(Span("stopped", Style.DIM))
        else:
            say_failed(session.screen, error)


def read_prompt(screen: Screen, session: Session, remember: Remember) -> str | None:
    """What the person says, over several lines when one ends in a backslash or after three quotes; None at the end.

    Ctrl-C drops what was typed so far; of several lines those that were ended are remembered. Raises DaemonGone when
    the daemon ends meanwhile.
    """
    screen.end_flow()
    first, more = ("› ", "… ") if screen.unicode else ("> ", ". ")
    lines: list[str] = []
    while True:
        try:
            with session.waking(), offered(screen), raising_interrupts():
                lines.append(input(more if lines else first))
        except EOFError:
            screen.line()
            return None
        except KeyboardInterrupt:
            session.require_daemon()
            screen.line()
            remember("\n".join(lines))
            lines.clear()
            continue
        text = _whole(lines)
        if text is not None:
            remember(text)
            return text


def _whole(lines: list[str]) -> str | None:
    """The text of `lines`; None when another line belongs to it."""
    joined = "\n".join(lines)
    if joined.lstrip().startswith(_QUOTES):
        inner = joined.lstrip()[len(_QUOTES) :]
        return inner.rstrip()[: -len(_QUOTES)].strip("\n") if inner.rstrip().endswith(_QUOTES) else None
    if lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        return None
    return joined
