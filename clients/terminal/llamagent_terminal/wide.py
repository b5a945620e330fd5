"""A folder that is more than a project: the home, or what holds it. To work in all of it takes the person's word."""

from pathlib import Path

from llamagent_terminal import prompt
from llamagent_terminal.options import Options
from llamagent_terminal.prompt import Answer
from llamagent_terminal.screen import Screen
from llamagent_terminal.show import HARNESS, say
from llamagent_terminal.terminal import can_ask
from llamagent_terminal.visible import line


def agreed(screen: Screen, options: Options) -> bool:
    """Whether to go on. Who named the folder meant it; where nobody named it and nobody can be asked, the answer is no:
    `--yes` is about edits and commands."""
    what = _wide(options.folder)
    if what is None:
        return True
    say(screen, HARNESS, f"{line(str(options.folder))} is {what}: the model may read all that is in it.")
    if options.named:
        return True
    if can_ask() and prompt.yes_or_no(screen, "Take all of it as the project?", lambda: False) is Answer.YES:
        return True
    say(screen, HARNESS, "Nothing was asked. Go to a project's folder, or name one with --dir.")
    return False


def _wide(folder: Path) -> str | None:
    try:
        home = Path.home().resolve()
    except RuntimeError:  # a user without one
        home = None
    if folder.parent == folder:
        return "the whole disk"
    if home is not None and (folder == home or folder in home.parents):
        return "your home folder" if folder == home else "a folder that holds your home"
    return None
