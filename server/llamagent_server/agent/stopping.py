"""The harness ends a turn that leads nowhere: said in the trace, and to the person with what they can do."""

from llamagent_server.agent.session import Session
from llamagent_server.agent.turn import Stop, TurnState
from llamagent_server.core.events import Decision, HarnessDecided

ASK_INSTEAD = "Say what it should do instead, or give it what it is missing."


def stopped(words: str) -> Stop:
    return Stop(f"Stopped: {words}. {ASK_INSTEAD}")


def stop_turn(session: Session, turn: TurnState, words: str) -> None:
    """End the turn after this step, for the reason in `words`."""
    session.trace.emit(HarnessDecided(Decision.STOP, words))
    turn.stop = stopped(words)
