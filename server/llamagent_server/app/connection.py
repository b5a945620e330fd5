"""What the edge knows of an editor after `initialize`, and what it can ask of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from llamagent_server.agent.ports import Editor, TraceListener
from llamagent_server.agent.turns import Turn
from llamagent_server.app.bars import OpenBar
from llamagent_server.core.messages import Json
from llamagent_server.workspace import Buffers, Folder


@dataclass(frozen=True, slots=True)
class Connection:
    """`settings` are the editor's, `overrides` the command line's.

    `trusted` is the editor's word on the workspace, None where it gave none: then the user's trust file decides, and
    `ask_trust` asks once for a folder that the file does not name, and for what is new in a trusted one (labels of it).
    `ask_download` asks whether something may be fetched, given what, how large and from where. `open_bar` shows the
    progress of what takes long. `on_queue` is told a session's waiting turns. `say` shows the person what they must
    know now, whatever their editor makes of a trace.
    """

    folders: tuple[Folder, ...]
    settings: Mapping[str, Json]
    overrides: Mapping[str, Json]
    trusted: bool | None
    locale: str | None
    editor: Editor
    buffers: Buffers
    listener: TraceListener
    on_queue: Callable[[str, tuple[Turn, ...]], None]
    say: Callable[[str], None]
    ask_trust: Callable[[Folder, Sequence[str]], Awaitable[bool]]
    open_bar: OpenBar
    ask_download: Callable[[str], Awaitable[bool]]
    ask_secret: Callable[[str], Awaitable[bool]]
