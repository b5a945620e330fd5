"""The runner of the model's commands: the person's settings, the project's environment, the system's shell."""

import os
from collections.abc import Callable
from pathlib import Path

from llamagent_server.processes.commands import Ran, run, shell_argv
from llamagent_server.processes.environment import command_environment
from llamagent_server.settings import Settings


class ShellRunner:
    """Runs what somebody has already said yes to. `settings` gives those in force at that moment."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def run(self, command: str, folder: Path, *, network: bool) -> Ran:  # noqa: ARG002 - for the sandbox
        settings = self._settings()
        hidden = [settings.api_key_env] if settings.api_key_env else []
        env = command_environment(folder, base=os.environ, hidden=hidden)
        return await run(shell_argv(command), cwd=folder, env=env, timeout=settings.command_timeout)
