"""An Ollama whose prompts a real engine reads, and whose words come from a script: what each request costs in tokens.

Messages and tools are written as ChatML, tools first, as the templates of today's small models do. llama.cpp says of
each prompt how many tokens it has and how many of them it had to evaluate, the others being in its cache.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from typing import Any, cast

import requests

from bench.clocked_server import INFO, MODEL, SUMMARY, JsonHandler
from llamagent_server.agent.compaction import INSTRUCTION
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.engine import Engine, EngineConfig, start_engine
from llamagent_server.providers.model_files import bundled_path


@dataclass(frozen=True, slots=True)
class Read:
    """One prompt, in tokens: all of it, what the engine evaluated, and what no prompt before it had said."""

    prompt: int
    evaluated: int
    new: int


class Reader(ThreadingHTTPServer):
    """`says` is used up, one message a request; one that asks for a summary gets one."""

    daemon_threads = True

    def __init__(self, engine: Engine) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._engine = engine
        self._known: Counter[str] = Counter()  # how often a prompt said each piece
        self.says: list[dict[str, Any]] = []
        self.reads: list[Read] = []
        self.messages: list[list[dict[str, Any]]] = []  # of each request
        self.tools: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body["messages"]
        self.messages.append(messages)
        self.tools = body.get("tools") or self.tools
        read = self.read(messages, body.get("tools") or [])
        asks_for_summary = messages[-1]["content"] == INSTRUCTION
        message = {"role": "assistant", "content": SUMMARY} if asks_for_summary else self.says.pop(0)
        last = {"model": MODEL, "done": True, "done_reason": "stop", "eval_count": 20}
        return {**last, "prompt_eval_count": read.prompt, "message": message}

    def read(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> Read:
        """Have the engine read a prompt."""
        pieces = ["".join(json.dumps(tool) + "\n" for tool in tools), *map(_chatml, messages)]
        asked = {"prompt": "".join(pieces) + "<|im_start|>assistant\n", "n_predict": 1, "cache_prompt": True}
        told = self._post("completion", asked)
        new = Counter(pieces) - self._known
        self._known |= Counter(pieces)
        count = sum(len(self._post("tokenize", {"content": piece})["tokens"]) for piece in new.elements() if piece)
        read = Read(told["timings"]["cache_n"] + told["timings"]["prompt_n"], told["timings"]["prompt_n"], count)
        self.reads.append(read)
        return read

    def _post(self, path: str, body: object) -> dict[str, Any]:
        key = {"Authorization": f"Bearer {self._engine.key}"}
        answer = requests.post(f"{self._engine.address}/{path}", json=body, headers=key, timeout=600)
        answer.raise_for_status()
        return cast(dict[str, Any], answer.json())


def _chatml(message: dict[str, Any]) -> str:
    calls = [json.dumps(call["function"]) for call in message.get("tool_calls") or []]
    return "\n".join([f"<|im_start|>{message['role']}", message.get("content") or "", *calls, "<|im_end|>\n"])


class _Handler(JsonHandler):
    server: Reader

    def do_GET(self) -> None:  # noqa: N802 - the base class's name for it
        self.whole({"models": [{"name": MODEL, "model": MODEL, "size": 1}], "version": "0.17.4"})

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.whole(self.server.chat(body) if self.path == "/api/chat" else INFO)


@contextmanager
def reader(num_ctx: int) -> Iterator[Reader]:
    """A server over an engine that has read nothing yet."""
    engine = start_engine(EngineConfig(bundled_path(), num_ctx), Cancel())
    server = Reader(engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        engine.end()
