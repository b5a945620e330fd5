"""The runner of the model's commands: the settings, the project's environment, the sandbox, the system's shell."""

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from llamagent_server.agent.ports import CommandPlace
from llamagent_server.core.history import changes_history
from llamagent_server.processes.box import Box, Reach
from llamagent_server.processes.child import Bounds, Ending
from llamagent_server.processes.commands import Ran, Shelter, run, shell_argv
from llamagent_server.processes.environment import command_environment
from llamagent_server.processes.homes import boxed_environment
from llamagent_server.processes.memory import total_memory
from llamagent_server.processes.sandbox import NoSandbox, Sandbox, find_sandbox
from llamagent_server.processes.threads import off_loop
from llamagent_server.settings import SandboxPolicy, Settings

# What a command and all that it starts may take together.
MOST_PROCESSES = 500
_SMALLEST_MEMORY = 1 << 30
OFF = NoSandbox("The setting sandbox is off.")


class ShellRunner:
    """Runs what somebody has already said yes to. `settings` gives those in force at that moment; `reach` what may be
    written, given whether the command is one that changes a repository's history."""

    def __init__(self, settings: Callable[[], Settings], reach: Callable[[bool], Awaitable[Reach]]) -> None:
        self._settings = settings
        self._reach = reach
        self._told = False

    async def place(self) -> CommandPlace:
        """How a command would run now. That there is no sandbox is a notice for the person, once."""
        sandbox = await self._sandbox(await self._reach(False))
        if not isinstance(sandbox, NoSandbox):
            return CommandPlace(sandboxed=True)
        if self._settings().sandbox is SandboxPolicy.ON:
            words = f"Commands do not run: the setting sandbox is on, and there is none. {sandbox.why} {sandbox.hint}"
            return CommandPlace(sandboxed=False, refusal=words.rstrip())
        tells = not self._told and sandbox is not OFF
        self._told = True
        words = f"Commands run without a sandbox. {sandbox.why} {sandbox.hint}".rstrip()
        return CommandPlace(sandboxed=False, notice=words if tells else "")

    async def run(self, command: str, folder: Path, *, network: bool) -> Ran:
        settings = self._settings()
        hidden = [settings.api_key_env] if settings.api_key_env else []
        env = command_environment(folder, base=os.environ, hidden=hidden)
        bounds = Bounds(_memory_bound(), MOST_PROCESSES)
        reach = await self._reach(changes_history(command))
        sandbox = await self._sandbox(reach)
        argv = shell_argv(command)
        if isinstance(sandbox, NoSandbox):
            if settings.sandbox is SandboxPolicy.ON:
                return Ran(Ending(error=sandbox.why), "", timed_out=False, seconds_allowed=settings.command_timeout)
            ran = await run(argv, cwd=folder, env=env, timeout=settings.command_timeout, bounds=bounds)
            return replace(ran, shelter=Shelter.NONE)
        env = boxed_environment(env)
        box = Box(
            Path(os.path.realpath(folder)),
            reach.folders,
            reach.read_only,
            reach.writable,
            hidden=tuple(Path(os.path.realpath(path)) for path in [os.environ.get("LLAMAGENT_HOME")] if path),
            network=network,
        )
        bounds = replace(bounds, reports=sandbox.reports)
        ran = await run(
            sandbox.argv(argv, box, env), cwd=folder, env=env, timeout=settings.command_timeout, bounds=bounds
        )
        return replace(ran, shelter=Shelter.SANDBOX_WITH_NETWORK if network else Shelter.SANDBOX)

    async def _sandbox(self, reach: Reach) -> Sandbox | NoSandbox:
        if self._settings().sandbox is SandboxPolicy.OFF:
            return OFF
        return await off_loop(lambda _: find_sandbox(reach.folders, os.environ))


def _memory_bound() -> int:
    """Half of what the machine has; 0 where nobody can tell, and where nothing holds a command to it."""
    total = None if sys.platform == "win32" else total_memory()
    return 0 if total is None else max(_SMALLEST_MEMORY, total // 2)
