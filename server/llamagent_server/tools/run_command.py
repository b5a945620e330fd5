"""run_command: a shell command in the project's folder. Whether it may run was decided before it is called."""

import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.messages import JsonObject
from llamagent_server.processes.commands import Ran, Shelter
from llamagent_server.processes.output import shortened
from llamagent_server.processes.threads import off_loop
from llamagent_server.tools.error_lines import error_lines
from llamagent_server.tools.specs import refused, room_for, tool_spec, unusable
from llamagent_server.workspace import ProjectWorkspace

_FRAME = 320
_SMALLEST = 400
_AT_A_GLANCE = 12  # lines in which an error need not be looked for
_LINE = 300  # characters of a line of the error
_LABELS = 60
_ABOVE = "[the error above]"
_SANDBOXES = (Shelter.SANDBOX, Shelter.SANDBOX_WITH_NETWORK)
_SHELTERS = {
    Shelter.NONE: "It ran without a sandbox",
    Shelter.SANDBOX: "It ran in a sandbox without network",
    Shelter.SANDBOX_WITH_NETWORK: "It ran in a sandbox with network",
}
# How programs and systems say that there is no network, and that a place cannot be written.
_NO_NETWORK = re.compile(
    r"network is (?:unreachable|down)|name resolution|could not resolve|couldn.t resolve|can.t resolve|"
    r"name or service not known|nodename nor servname|no address associated|getaddrinfo|EAI_AGAIN|ENOTFOUND|"
    r"ENETUNREACH|connection refused|ECONNREFUSED|failed to establish a new connection|no route to host|"
    r"temporary failure resolving|dns (?:error|lookup|failure)|no such host|unable to connect to the internet",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"read-only file ?system|EROFS|Errno 30\b", re.IGNORECASE)


class Runner(Protocol):
    async def run(self, command: str, folder: Path, *, network: bool) -> Ran:
        """Run it in `folder`; whatever happens it has ended when this returns or is cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class RunCommand:
    workspace: ProjectWorkspace
    runner: Runner
    kind = ToolKind.COMMAND
    spec = tool_spec("run_command", "Run a shell command in the project.", {"command": "string"})

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        command = str(arguments["command"])
        folder = self.workspace.command_folder
        if folder is None:
            return refused("No folder is open, so there is nowhere to run a command.")
        if not command.strip():
            return refused("The command is empty.")
        if bad := unusable(command, "The command"):
            return bad
        ran = await self.runner.run(command, folder, network=context.network)
        room = max(_SMALLEST, room_for(context, ran.output[-context.max_chars :]) - _FRAME)
        return await off_loop(lambda _: told(ran, room))  # to find the error in 300 kB takes half a second


def told(ran: Ran, room: int) -> ToolResult:
    """How it ended first, then what it wrote; of a failed command the error, then rather the end."""
    ok = ran.ending.code == 0 and not ran.timed_out
    written = ran.output.strip("\n")
    output, cut = shortened(written, room, head_share=0.4) if ok else _error_first(written, room)
    notes = []
    if ran.ending.left:
        notes.append(f"[{ran.ending.left} processes that it had left running were ended with it]")
    wants_network = not ok and ran.shelter is Shelter.SANDBOX and _NO_NETWORK.search(ran.output) is not None
    notes += _sheltered(ran, failed=not ok, wants_network=wants_network)
    content = "\n".join([_headline(ran), output or "(no output)", *notes])
    return ToolResult(ok, content, truncated=cut, wants_network=wants_network)


def _error_first(output: str, room: int) -> tuple[str, bool]:
    """`output` in about `room` characters with the lines that say the error before the rest; whether it was cut."""
    lines = output.split("\n")
    if len(lines) <= _AT_A_GLANCE and len(output) <= room:
        return output, False
    found = error_lines(lines)
    if not found:
        return shortened(output, room, head_share=0.15)
    error, _ = shortened("\n".join(_bounded(lines[index]) for index in found), room // 2, head_share=0.5)
    gone = set(found)
    rest = [_ABOVE if index in gone else line for index, line in enumerate(lines)]
    while rest and rest[-1] in ("", _ABOVE):
        rest.pop()
    rest = [line for index, line in enumerate(rest) if line is not _ABOVE or rest[index - 1 : index] != [_ABOVE]]
    output, cut = shortened("\n".join(rest), max(0, room - len(error) - _LABELS), head_share=0.0)
    return "\n".join(["The error:", error, "The end of what it wrote:" if cut else "All that it wrote:", output]), cut


def _bounded(line: str) -> str:
    return line if len(line) <= _LINE else line[:_LINE] + "…"


def _sheltered(ran: Ran, *, failed: bool, wants_network: bool) -> list[str]:
    """One line on what was between the command and the machine, and whether it failed for that."""
    if wants_network:
        return [f"[{_SHELTERS[ran.shelter]}. Run it again if it needs the network: the user is asked for it then.]"]
    if failed and ran.shelter in _SANDBOXES and _READ_ONLY.search(ran.output):
        return [
            f"[{_SHELTERS[ran.shelter]}. Only the project and /tmp can be written there, but for .git, .vscode and "
            "the like; git add and git commit by themselves work.]"
        ]
    return [f"[{_SHELTERS[ran.shelter]}]"] if ran.shelter in _SHELTERS else []


def _headline(ran: Ran) -> str:
    ending = ran.ending
    if ending.error:
        return f"It could not run: {ending.error}"
    if ending.limit:
        return f"Killed: {_limit(ran)}. Until then:"
    if ran.timed_out:
        return (
            f"Stopped after {ran.seconds_allowed:g} s (the setting command_timeout). "
            "Do not run what waits for input or never ends. Until then:"
        )
    if ending.signal is not None:
        return f"Killed by signal {ending.signal}{f' ({name})' if (name := _signal_name(ending.signal)) else ''}"
    if ending.code is None:
        return "It ended without telling how"
    # A shell tells a signal so; in a sandbox there is always one in between.
    signaled = f" (killed by {name})" if (name := _signal_name(ending.code - 128)) and ran.shelter in _SANDBOXES else ""
    return f"exit code {ending.code}{signaled}"


def _limit(ran: Ran) -> str:
    if ran.ending.limit == "memory":
        return f"it took more than {ran.bounds.memory / (1 << 30):.1f} GB of memory, which is all that a command may"
    return f"it started more than {ran.bounds.processes} processes at once, which is all that a command may"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
