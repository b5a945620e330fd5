"""run_command: a shell command in the project's folder. Whether it may run was decided before it is called."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.messages import JsonObject
from llamagent_server.processes.commands import Ran
from llamagent_server.processes.output import shortened
from llamagent_server.tools.specs import refused, tool_spec, unusable
from llamagent_server.workspace import ProjectWorkspace

_FRAME = 200
_SMALLEST = 400


class Runner(Protocol):
    async def run(self, command: str, folder: Path, *, network: bool) -> Ran:
        """Run it in `folder`; whatever happens it has ended when this returns or is cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class RunCommand:
    workspace: ProjectWorkspace
    runner: Runner
    kind = ToolKind.COMMAND
    spec = tool_spec("run_command", "Run a shell command in the project folder.", {"command": "string"})

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
        return told(ran, max(_SMALLEST, context.max_chars - _FRAME))


def told(ran: Ran, room: int) -> ToolResult:
    """How it ended first, then what it wrote; of a failed command rather the end, where the error stands."""
    ok = ran.ending.code == 0 and not ran.timed_out
    output, cut = shortened(ran.output.strip("\n"), room, head_share=0.4 if ok else 0.15)
    notes = []
    if ran.ending.left:
        notes.append(f"[{ran.ending.left} processes that it had left running were ended with it]")
    return ToolResult(ok, "\n".join([_headline(ran), output or "(no output)", *notes]), truncated=cut)


def _headline(ran: Ran) -> str:
    ending = ran.ending
    if ending.error:
        return f"It could not run: {ending.error}"
    if ran.timed_out:
        return (
            f"Stopped after {ran.seconds_allowed:g} s (the setting command_timeout). "
            "Do not run what waits for input or never ends. Until then:"
        )
    if ending.signal is not None:
        return f"Killed by signal {ending.signal}{_signal_name(ending.signal)}"
    if ending.code is None:
        return "It ended without telling how"
    return f"exit code {ending.code}"


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
