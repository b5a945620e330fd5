"""A reply as it grows: pieces in, Deltas out, at the end the whole Reply."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from llamagent_server.agent.ports import ChatRequest, Delta
from llamagent_server.core.events import Channel
from llamagent_server.core.messages import Finish, Latency, Reply, ToolCall, Usage
from llamagent_server.errors import ModelFailed
from llamagent_server.providers.repetition import Repetition, without_repetition
from llamagent_server.providers.thinking import ThinkSplitter, split_orphan
from llamagent_server.providers.toolcalls import ids_in, make_call

REPEATED = (
    "Your reply said the same over and over, so it was cut off. Do not repeat yourself: call one tool, or answer in a "
    "few words."
)
# No tokenizer needs this many characters a token on average; beyond it the server ignores the limit it was given.
_CHARS_PER_TOKEN = 20
_CHARS_ALWAYS = 10_000


class ReplyBuilder:
    """One request's reply. Raises ModelFailed when it grows far beyond what `num_predict` allows."""

    def __init__(self, request: ChatRequest, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._started = clock()
        self._request = request
        self._first: float | None = None
        self._inline = ThinkSplitter()
        self._texts = {Channel.CONTENT: _Text(), Channel.THINKING: _Text()}
        self._calls: list[ToolCall] = []
        self._repeats = {channel: Repetition() for channel in Channel}
        self._taken = ids_in(request.messages)
        self._num_predict = request.options.num_predict
        self._room = request.options.num_predict * _CHARS_PER_TOKEN + _CHARS_ALWAYS

    @property
    def text(self) -> str:
        """The content so far."""
        return self._texts[Channel.CONTENT].whole

    @property
    def empty(self) -> bool:
        return self._first is None

    @property
    def stuck(self) -> bool:
        """It says the same over and over: nothing more of it is wanted."""
        return any(repetition.period for repetition in self._repeats.values())

    def content(self, text: str) -> list[Delta]:
        self.count(text)
        return self._deltas(self._inline.feed(text))

    def thinking(self, text: str) -> list[Delta]:
        self.count(text)
        return self._deltas([(Channel.THINKING, text)])

    def call(self, call_id: object, name: object, arguments: object) -> None:
        self.count("")
        self._calls.append(make_call(call_id, name, arguments, self._taken))

    def count(self, text: str) -> None:
        """Note text that arrived, shown or not (pieces of a tool call are not)."""
        if self._first is None:
            self._first = self._clock() - self._started
        self._room -= len(text)
        if self._room < 0:
            raise ModelFailed(
                f"The model server sent far more than the {self._num_predict} tokens it was asked for; the reply was"
                " cut off.",
                hint="Try again; if it happens each time, use another model or update the model server.",
            )

    def close(self) -> list[Delta]:
        """What was held back, once no more can come."""
        deltas = self._deltas(self._inline.close())
        return deltas + [Delta(channel, rest) for channel, text in self._texts.items() if (rest := text.close())]

    def reply(self, finish: Finish, usage: Usage) -> Reply:
        """The whole reply; `usage.seconds` is set here. Call `close` first."""
        thinking, content = self._texts[Channel.THINKING].whole, self.text
        if self.stuck:
            finish = Finish.LENGTH
            content = without_repetition(content, self._repeats[Channel.CONTENT].period)
            thinking = without_repetition(thinking, self._repeats[Channel.THINKING].period)
        if not thinking:
            thinking, content = split_orphan(content)
        calls = () if finish is Finish.LENGTH else tuple(self._calls)
        if finish is not Finish.LENGTH:
            finish = Finish.TOOL_CALLS if calls else Finish.STOP
        total = self._clock() - self._started
        counted = Usage(usage.prompt_tokens, usage.completion_tokens, usage.cached_prompt_tokens, total)
        whole = Reply(content, thinking.strip(), calls, finish, counted, Latency(self._first, total))
        if self.stuck:
            return replace(whole, problem=REPEATED)
        return whole if self._calls or not self._request.tools else self._recovered(whole)

    def _recovered(self, whole: Reply) -> Reply:
        # Here and not at the top: many patterns are compiled for it, and start-up is measured.
        from llamagent_server.providers.recovery import with_text_calls

        return with_text_calls(whole, self._request, self._taken)

    def _deltas(self, pieces: Iterable[tuple[Channel, str]]) -> list[Delta]:
        shown = [(channel, self._texts[channel].add(text)) for channel, text in pieces]
        for channel, text in shown:
            self._repeats[channel].feed(text)
        return [Delta(channel, text) for channel, text in shown if text]


class _Text:
    """A text in pieces. A character that JSON wrote as two escapes may come split over two pieces: the first half is
    held back, and a half without its other one is replaced, since it can be neither shown nor sent again."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    @property
    def whole(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str) -> str:
        text, self._held = self._held + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return self._keep(text)

    def close(self) -> str:
        held, self._held = self._held, ""
        return self._keep(held)

    def _keep(self, text: str) -> str:
        if not text.isascii():
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._pieces.append(text)
        return text
