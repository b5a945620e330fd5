"""load_skill: the whole text of a skill, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.messages import JsonObject
from llamagent_server.errors import LlamagentError
from llamagent_server.processes.output import shortened
from llamagent_server.tools.specs import refused, room_for, tool_spec

# The text of a skill by its name; raises UnknownSkill, naming those that there are.
Skills: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class LoadSkill:
    skills: Skills
    kind = ToolKind.READ
    spec = tool_spec("load_skill", "Load a skill.", {"name": "string"})

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        try:
            text = self.skills(str(arguments["name"]))
        except LlamagentError as error:
            return refused(str(error))
        shown, cut = shortened(text, max(400, room_for(context, text) - 100), head_share=1.0)
        return ToolResult(True, shown, truncated=cut)
