"""A model server that does nothing but note when: `python -m bench.clocked_server SCRIPT PORT_FILE`.

It answers `/api/chat` as Ollama does, streamed or whole, with the messages of SCRIPT (JSON Lines), one a request, from
the beginning again after `POST /again`; a request for a summary gets one. `GET /times` gives, for each other chat
request, when it was here whole and when its answer was sent, in nanoseconds of the system's monotonic clock, and the
size of its body.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from llamagent_server.agent.compaction import INSTRUCTION

MODEL = "bench"
SUMMARY = "All modules up to here were read; each defines a few small functions. The rest is left to read."
INFO = {
    "capabilities": ["completion", "tools"],
    "model_info": {"general.architecture": "x", "x.context_length": 32768},
}


class Clocked(ThreadingHTTPServer):
    daemon_threads = True
    messages: list[dict[str, Any]]
    times: list[tuple[int, int, int]]


class JsonHandler(BaseHTTPRequestHandler):
    """Answers with JSON, and says nothing of it."""

    protocol_version = "HTTP/1.1"

    def whole(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name for it
        """Nothing is logged: it would be measured too."""


class Handler(JsonHandler):
    disable_nagle_algorithm = True
    server: Clocked

    def do_GET(self) -> None:
        if self.path == "/times":
            self.whole(self.server.times)
        else:
            self.whole({"models": [{"name": MODEL, "model": MODEL, "size": 1}], "version": "0.17.4"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        here = time.monotonic_ns()
        if self.path == "/again":
            self.server.times.clear()
            self.whole({})
        elif self.path == "/api/chat" and INSTRUCTION.encode() in body[-2000:]:
            self._chat({"role": "assistant", "content": SUMMARY}, len(body), streamed=True)
        elif self.path == "/api/chat":
            number = len(self.server.times)
            message = self.server.messages[number % len(self.server.messages)]
            self.server.times.append((here, 0, len(body)))
            self._chat(message, len(body), streamed=json.loads(body).get("stream") is not False)
            self.server.times[number] = (here, time.monotonic_ns(), len(body))
        else:
            self.whole(INFO)

    def _chat(self, message: dict[str, Any], size: int, *, streamed: bool) -> None:
        counts = {"prompt_eval_count": size // 4, "eval_count": 20}
        last = {"model": MODEL, "done": True, "done_reason": "stop", **counts}
        if not streamed:
            self.whole({**last, "message": message})
            return
        lines = (
            {"model": MODEL, "message": message, "done": False},
            {**last, "message": {"role": "assistant", "content": ""}},
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        whole = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole))


def main(script: str, port_file: str) -> None:
    server = Clocked(("127.0.0.1", 0), Handler)
    server.messages = [json.loads(line) for line in Path(script).read_text("utf-8").splitlines()]
    server.times = []
    Path(port_file).write_text(str(server.server_port))
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
