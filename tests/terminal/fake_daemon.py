"""A daemon that plays a script, for what the real one does only by accident: dying, garbage, questions taken back.

    python fake_daemon.py SCRIPT.json

The script is a list of steps, played when `llamagent.ask` arrives; other commands are answered from `COMMANDS`.
    {"event": {...}}             a trace event; the envelope is filled in
    {"ask": METHOD, "params"}    a request to the client; the next steps wait for its answer
    {"ask", "params", "then_exit": CODE}     the same, but then it dies
    {"withdraw": METHOD, "params"}   the same, taken back at once
    {"raw": TEXT}                bytes on stdout, framed by nobody
    {"stderr": TEXT}, {"exit": CODE}
    {"wait": "llamagent.cancel"} until that command arrives
    {"result": {...}}, {"error": {...}}  the answer to the ask
Whatever the client sends is appended to the file named by FAKE_DAEMON_LOG, one JSON object a line; the process
id goes to the file named by FAKE_DAEMON_PID.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

COMMANDS: dict[str, Any] = {
    "llamagent.set_temperature": {"previous": 0.2, "value": 0.5},
    "llamagent.set_num_ctx": {"previous": 8192, "value": 4096, "note": "The model is loaded anew."},
    "llamagent.delete_session": {"session": "s1", "title": "Make it polite", "messages": 4},
    "llamagent.undo_turn": {
        "proposed": [],
        "outcome": "nothing",
        "reason": "No turn of this conversation has changed a file.",
    },
    "llamagent.cancel": {"cancelled": True},
    "llamagent.clear": {"session": "s2"},
    "llamagent.compact": {"summary": "It was about greetings.", "tokensBefore": 5000, "tokensAfter": 900},
    "llamagent.context": {
        "tokens": 1240,
        "numCtx": 8192,
        "estimated": True,
        "parts": [{"name": "system", "tokens": 240}, {"name": "tools", "tokens": 1000}],
    },
    "llamagent.config": {
        "settings": [{"key": "model", "value": "qwen3.5:4b", "source": "default", "workspaceMaySet": True}],
        "problems": ["server.toml, line 3: unknown key"],
    },
    "llamagent.sessions": {
        "sessions": [
            {
                "id": "a1",
                "title": "Make it \x1b[31mpolite, and then tell everybody about it at length",
                "updated": "2026-01-02T03:04:05Z",
                "model": "m",
                "messages": 4,
                "current": True,
            }
        ]
    },
    "llamagent.resume": {"session": "a1", "title": "Make it polite", "messages": 4},
    "llamagent.skills": {"skills": [{"name": "review", "description": "how to review", "source": "user"}]},
    "llamagent.load_skill": {"name": "review", "description": "how to review", "tokens": 812},
    "llamagent.trust": {"folder": "/proj", "trusted": True},
    "llamagent.allow": {"allowed": ["make test"]},
    "llamagent.set_model": {"value": "gemma3:4b", "previous": "qwen3.5:4b"},
}


class Fake:
    def __init__(self, script: list[dict[str, Any]]) -> None:
        self.script = script
        self.seq = -1
        self.last_id = 0
        self.log = open(os.environ.get("FAKE_DAEMON_LOG", os.devnull), "a", encoding="utf-8")  # noqa: PTH123, SIM115

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def receive(self) -> dict[str, Any]:
        length = 0
        while (line := sys.stdin.buffer.readline()) != b"\r\n":
            if not line:
                sys.exit(1)
            length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
        self.log.write(json.dumps(message) + "\n")
        self.log.flush()
        return message

    def serve(self) -> None:
        while True:
            match self.receive():
                case {"method": "initialize", "id": id_}:
                    self.send({"id": id_, "result": {"capabilities": {"positionEncoding": "utf-16"}}})
                case {"method": "shutdown", "id": id_}:
                    self.send({"id": id_, "result": None})
                case {"method": "exit"}:
                    sys.exit(0)
                case {"method": "workspace/executeCommand", "id": id_, "params": {"command": "llamagent.ask"}}:
                    self.play(id_)
                case {"method": "workspace/executeCommand", "id": id_, "params": {"command": command}}:
                    self.send({"id": id_, "result": COMMANDS.get(command, {})})

    def play(self, ask: int) -> None:
        for step in self.script:
            match step:
                case {"event": event}:
                    self.seq += 1
                    envelope = {"session": "s", "turn": "t", "seq": self.seq, "step": 1, "time": "2026-01-01T00:00:00Z"}
                    self.send({"method": "llamagent/trace", "params": {**envelope, **event}})
                case {"ask": method, "params": params, "then_exit": code}:
                    self.request(method, params)
                    os._exit(code)
                case {"ask": method, "params": params}:
                    self.wait_for_answer(self.request(method, params))
                case {"withdraw": method, "params": params}:
                    id_ = self.request(method, params)
                    self.send({"method": "$/cancelRequest", "params": {"id": id_}})
                    self.wait_for_answer(id_)
                case {"raw": text}:
                    self.write(text.encode())
                case {"stderr": text}:
                    sys.stderr.write(text)
                    sys.stderr.flush()
                case {"exit": code}:
                    os._exit(code)
                case {"wait": command}:
                    while (seen := self.receive()).get("params", {}).get("command") != command:
                        pass
                    self.send({"id": seen["id"], "result": COMMANDS.get(command, {})})
                case {"forget": _}:
                    self.script = []
                case {"result": result}:
                    self.send({"id": ask, "result": result})
                case {"error": error}:
                    self.send({"id": ask, "error": error})

    def request(self, method: str, params: Any) -> str:
        self.last_id += 1
        self.send({"id": f"f{self.last_id}", "method": method, "params": params})
        return f"f{self.last_id}"

    def wait_for_answer(self, id_: str) -> None:
        while True:
            match self.receive():
                case {"id": answered} if answered == id_:
                    return
                case {"method": "workspace/executeCommand", "id": other, "params": {"command": command}}:
                    self.send({"id": other, "result": COMMANDS.get(command, {})})


if __name__ == "__main__":
    if "FAKE_DAEMON_PID" in os.environ:
        Path(os.environ["FAKE_DAEMON_PID"]).write_text(str(os.getpid()), "utf-8")
    Fake(json.loads(Path(sys.argv[1]).read_text("utf-8"))).serve()
