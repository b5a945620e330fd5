"""A model that goes round in circles: calls that came before with nothing changed since, edits of a file that fail in a
row, commands that say the same, commands that the person refused."""

import json
from collections.abc import Hashable
from dataclasses import dataclass, field

from llamagent_server.agent.ports import ToolResult
from llamagent_server.core.messages import ToolCall

IN_A_ROW = 3  # times that the same call comes stop the turn
CIRCLE = 3  # repeated calls without a new one between stop it too: the calls take turns
FAILED_EDITS = 4  # of one file in a row
SAME_OUTPUTS = 5  # of one command in a row, with no edit made between


@dataclass(frozen=True, slots=True)
class Again:
    """A call that came before, with its `result`. `in_a_row`: how often without another between, this time included;
    `circle`: the tools of the repeated calls since the last new one."""

    in_a_row: int
    circle: tuple[str, ...]
    result: ToolResult

    @property
    def enough(self) -> bool:
        return self.in_a_row >= IN_A_ROW or len(self.circle) >= CIRCLE

    @property
    def words(self) -> str:
        if self.in_a_row >= IN_A_ROW:
            return f"the model made the same call ({self.circle[-1]}) {self.in_a_row} times in a row"
        return f"the model goes round in circles ({', '.join(self.circle)})"


@dataclass
class Repeats:
    """Of one turn."""

    _stamp: Hashable = None
    _results: dict[str, ToolResult] = field(default_factory=dict)
    _last: str = ""
    _in_a_row: int = 0
    _circle: list[str] = field(default_factory=list)
    _failed_edits: dict[str, int] = field(default_factory=dict)
    _outputs: dict[str, tuple[str, int]] = field(default_factory=dict)
    _refused: dict[str, int] = field(default_factory=dict)

    def again(self, call: ToolCall, stamp: Hashable) -> Again | None:
        """Note `call`; None where it is new. `stamp` moves when anything has changed, and then every call is new."""
        if stamp != self._stamp:
            self._stamp = stamp
            self._results.clear()
        key = _key(call)
        earlier = self._results.get(key)
        self._in_a_row = self._in_a_row + 1 if key == self._last and earlier is not None else 1
        self._last = key
        if earlier is None:
            self._circle.clear()
            return None
        self._circle.append(call.name)
        return Again(self._in_a_row, tuple(self._circle), earlier)

    def keep(self, call: ToolCall, result: ToolResult) -> None:
        """The first result of a call that was noted, for when it comes again."""
        self._results.setdefault(_key(call), result)

    def edit_failed(self, path: str) -> int:
        """How often in a row no place was found for an edit of `path`, this time included."""
        self._failed_edits[path] = self._failed_edits.get(path, 0) + 1
        return self._failed_edits[path]

    def edit_found(self, path: str) -> None:
        self._failed_edits.pop(path, None)

    def ran(self, command: str, output: str, edits_made: int) -> int:
        """How often in a row `command` gave the same `output`, this time included, with no edit made between."""
        seen = f"{edits_made} {output}"
        before, times = self._outputs.get(command, ("", 0))
        times = times + 1 if before == seen else 1
        self._outputs[command] = (seen, times)
        return times

    def refused(self, command: str) -> None:
        """The person refused `command`."""
        self._refused.setdefault(command, 0)

    def was_refused(self, command: str) -> bool:
        return command in self._refused

    def asked_again(self, command: str) -> int:
        """How often a refused command was asked for since, this time included."""
        self._refused[command] = self._refused.get(command, 0) + 1
        return self._refused[command]


def _key(call: ToolCall) -> str:
    return json.dumps([call.name, dict(call.arguments), call.problem], sort_keys=True)
