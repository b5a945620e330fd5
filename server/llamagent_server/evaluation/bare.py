"""The daemon without some of its recoveries, for measuring what each adds: no setting of the product can do this.

`python -m llamagent_server.evaluation.bare text_calls,nudges serve --stdio ...`
"""

import runpy
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum


class Recovery(StrEnum):
    """What the harness does for a weak model."""

    TEXT_CALLS = "text_calls"  # calls written as text are calls
    SPELLING = "spelling"  # names that models know from other agents are ours
    TOLERANT_EDITS = "tolerant_edits"  # an edit finds its place in spite of blanks, line numbers, quotes
    NUDGES = "nudges"  # a reply of which nothing can be made is answered with what was wrong


def without(recoveries: tuple[Recovery, ...]) -> None:
    """Take `recoveries` out of this process."""
    for recovery in recoveries:
        _TAKEN_OUT[recovery]()


def _no_text_calls() -> None:
    from llamagent_server.providers.reply import ReplyBuilder

    _replace(ReplyBuilder, "_recovered", lambda _, whole: whole)


def _no_spelling() -> None:
    from llamagent_server.agent import request

    _replace(request, "canonical", lambda call, *_: call)


def _no_tolerance() -> None:
    from llamagent_server.core import edits

    _replace(edits, "tolerant_places", lambda *_: [])


def _no_nudges() -> None:
    from llamagent_server.agent import loop

    _replace(loop, "nudge_for", lambda _: None)
    _replace(loop, "stall_in", lambda *_: None)


def _replace(owner: object, name: str, by: Callable[..., object]) -> None:
    """Raises AttributeError where nothing of that name would be replaced: then nothing would be measured either."""
    getattr(owner, name)
    setattr(owner, name, by)


_TAKEN_OUT: Mapping[Recovery, Callable[[], None]] = {
    Recovery.TEXT_CALLS: _no_text_calls,
    Recovery.SPELLING: _no_spelling,
    Recovery.TOLERANT_EDITS: _no_tolerance,
    Recovery.NUDGES: _no_nudges,
}


if __name__ == "__main__":
    without(tuple(Recovery(name) for name in sys.argv[1].split(",")))
    sys.argv[1:] = sys.argv[2:]
    runpy.run_module("llamagent_server", run_name="__main__", alter_sys=True)
