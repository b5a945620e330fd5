"""What the tools need, as doubles: a runner that only writes down, and a shelf of skills."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from llamagent_server.agent.ports import Tool, ToolContext, ToolResult
from llamagent_server.core.messages import Json
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.errors import UnknownSkill
from llamagent_server.processes.child import Ending
from llamagent_server.processes.commands import Ran
from llamagent_server.tools.base import make_tools
from tests.workspace.projects import Project


@dataclass
class WritingRunner:
    """Obeys `Runner` and runs nothing: it gives `ran` and keeps what it was told to run."""

    ran: Ran = field(default_factory=lambda: Ran(Ending(code=0), "", timed_out=False, seconds_allowed=30))
    asked: list[tuple[str, Path, bool]] = field(default_factory=list)

    async def run(self, command: str, folder: Path, *, network: bool) -> Ran:
        self.asked.append((command, folder, network))
        return self.ran


def skills(name: str) -> str:
    if name != "tests":
        raise UnknownSkill(f"There is no skill {name!r}.", hint="The skills are: tests.")
    return "How to write tests.\n" * 100


class Bench:
    """The seven tools over one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.runner = WritingRunner()
        tools = make_tools(project.workspace, self.runner, skills)
        self.tools: dict[str, Tool] = {tool.spec.name: tool for tool in tools}
        self.pending: tuple[FileChange, ...] = ()
        self.chars: Callable[[str, int], int] | None = None

    async def call(self, name: str, max_chars: int = 8_000, /, **arguments: Json) -> ToolResult | Proposal:
        context = ToolContext("call_1", max_chars, pending=self.pending, chars=self.chars)
        return await self.tools[name].run(arguments, context)

    async def result(self, name: str, max_chars: int = 8_000, /, **arguments: Json) -> ToolResult:
        found = await self.call(name, max_chars, **arguments)
        assert isinstance(found, ToolResult), found
        return found

    async def proposal(self, name: str, max_chars: int = 8_000, /, **arguments: Json) -> Proposal:
        found = await self.call(name, max_chars, **arguments)
        assert isinstance(found, Proposal), found
        return found
