"""Files with keys in them: the person is asked once for each before the model sees what is in it."""

import asyncio
from collections.abc import Awaitable, Callable

from llamagent_server.core.secrets import secret
from llamagent_server.workspace import ProjectWorkspace, Purpose, Resolved

REFUSED = (
    "{path} may hold keys or passwords, and the user does not let you see it. Do without it: say what should be "
    "changed in it, or ask for the values that you need."
)


class SecretFiles:
    """What the person said, for the time of the connection. `ask` asks whether a path may be shown to the model."""

    def __init__(self, workspace: ProjectWorkspace, ask: Callable[[str], Awaitable[bool]]) -> None:
        self._workspace = workspace
        self._ask = ask
        self._answers: dict[str, bool] = {}
        self._asking = asyncio.Lock()

    async def refusal(self, path: str) -> str | None:
        """Why the model may not see the file that `path` names; None where it may. By whatever link it is named, what
        it leads to counts."""
        found = await self._workspace.resolve(path, Purpose.READ)
        if isinstance(found, Resolved):
            parts, name = found.parts, found.path
        elif self._workspace.folders:
            return None  # there is nothing to be seen
        else:
            parts, name = tuple(path.replace("\\", "/").split("/")), path
        if not secret(parts):
            return None
        async with self._asking:  # one file may be named twice at once
            if name not in self._answers:
                self._answers[name] = await self._ask(name)
        return None if self._answers[name] else REFUSED.format(path=name)
