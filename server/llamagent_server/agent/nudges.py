"""What the model is told when nothing can be made of its reply, and answers that came in parts."""

from dataclasses import dataclass

from llamagent_server.agent.request import Step
from llamagent_server.core.messages import Finish

EMPTY = "Your reply was empty; if it was a tool call, it was lost. Call the tool again, or answer in words."
ONLY_THOUGHT = "You thought, but said nothing. Now call a tool, or answer in words."
THOUGHT_TOO_LONG = "You thought until the reply was full, and said nothing. Think briefly, then call a tool or answer."
CUT = "Your reply was cut because it was too long. Do it in smaller steps: one short tool call or a short answer."
GO_ON = "Your answer was cut by the length limit. Go on exactly where it stopped; repeat nothing."
LEAST_PART = 200  # characters of an answer that are worth going on with
_OVERLAP = 200
_LEAST_OVERLAP = 12


@dataclass(frozen=True, slots=True)
class Nudge:
    """`text` is what the model is told. `lost`: a tool call seems to be lost, so that another road may help; `goes_on`:
    the reply is a part of an answer."""

    text: str
    lost: bool = False
    goes_on: bool = False

    @property
    def hint(self) -> str:
        """What the person can do when it keeps happening."""
        if self.text == THOUGHT_TOO_LONG:
            return "Set `think` to false, raise num_ctx, or try another model."
        return "Say it in other words, or try another model."


def nudge_for(step: Step) -> Nudge | None:
    """None for a reply that calls tools or answers."""
    reply = step.reply
    said = reply.content.strip()
    if step.problem is not None:
        return Nudge(step.problem, lost=True)
    if reply.finish is Finish.LENGTH:
        if len(said) >= LEAST_PART:
            return Nudge(GO_ON, goes_on=True)
        return Nudge(CUT if said or not reply.thinking else THOUGHT_TOO_LONG)
    if not said and not reply.tool_calls:
        return Nudge(ONLY_THOUGHT) if reply.thinking else Nudge(EMPTY, lost=True)
    return None


def joined(first: str, second: str) -> str:
    """An answer of two parts. What the second repeats of the end of the first is left out."""
    if not first:
        return second
    for size in range(min(_OVERLAP, len(first), len(second)), _LEAST_OVERLAP - 1, -1):
        if first.endswith(second[:size]):
            return first + second[size:]
    return first + second
