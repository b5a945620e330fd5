"""Which model fits this machine: a short table of models that were tried with tools, by what they need."""

from collections.abc import Sequence
from dataclasses import dataclass

from llamagent_server.agent.ports import ModelInfo


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`size` is the download in bytes, about; `memory` is what the machine should have, in bytes; `present`: the server
    has it already."""

    name: str
    size: int
    memory: int
    present: bool = False


_GB = 1_000_000_000
# The largest first. What each needs: its weights, the context of 8192 tokens, and room for an editor beside it.
TRIED: tuple[Suggestion, ...] = (
    Suggestion("qwen3.5:9b", int(6.6 * _GB), 15 * _GB),
    Suggestion("qwen3.5:4b", int(3.4 * _GB), 7 * _GB),
    Suggestion("qwen3.5:2b", int(2.7 * _GB), 5 * _GB),
    Suggestion("qwen3.5:0.8b", _GB, 0),
)
USUAL = "qwen3.5:4b"


def suggested(memory: int | None, models: Sequence[ModelInfo]) -> Suggestion:
    """The model to take: of those that fit the largest that is there already, else the usual one or what fits better.

    `memory` in bytes, None: unknown.
    """
    there = {model.name for model in models if model.remote_host is None}
    fitting = [row for row in TRIED if memory is None or row.memory <= memory]
    for row in fitting:
        if row.name in there:
            return Suggestion(row.name, row.size, row.memory, present=True)
    return next((row for row in fitting if row.name == USUAL), fitting[0])


def known_size(name: str) -> int | None:
    """How large the download is, where the name is one of the table; in bytes."""
    return next((row.size for row in TRIED if row.name == name), None)
