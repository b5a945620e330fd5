"""Which message may follow which: a conversation that can never become malformed.

state            may be followed by
start            system, user
system           user
user             user, assistant
assistant        user                        (no tool calls)
assistant+calls  tool                        (one result for each call, each once, in any order)
tool             tool, until none is missing; then user, assistant
"""

from collections.abc import Iterable

from llamagent_server.core.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage


class MalformedTranscript(ValueError):
    """A programming error: the caller tried to append a message that the rules above forbid."""


class Transcript:
    """An ordered conversation; `append` refuses what would make it malformed."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._pending: dict[str, ToolCall] = {}
        for message in messages:
            self.append(message)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet, in the order in which the model made them."""
        return tuple(self._pending.values())

    def first(self, count: int) -> tuple[Message, ...]:
        """The first `count` messages; they never change."""
        return tuple(self._messages[:count])

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, message: Message) -> None:
        self._check(message)
        match message:
            case AssistantMessage(tool_calls=calls):
                self._pending = {call.id: call for call in calls}
            case ToolMessage(call_id=call_id):
                del self._pending[call_id]
            case _:
                pass
        self._messages.append(message)

    def _check(self, message: Message) -> None:
        last = self._messages[-1] if self._messages else None
        match message:
            case SystemMessage():
                allowed = last is None
            case UserMessage():
                allowed = not self._pending
            case AssistantMessage(tool_calls=calls):
                allowed = isinstance(last, UserMessage | ToolMessage) and not self._pending
                if len({call.id for call in calls}) != len(calls):
                    raise MalformedTranscript(f"two tool calls share an id: {[call.id for call in calls]}")
            case ToolMessage(call_id=call_id):
                allowed = call_id in self._pending
        if not allowed:
            missing = ", ".join(self._pending) or "none"
            raise MalformedTranscript(
                f"{type(message).__name__} cannot follow {type(last).__name__} (calls without a result: {missing})"
            )
