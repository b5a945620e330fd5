"""What fits: token estimates calibrated by the server's own counts, the room that is left, and old results elided."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llamagent_server.agent.tokens import NOTHING, Weight, weigh
from llamagent_server.core.events import ContextGauge, Part
from llamagent_server.core.messages import (
    AssistantMessage,
    Json,
    JsonObject,
    Message,
    Reply,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

# Of code, in the tokenizers of today's small models; what is made of digits has one.
CHARS_PER_TOKEN = 3.5
# What a chat template adds around a message: role, separators.
TOKENS_PER_MESSAGE = 6
UNCERTAIN = 0.25  # of what was not counted yet
_TOKENS_PER_CALL = 9  # the marks around it
_SAMPLE = 4000  # characters from either end of a long text
COMPACT_AT = 0.8
ELIDE_TO = 0.6
KEEP_RESULTS = 2
_ELIDED = "[elided to save room; call {name} again if you need it: it was {size} characters]"
_WORTH_ELIDING = 400


def reply_room(num_ctx: int) -> int:
    """Tokens kept free for a reply (`num_predict`): a quarter of the window, from 512 to 4096."""
    return max(512, min(4096, num_ctx // 4))


def message_bytes(message: Message) -> int:
    size = _bytes(message.content)
    if isinstance(message, AssistantMessage):
        size += sum(len(call.name) + _bytes(repr(dict(call.arguments))) + 30 for call in message.tool_calls)
    return size


def _bytes(text: str) -> int:
    # Half of a surrogate pair can come out of a model's JSON.
    return len(text.encode("utf-8", "surrogatepass"))


def _described(tool: ToolSpec) -> JsonObject:
    function: Json = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


@dataclass
class Meter:
    """Counts the tokens of a growing conversation: the server's count of what it has seen, an estimate for the rest.

    `scale` corrects the estimate by what the server counted: its tokenizer may have more words, or fewer.
    """

    scale: float = 1.0
    known_tokens: int = 0
    known_messages: int = 0
    _tools: tuple[tuple[ToolSpec, ...], Weight] = ((), NOTHING)  # the tools that were measured last

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Tokens of a prompt of `messages` and `tools`."""
        if 0 < self.known_messages <= len(messages):
            return self.known_tokens + self.count(messages[self.known_messages :])
        return self.count(messages) + self.tools(tools)

    def at_most(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """As `estimate`, for deciding what fits: what the server has not counted may take more than it seems."""
        tokens = self.estimate(messages, tools)
        counted = self.known_tokens if 0 < self.known_messages <= len(messages) else 0
        return tokens + round((tokens - counted) * UNCERTAIN)

    def count(self, messages: Sequence[Message]) -> int:
        return sum(self._tokens(_weight(message)) + TOKENS_PER_MESSAGE for message in messages)

    def tools(self, tools: Sequence[ToolSpec]) -> int:
        return self._tokens(self._tools_weight(tools))

    def text(self, text: str) -> int:
        return self._tokens(weigh(text))

    def chars(self, text: str, tokens: int) -> int:
        """How many characters of such a text take `tokens`."""
        sample = text if len(text) <= 2 * _SAMPLE else text[:_SAMPLE] + text[-_SAMPLE:]
        return int(tokens * len(sample) / max(1, self.text(sample)))

    def observe(self, sent: Sequence[Message], tools: Sequence[ToolSpec], reply: Reply) -> None:
        """Learn from a reply to the prompt of `sent` and `tools`. Some servers count only what was not cached: a count
        below half of the estimate is not believed."""
        prompt = reply.usage.prompt_tokens
        if not prompt or prompt < self.estimate(sent, tools) // 2:
            return
        weights = [self._tools_weight(tools), *map(_weight, sent)]
        digits, rest = sum(weight.digits for weight in weights), sum(weight.rest for weight in weights)
        self.scale = min(2.0, max(0.5, (prompt - TOKENS_PER_MESSAGE * len(sent) - digits) / max(1.0, rest)))
        self.known_tokens = prompt
        self.known_messages = len(sent)

    def forget(self) -> None:
        """The conversation was rewritten: what the server counted is no longer a part of it."""
        self.known_tokens = self.known_messages = 0

    def _tools_weight(self, tools: Sequence[ToolSpec]) -> Weight:
        """They are the same at each step, and describing them takes longer than all else here."""
        if self._tools[0] != tuple(tools):
            # Chat templates put them there as JSON.
            described = "\n".join(json.dumps(_described(tool)) for tool in tools)
            self._tools = (tuple(tools), weigh(described))
        return self._tools[1]

    def _tokens(self, weight: Weight) -> int:
        return round(weight.digits + weight.rest * self.scale)


def _weight(message: Message) -> Weight:
    weight = weigh(message.content)
    if isinstance(message, AssistantMessage) and message.tool_calls:
        calls = [weigh(f"{call.name} {json.dumps(dict(call.arguments))}") for call in message.tool_calls]
        weight = Weight(
            weight.digits + sum(call.digits for call in calls),
            weight.rest + sum(call.rest + _TOKENS_PER_CALL for call in calls),
        )
    return weight


@dataclass(frozen=True, slots=True)
class Window:
    """`num_ctx` and the room in it for a prompt, in tokens."""

    num_ctx: int

    @property
    def prompt_limit(self) -> int:
        return self.num_ctx - reply_room(self.num_ctx)

    @property
    def compact_at(self) -> int:
        """Where a compaction starts: at 80 % of the window, or where the reply would no longer fit."""
        return min(int(self.num_ctx * COMPACT_AT), self.prompt_limit)


def gauge(meter: Meter, window: Window, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> ContextGauge:
    """What fills the window, by category; the parts are scaled so that they add up to the total."""
    total = meter.estimate(messages, tools)
    raw = {
        "system": meter.count([m for m in messages if isinstance(m, SystemMessage)]),
        "tools": meter.tools(tools),
        "conversation": meter.count([m for m in messages if isinstance(m, UserMessage | AssistantMessage)]),
        "tool results": meter.count([m for m in messages if isinstance(m, ToolMessage)]),
    }
    scale = total / max(1, sum(raw.values()))
    parts = [Part(name, round(tokens * scale)) for name, tokens in raw.items()]
    parts[2] = replace(parts[2], tokens=parts[2].tokens + total - sum(part.tokens for part in parts))
    estimated = not 0 < meter.known_messages == len(messages)
    return ContextGauge(total, window.num_ctx, estimated, tuple(parts))


def elide(messages: Sequence[Message], keep: int = KEEP_RESULTS) -> tuple[Message, ...]:
    """The conversation with all long tool results but the last `keep` replaced by a line that says how to get them
    again. One deep cut is cheaper than many: each costs the server its cached prefix."""
    results = [index for index, message in enumerate(messages) if isinstance(message, ToolMessage)]
    old = set(results[:-keep] if keep else results)
    return tuple(_elided(message) if index in old else message for index, message in enumerate(messages))


def _elided(message: Message) -> Message:
    if not isinstance(message, ToolMessage) or len(message.content) < _WORTH_ELIDING:
        return message
    return replace(message, content=_ELIDED.format(name=message.name, size=len(message.content)))


def result_chars(left: int, num_ctx: int) -> int:
    """How many characters a tool's result may have at most when `left` tokens are free: a quarter of the window."""
    return int(max(250, min(left - 200, num_ctx // 4)) * CHARS_PER_TOKEN)
