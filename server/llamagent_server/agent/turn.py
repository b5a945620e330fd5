"""What a turn is about, and what is counted within it: steps, tokens, changes, and what repeats itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from llamagent_server.agent.repeats import Repeats
from llamagent_server.core.events import TurnUsage
from llamagent_server.core.messages import Usage
from llamagent_server.core.policy import Mode
from llamagent_server.settings import Settings


@dataclass(frozen=True, slots=True)
class Ask:
    """What a turn is about: `text` is what the model gets, `shown` what the person typed, `files` what went along.
    `notices` are told when it begins."""

    text: str
    shown: str
    files: tuple[str, ...] = ()
    mode: Mode = Mode.AGENT
    notices: tuple[str, ...] = ()


def together(asks: Sequence[Ask], mode: Mode) -> Ask:
    """Several asks as one. What they had to tell is told already."""
    text = "\n\n".join(ask.text for ask in asks)
    shown = "\n\n".join(ask.shown for ask in asks)
    files = tuple(dict.fromkeys(file for ask in asks for file in ask.files))
    return Ask(text, shown, files, mode)


@dataclass
class TurnState:
    """`changes` counts accepted edits and commands that ran, `stalls` the replies that only talked; `stop` is why the
    turn ends after this step."""

    id: str
    mode: Mode
    settings: Settings
    begun: float
    steps: int = 0
    usage: TurnUsage = field(default_factory=TurnUsage)
    changes: int = 0
    edits_tried: int = 0
    edits_made: int = 0
    commands_run: int = 0
    stalls: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    steering: list[Ask] = field(default_factory=list)
    stop: "Stop | None" = None

    def spend(self, usage: Usage, estimated_prompt: int, estimated_reply: int) -> None:
        """Add one request; estimates stand in where the server did not count."""
        cached = usage.cached_prompt_tokens
        self.usage = replace(
            self.usage,
            prompt_tokens=self.usage.prompt_tokens + (usage.prompt_tokens or estimated_prompt),
            completion_tokens=self.usage.completion_tokens + (usage.completion_tokens or estimated_reply),
            requests=self.usage.requests + 1,
            seconds=round(self.usage.seconds + usage.seconds, 3),
            cached_prompt_tokens=self.usage.cached_prompt_tokens
            if cached is None
            else (self.usage.cached_prompt_tokens or 0) + cached,
        )

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.completion_tokens


@dataclass(frozen=True, slots=True)
class Stop:
    """The turn ends after this step. `refused`: the person chose so; else `words` say why the harness did."""

    words: str
    refused: bool = False


def nothing_spent(_usage: Usage, _prompt: int, _reply: int) -> None:
    """Outside a turn nobody counts."""
