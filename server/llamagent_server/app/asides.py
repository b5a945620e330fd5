"""A command that was typed as an ask: answered as a turn without steps, which is no part of the conversation."""

from dataclasses import dataclass

from llamagent_server.agent.conversations import Conversation
from llamagent_server.agent.results import TurnResult
from llamagent_server.agent.session import Ports
from llamagent_server.core.events import Level, Notice, StopReason, TurnEnded, TurnStarted, TurnUsage


@dataclass(frozen=True, slots=True)
class Aside:
    """`traced`: the trace told it. Where a turn runs it did not: one turn at a time is in a trace."""

    result: TurnResult
    traced: bool


def told(known: Conversation, ports: Ports, typed: str, answer: str) -> Aside:
    """Answer what was `typed`, in the conversation that is now the current one."""
    turn = ports.new_id("turn")
    idle = known.turns.idle
    if idle:
        ended = TurnEnded(StopReason.ANSWERED, answer, 0, TurnUsage(), 0.0)
        started = TurnStarted(typed, ports.settings().model)
        known.session.trace.aside(turn, (started, Notice(Level.INFO, answer), ended))
    return Aside(TurnResult(answer, known.id, turn, StopReason.ANSWERED, 0, TurnUsage()), idle)
