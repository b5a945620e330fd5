"""The Tab key in the conversation mode: the daemon knows the commands, their names and the project's files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llamagent_terminal.session import RequestFailed, Session
from llamagent_terminal.textedit import Encoding


@contextmanager
def completing(session: Session) -> Iterator[None]:
    """Within, Tab completes where there is a readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    choices: list[str] = []

    def complete(_word: str, state: int) -> str | None:
        if state == 0:
            choices[:] = _choices(session, readline.get_line_buffer(), readline.get_begidx(), readline.get_endidx())
        return choices[state] if state < len(choices) else None

    before: Callable[[str, int], str | None] | None = readline.get_completer()
    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)


def _choices(session: Session, line: str, begin: int, end: int) -> list[str]:
    """What may stand in place of the word from `begin` to `end`."""
    try:
        found = session.command("complete", text=line[:end], offset=_units(line[:end], session.desk.encoding))
    except RequestFailed:
        return []  # Tab then does nothing
    word, items = line[begin:end], [item["insertText"] for item in found.get("items", ())]
    # readline keeps what all choices begin with: some that begin otherwise would take the person's letters away.
    return items if len(items) == 1 else [item for item in items if item.startswith(word)]


def _units(text: str, encoding: Encoding) -> int:
    codec, width = _UNITS[encoding]
    return len(text.encode(codec)) // width


_UNITS: dict[Encoding, tuple[str, int]] = {
    "utf-32": ("utf-32-le", 4),
    "utf-16": ("utf-16-le", 2),
    "utf-8": ("utf-8", 1),
}
