"""The tools: one row each."""

from collections.abc import Callable
from dataclasses import dataclass

from llamagent_server.agent.ports import Tool
from llamagent_server.tools.edit_file import EditFile
from llamagent_server.tools.list_files import ListFiles
from llamagent_server.tools.load_skill import LoadSkill, Skills
from llamagent_server.tools.read_file import ReadFile
from llamagent_server.tools.run_command import RunCommand, Runner
from llamagent_server.tools.search_text import SearchText
from llamagent_server.tools.write_file import WriteFile
from llamagent_server.workspace import ProjectWorkspace


@dataclass(frozen=True, slots=True)
class Means:
    """What a tool may need."""

    workspace: ProjectWorkspace
    runner: Runner
    skills: Skills


TOOLS: tuple[Callable[[Means], Tool], ...] = (
    lambda means: ListFiles(means.workspace),
    lambda means: ReadFile(means.workspace),
    lambda means: SearchText(means.workspace),
    lambda means: WriteFile(means.workspace),
    lambda means: EditFile(means.workspace),
    lambda means: RunCommand(means.workspace, means.runner),
    lambda means: LoadSkill(means.skills),
)


def make_tools(workspace: ProjectWorkspace, runner: Runner, skills: Skills) -> tuple[Tool, ...]:
    """The tools of one connection, in the order in which the model is told of them."""
    means = Means(workspace, runner, skills)
    return tuple(make(means) for make in TOOLS)
