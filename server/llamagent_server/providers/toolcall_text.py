"""Calls that a model wrote as text, found when its reply is whole: calls, no call, or one that nobody can read.

A call is what a reply ends with: one block of calls, or several with nothing said between them. Everything else that
looks like one is an example, a quotation or data, and stays text. Pure; textcalls/ knows the forms.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from llamagent_server.core.messages import ToolSpec
from llamagent_server.providers.textcalls.blocks import Block, Blocks
from llamagent_server.providers.textcalls.channels import split_channels
from llamagent_server.providers.textcalls.objects import TextCall, Tools
from llamagent_server.providers.textcalls.tokens import FILLER, PARTIAL
from llamagent_server.providers.textcalls.values import Unreadable

_PARTIAL_CHARS = 60
CUT = (
    "Your reply was cut by the length limit inside a tool call, so nothing was run. Make the call shorter: write or"
    " change the file in smaller parts."
)


@dataclass(frozen=True, slots=True)
class Recovered:
    """`content` and `thinking` are what is left without the calls; `source` is the text that they were read from."""

    calls: tuple[TextCall, ...]
    content: str
    thinking: str
    source: str


@dataclass(frozen=True, slots=True)
class NotACall:
    """`problem`: what to tell the model nevertheless, since it named a tool that it does not have."""

    content: str
    thinking: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A call was meant and nothing may be made of it. `message`: one line for the model."""

    message: str


Outcome: TypeAlias = Recovered | NotACall | Malformed


def recover(content: str, thinking: str, specs: Sequence[ToolSpec], *, cut: bool) -> Outcome:
    """What a reply means that came without calls of the server's own.

    `cut`: the length limit ended it, so that nothing in it is a call. The thinking counts only where the content is
    blank and the thinking ends with a call.
    """
    tools = Tools(specs)
    hidden, said = split_channels(content)
    thinking = "\n\n".join(part for part in (thinking, hidden) if part)
    outcome = _read(said, thinking, tools, cut=cut)
    if said.strip() or not thinking.strip() or not isinstance(outcome, NotACall):
        return outcome
    thought = _read(thinking, "", tools, cut=False)
    if not isinstance(thought, Recovered):
        return outcome
    return Malformed(CUT) if cut else Recovered(thought.calls, "", thought.content, thought.source)


def _read(text: str, thinking: str, tools: Tools, *, cut: bool) -> Outcome:
    run = _last_blocks(text, Blocks(text, tools, cut=cut))
    strangers = [call.name for block in run for call in block.calls if not tools.declares(call.name)]
    if strangers:
        return NotACall(text, thinking, _no_such_tool(strangers[0], tools))
    if cut and (run or PARTIAL.search(text, max(0, len(text) - _PARTIAL_CHARS))):
        return Malformed(CUT)
    if not run:
        return NotACall(text, thinking)
    if (problem := next((block.problem for block in run if block.problem), None)) is not None:
        return Malformed(_unreadable(problem))
    try:
        calls = tuple(tools.settled(call) for block in run for call in block.calls)
    except Unreadable as fault:
        return Malformed(_unreadable(str(fault)))
    source = text[run[0].start : run[-1].end]
    return Recovered(calls, text[: run[0].start].rstrip(), thinking, source)


def _last_blocks(text: str, blocks: Blocks) -> list[Block]:
    """The blocks that the text ends with, up to the first result that the model invented."""
    run: list[Block] = []
    end = len(text)
    for block in reversed(list(blocks)):
        filler = FILLER.match(text, block.end)
        if filler is None or filler.end() < end or not (block.calls or block.problem or block.invented):
            break
        run.insert(0, block)
        end = block.start
    while run and run[0].invented:
        run.pop(0)
    invented = next((index for index, block in enumerate(run) if block.invented), len(run))
    return run[:invented]


def _unreadable(reason: str) -> str:
    return (
        f"What looks like a tool call in your reply could not be read: {reason}. Nothing was run; call the tool again."
    )


def _no_such_tool(name: str, tools: Tools) -> str:
    short = re.sub(r"\s+", " ", name)[:60]
    return f"There is no tool {short!r}, so nothing was run. The tools are: {', '.join(tools.names)}."
