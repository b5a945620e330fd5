"""Worked examples for models without tools: they show the form of a step, and that work is done before it is told of.

Which they are and how they are worded was tried with SmolLM2-135M-Instruct at temperature 0: with fewer it answers
instead of acting, and with these each word of a right `print("Hello")` is at least twice as likely as any other. That
margin counts: the same model gives slightly other numbers on another processor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from llamagent_server.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolSpec, UserMessage


@dataclass(frozen=True, slots=True)
class Example:
    """`steps` are a tool, its arguments and its result."""

    task: str
    steps: tuple[tuple[str, dict[str, str], str], ...]
    answer: str

    def messages(self, tools: Sequence[ToolSpec]) -> list[Message]:
        """The conversation; none where a tool is used that is not among `tools`."""
        if not {name for name, _, _ in self.steps} <= {tool.name for tool in tools}:
            return []
        made: list[Message] = [UserMessage(self.task, task=False)]
        for name, arguments, result in self.steps:
            made += [AssistantMessage("", (ToolCall("", name, dict(arguments)),)), ToolMessage("", name, result)]
        return [*made, AssistantMessage(self.answer)]


def _written_and_run(path: str, what: str, code: str, output: str) -> Example:
    return Example(
        f"Create {path} that prints {what}, then run it",
        (
            ("write_file", {"path": path, "content": code}, f"Created {path} (+1 -0). The user accepted it."),
            ("run_command", {"command": f"python {path}"}, f"exit code 0\n{output}"),
        ),
        f"Done. {path} printed {output}.",
    )


EXAMPLES = (
    _written_and_run("bye.py", "Bye", 'print("Bye")\n', "Bye"),
    Example("What does a.txt say?", (("read_file", {"path": "a.txt"}, "a.txt (1 lines)\nblue\n"),), "It says blue."),
    _written_and_run("hi.py", "Hi", 'print("Hi")\n', "Hi"),
)
