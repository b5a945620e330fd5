"""A language server of a few lines that says what a script tells it: for what the real daemon cannot be made to do.

    python tests/neovim/standin.py SCRIPT LOG

SCRIPT is JSON, `{"capabilities": {...}, "commands": [...], "asks": [[step, ...], ...]}`: each `llamagent.ask` plays the
next list of steps. A step is one of
- `{"notify": [method, params]}`, `{"request": [method, params]}` (waits for the answer),
- `{"event": {...}}` (a trace event; session, turn, seq, step and time are filled in),
- `{"flood": [count, per_second, text]}` (that many `model.delta` events),
- `{"sleep": seconds}`, `{"exit": code}`.
Everything that arrives is written to LOG, one JSON object a line.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

COMMANDS = ("ask", "cancel", "trace", "new", "models", "help")


class Standin:
    """One connection; `serve` returns at the end of the stream."""

    def __init__(self, script: dict[str, Any], log: Path) -> None:
        self._script = script
        self._asks: Iterator[list[dict[str, Any]]] = iter(script.get("asks", []))
        self._log = log.open("a", encoding="utf-8")
        self._write_lock = threading.Lock()
        self._answers: dict[str, Any] = {}
        self._answered = threading.Condition()
        self._seq = 0
        self._ids = 0

    def serve(self, source: BinaryIO) -> None:
        while (message := _read(source)) is not None:
            self._log.write(json.dumps(message) + "\n")
            self._log.flush()
            if "method" not in message:
                with self._answered:
                    self._answers[message["id"]] = message
                    self._answered.notify_all()
            elif "id" in message:
                self._serve_request(message)
            elif message["method"] == "exit":
                return

    def _serve_request(self, message: dict[str, Any]) -> None:
        match message["method"]:
            case "initialize":
                self._reply(message, {"capabilities": self._capabilities(), "serverInfo": {"name": "standin"}})
            case "workspace/executeCommand":
                self._execute(message)
            case _:
                self._reply(message, None)

    def _capabilities(self) -> dict[str, Any]:
        commands = [f"llamagent.{name}" for name in self._script.get("commands", COMMANDS)]
        return {
            "positionEncoding": "utf-8",
            "textDocumentSync": {"openClose": True, "change": 2, "save": True},
            "executeCommandProvider": {"commands": commands},
            "experimental": {"llamagent": {"protocol": 1}},
        } | self._script.get("capabilities", {})

    def _execute(self, message: dict[str, Any]) -> None:
        match message["params"]["command"]:
            case "llamagent.ask":
                threading.Thread(target=self._ask, args=(message, next(self._asks, [])), daemon=True).start()
            case "llamagent.trace":
                self._reply(message, {"events": self._script.get("stored", [])})
            case name:
                self._reply(message, self._script.get("results", {}).get(name, {}))

    def _ask(self, message: dict[str, Any], steps: list[dict[str, Any]]) -> None:
        text = message["params"]["arguments"][0]["text"]
        self._event({"kind": "turn.started", "actor": "user", "text": text, "model": "standin", "files": []})
        for step in steps:
            self._play(step)
        end = {"stopReason": "answered", "answer": "", "steps": 1, "usage": {}, "seconds": 0.1}
        self._event({"kind": "turn.ended", "actor": "harness", **end})
        self._reply(message, {"session": "s1", "turn": "t1", **end})

    def _play(self, step: dict[str, Any]) -> None:
        [(kind, value)] = step.items()
        match kind:
            case "notify":
                self._send({"method": value[0], "params": value[1]})
            case "request":
                self._request(*value)
            case "event":
                self._event(value)
            case "flood":
                self._flood(*value)
            case "sleep":
                time.sleep(value)
            case "exit":
                os._exit(value)

    def _request(self, method: str, params: Any) -> None:
        self._ids += 1
        identity = f"standin-{self._ids}"
        self._send({"id": identity, "method": method, "params": params})
        with self._answered:
            self._answered.wait_for(lambda: identity in self._answers, 30)

    def _flood(self, count: int, per_second: int, text: str) -> None:
        started = time.perf_counter()
        for number in range(count):
            self._event({"kind": "model.delta", "actor": "model", "channel": "content", "text": f"{text}{number} "})
            ahead = started + (number + 1) / per_second - time.perf_counter()
            if ahead > 0.002:
                time.sleep(ahead)

    def _event(self, body: dict[str, Any]) -> None:
        self._seq += 1
        envelope = {"session": "s1", "turn": "t1", "seq": self._seq, "step": 1, "time": "2026-01-01T00:00:00.000Z"}
        self._send({"method": "llamagent/trace", "params": envelope | body})

    def _reply(self, message: dict[str, Any], result: Any) -> None:
        self._send({"id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        with self._write_lock:
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            sys.stdout.buffer.flush()


def _read(source: BinaryIO) -> dict[str, Any] | None:
    length = 0
    while (line := source.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    body = source.read(length) if length else b""
    return json.loads(body) if body else None


if __name__ == "__main__":
    Standin(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2])).serve(sys.stdin.buffer)
