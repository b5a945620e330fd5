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
        self._answers: dict[str, bool] = {}  # by the full path: a yes is for no other folder's file of that name
        self._asking = asyncio.Lock()

    async def refusal(self, path: str) -> str | None:
        """Why the model may not see the file that `path` names; None where it may. By whatever link it is named, what
        it leads to counts."""
        if await self._secret(path) is None:
            return None
        async with self._asking:  # one file may be named twice at once
            while (found := await self._secret(path)) is not None:
                name, real = found
                if real in self._answers:
                    return None if self._answers[real] else REFUSED.format(path=name)
                self._answers[real] = await self._ask(name)  # meanwhile another folder may be opened
        return None

    async def _secret(self, path: str) -> tuple[str, str] | None:
        """How the file that `path` names is called, and its full path, if it is one that holds keys."""
        found = await self._workspace.resolve(path, Purpose.READ)
        if isinstance(found, Resolved):
            return (found.path, str(found.real)) if secret(found.parts) else None
        real = self._workspace.unfiled(path)
        return (path, str(real)) if real is not None and secret(real.parts) else None
