"""Short forms that every tool uses: its description for the model, and results that say no."""

from collections.abc import Mapping

from llamagent_server.agent.context import CHARS_PER_TOKEN
from llamagent_server.agent.ports import ToolContext, ToolResult
from llamagent_server.core.messages import Json, ToolSpec
from llamagent_server.workspace import PathProblem, ProblemKind, ProjectWorkspace


def tool_spec(name: str, description: str, arguments: Mapping[str, str], *, optional: tuple[str, ...] = ()) -> ToolSpec:
    """A specification; `arguments` maps each name to its JSON type. Every word of it is in every request: be short."""
    properties: dict[str, Json] = {argument: {"type": kind} for argument, kind in arguments.items()}
    required: list[Json] = [argument for argument in arguments if argument not in optional]
    # `required` is there even when it is empty: chat templates look into it without asking.
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": required})


def refused(words: str) -> ToolResult:
    return ToolResult(False, words)


def room_for(context: ToolContext, text: str) -> int:
    """How long a result of such a text may be, in characters: digits and signs take more of the context than words."""
    if context.chars is None:
        return context.max_chars
    return min(context.max_chars, context.chars(text, int(context.max_chars / CHARS_PER_TOKEN)))


def unusable(text: str, what: str) -> ToolResult | None:
    """The refusal of a text that no file and no program can be given, None for any other."""
    if "\0" in text:
        return refused(f"{what} contains a NUL character.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        return refused(f"{what} contains half of a character (a lone surrogate).")
    return None


async def problem(found: PathProblem, path: str, workspace: ProjectWorkspace) -> ToolResult:
    """What the model is told of a path that cannot be used; where another file has that name, it is named."""
    if found.kind is not ProblemKind.MISSING:
        return refused(found.message)
    alike = await workspace.alike(path)
    hint = f"There is: {', '.join(alike)}." if alike else "list_files shows what is there."
    return refused(f"{found.message} {hint}")
