"""Pieces of a fake daemon's script, and the fixture-like class that runs the client on it."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.terminal.terminals import Terminal, environment, piped

Step = dict[str, Any]


def event(kind: str, **more: Any) -> Step:
    return {"event": {"kind": kind, **more}}


def say(text: str) -> Step:
    return event("model.delta", channel="content", text=text)


def replied(content: str = "", **calls: tuple[str, dict[str, Any]]) -> Step:
    """`calls`: id -> (name, arguments)."""
    listed = [{"id": id_, "name": name, "arguments": arguments} for id_, (name, arguments) in calls.items()]
    return event("model.replied", content=content, toolCalls=listed)


def edit(file: Path, new: str, *, line: int = 0, start: int = 0, end: int = 0) -> Step:
    places = [{"line": line, "character": character} for character in (start, end)]
    change = {"range": {"start": places[0], "end": places[1]}, "newText": new}
    operation = {"textDocument": {"uri": file.as_uri(), "version": None}, "edits": [change]}
    return {"ask": "workspace/applyEdit", "params": {"edit": {"documentChanges": [operation]}}}


def consent(command: str, cwd: str = "/proj") -> Step:
    params = {"call": "c1", "command": command, "cwd": cwd, "sandboxed": False, "network": True}
    return {"ask": "llamagent/consent", "params": params}


def ended(reason: str = "answered", answer: str = "") -> list[Step]:
    return [
        event("turn.ended", stopReason=reason, answer=answer, steps=1, usage={}, seconds=0.5),
        {"result": {"answer": answer, "session": "s", "turn": "t", "stopReason": reason, "steps": 1, "usage": {}}},
    ]


class Stage:
    """A project folder, a home, and the client on a scripted daemon."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "proj"
        self.home = tmp_path / "home"
        self.folder.mkdir()
        self.home.mkdir()
        self._script = tmp_path / "script.json"
        self._log = tmp_path / "log.jsonl"
        self.env = environment(self.home, FAKE_DAEMON_LOG=str(self._log))

    def piped(self, script: list[Step], *flags: str, ask: str = "do it") -> subprocess.CompletedProcess[str]:
        return piped(self.arguments(script, "ask", ask, *flags), self.env)

    def terminal(self, script: list[Step], *arguments: str, **more: int) -> Terminal:
        return Terminal(self.arguments(script, *(arguments or ("ask", "do it"))), self.env, **more)

    def arguments(self, script: list[Step], *arguments: str) -> list[str]:
        self._script.write_text(json.dumps(script), "utf-8")
        return [str(self.folder), str(self._script), *arguments]

    @property
    def sent(self) -> list[dict[str, Any]]:
        """What the client sent."""
        return [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]

    @property
    def answers(self) -> list[Any]:
        """The client's results for what it was asked."""
        return [message["result"] for message in self.sent if "result" in message]
