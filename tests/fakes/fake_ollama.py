"""A scripted Ollama: /api/chat as notes on its source say it behaves, plus tags, ps, show and version.

`FakeOllama(replies, mode="rendered", ...)` (see tests/fakes/__init__.py for use). `mode` is how tool calls arrive:
`rendered` in a chunk of their own, `native` all on the closing line. It validates requests as Ollama does (a history
with string arguments or list content is refused, options of the wrong type too), loads again when num_ctx or shift
change, drops messages from the front unless `truncate` is false, and serves one request at a time.
"""

import argparse
import itertools
import json
import random
import string
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.fakes.errors import OLLAMA_ERRORS
from tests.fakes.script import Call, Raw, Refusal, Reply, Script, load_script, words
from tests.fakes.serving import Exchange, FakeServer, Request, serve_until_killed

NDJSON = "application/x-ndjson"
LOADER_OPTIONS = ("num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread")
INTEGER_OPTIONS = ("num_ctx", "num_predict", "num_keep", "seed", "top_k", "num_batch", "num_gpu", "num_thread")


@dataclass(frozen=True)
class FakeModel:
    """One installed model. `remote_host` makes it a cloud stub."""

    name: str = "qwen3.5:4b"
    capabilities: tuple[str, ...] = ("completion", "tools", "thinking")
    context_length: int = 262144
    size: int = 3_389_983_735
    digest: str = "0" * 64
    remote_host: str | None = None


class FakeOllama(FakeServer):
    """`old` = a build without capabilities in tags and show, and without ids in tool calls."""

    chat_path = "/api/chat"

    def __init__(
        self,
        replies: Script = (),
        *,
        models: Iterable[FakeModel] = (FakeModel(),),
        mode: Literal["rendered", "native"] = "rendered",
        old: bool = False,
        load_seconds: float = 0.0,
        hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]"),
    ) -> None:
        super().__init__(replies)
        self.models = {model.name: model for model in models}
        self.mode = mode
        self.old = old
        self.version = "0.17.4"
        self.load_seconds = load_seconds
        self.prompts: list[list[dict[str, Any]]] = []  # the messages that the model really saw, per request
        self._hosts = hosts
        self._slot = threading.Lock()
        self._loaded: tuple[Any, ...] | None = None
        self._num_ctx = 4096

    def answer(self, exchange: Exchange, request: Request) -> None:
        if not self._welcome(request):
            exchange.whole(403, b"", "")
            return
        match request.method, request.path:
            case (("GET" | "HEAD"), "/"):
                exchange.whole(200, b"Ollama is running", "text/plain; charset=utf-8")
            case (("GET" | "HEAD"), "/api/version"):
                exchange.json({"version": self.version})
            case (("GET" | "HEAD"), "/api/tags"):
                exchange.json({"models": [self._tag(model) for model in self.models.values()]})
            case "GET", "/api/ps":
                exchange.json({"models": self._running()})
            case "POST", "/api/show":
                self._show(exchange, request)
            case "POST", "/api/chat":
                self._chat(exchange, request)
            case _, ("/api/chat" | "/api/show" | "/api/tags" | "/api/ps" | "/api/version" | "/"):
                exchange.whole(405, b"405 method not allowed", "text/plain")
            case _:
                exchange.whole(404, b"404 page not found", "text/plain")

    def _welcome(self, request: Request) -> bool:
        host = request.headers.get("Host", "").rsplit(":", 1)[0]
        origin = request.headers.get("Origin")
        return host in self._hosts and (origin is None or "://localhost" in origin or "://127.0.0.1" in origin)

    # --- chat

    def _chat(self, exchange: Exchange, request: Request) -> None:
        problem = self._problem(request)
        if problem is not None:
            exchange.refuse(problem)
            return
        asked = request.json
        if not asked.get("messages"):
            exchange.json(self._line(asked, {"role": "assistant", "content": ""}, done=True, done_reason="load"))
            return
        exchange.acquire(self._slot)
        try:
            load_seconds = self._load(exchange, asked)
            fitted = self._fitted(asked)
            if isinstance(fitted, Refusal):
                exchange.refuse(fitted)
                return
            self.prompts.append(fitted)
            self._play(exchange, asked, fitted, load_seconds)
        finally:
            self._slot.release()

    def _problem(self, request: Request) -> Refusal | None:
        asked = request.json
        if not request.body:
            return _error("empty_body")
        if not isinstance(asked, dict):
            return _error("malformed_json")
        if not asked.get("model"):
            return _error("no_model")
        model = self.models.get(asked["model"])
        if model is None:
            return Refusal(404, {"error": f"model '{asked['model']}' not found"})
        return _wrong_messages(asked) or _wrong_options(asked) or _wrong_think(asked, model) or _lacking(asked, model)

    def _load(self, exchange: Exchange, asked: dict[str, Any]) -> float:
        options = asked.get("options") or {}
        key = (asked["model"], asked.get("shift"), *(options.get(name) for name in LOADER_OPTIONS))
        if key == self._loaded:
            return 0.0
        if self._loaded is not None:
            self.note_reload()
        exchange.pause(self.load_seconds)
        self._loaded = key
        self._num_ctx = options.get("num_ctx") or 4096
        return self.load_seconds or 0.001

    def _fitted(self, asked: dict[str, Any]) -> list[dict[str, Any]] | Refusal:
        """The messages that fit num_ctx: dropped from the front, but for system messages and the last one."""
        messages = list(asked["messages"])
        if asked.get("truncate") is False:
            tokens = self._tokens(asked, messages)
            return messages if tokens <= self._num_ctx else _overflow(tokens, self._num_ctx)
        while self._tokens(asked, messages) > self._num_ctx:
            droppable = [one for one in messages[:-1] if one["role"] != "system"]
            if not droppable:
                break
            messages.remove(droppable[0])
        if self._tokens(asked, messages) > self._num_ctx:
            if asked.get("shift") is False:
                return _error("overflow_rendered")
            last = messages[-1]["content"]
            messages = [{"role": "user", "content": last[-2 * self._num_ctx :]}]  # the middle is cut out, silently
        return messages

    def _tokens(self, asked: dict[str, Any], messages: list[dict[str, Any]]) -> int:
        return (len(json.dumps(messages)) + len(json.dumps(asked.get("tools") or []))) // 4

    def _play(
        self, exchange: Exchange, asked: dict[str, Any], prompt: list[dict[str, Any]], load_seconds: float
    ) -> None:
        item = self.next_item(asked)
        if isinstance(item, Refusal):
            exchange.refuse(item)
        elif isinstance(item, Raw):
            exchange.raw(item, NDJSON)
        elif asked.get("stream") is False:
            exchange.json(self._unstreamed(asked, item, self._tokens(asked, prompt)))
        else:
            self._stream(exchange, asked, item, self._tokens(asked, prompt), load_seconds)

    def _stream(
        self, exchange: Exchange, asked: dict[str, Any], reply: Reply, prompt_tokens: int, load_seconds: float
    ) -> None:
        started = time.perf_counter()
        exchange.pause(reply.before)
        chunks = list(self._chunks(asked, reply))
        for index in range(len(chunks) + 1):
            if index == reply.hold_after:
                exchange.hold()
            if index < len(chunks):
                exchange.pause(reply.delay)
                exchange.begin(NDJSON)
                exchange.chunk(go_json(self._line(asked, chunks[index], done=False)), reply.split)
        if reply.error is not None:
            if not chunks:
                exchange.refuse(Refusal(500, {"error": reply.error}))
                return
            exchange.chunk(go_json({"error": reply.error}), reply.split)
        exchange.begin(NDJSON)
        if reply.end == "drop":
            exchange.drop()
            return
        if reply.error is None and reply.end == "done":
            message: dict[str, Any] = {"role": "assistant", "content": ""}
            if self.mode == "native" and reply.calls and reply.finish != "length":
                message["tool_calls"] = self._tool_calls(reply.calls, first=0)
            metrics = _metrics(
                reply.prompt_tokens or prompt_tokens, len(chunks), load_seconds, time.perf_counter() - started
            )
            last = self._line(asked, message, done=True, done_reason=reply.finish, **metrics)
            exchange.chunk(go_json(last), reply.split)
        exchange.end()

    def _chunks(self, asked: dict[str, Any], reply: Reply) -> Iterable[dict[str, Any]]:
        """The messages of the lines that are not the last. A call that the length limit cuts is swallowed."""
        if reply.thinking and asked.get("think", True) is not False:
            for word in words(reply.thinking):
                yield {"role": "assistant", "content": "", "thinking": word}
        for word in words(reply.content):
            yield {"role": "assistant", "content": word}
        if self.mode == "rendered" and reply.finish != "length":
            for index, call in enumerate(reply.calls):
                yield {"role": "assistant", "content": "", "tool_calls": self._tool_calls([call], first=index)}

    def _tool_calls(self, made: Iterable[Call], first: int) -> list[dict[str, Any]]:
        return [self._tool_call(call, index) for index, call in enumerate(made, first)]

    def _tool_call(self, call: Call, index: int) -> dict[str, Any]:
        function: dict[str, Any] = {"index": index, "name": call.name, "arguments": call.arguments}
        if self.old or call.id == "":
            del function["index"]
            return {"function": function}
        return {"id": call.id or _new_id(self.mode), "function": function}

    def _unstreamed(self, asked: dict[str, Any], reply: Reply, prompt_tokens: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.content}
        if reply.thinking and asked.get("think", True) is not False:
            message["thinking"] = reply.thinking
        if reply.calls and asked.get("tools"):
            message["tool_calls"] = self._tool_calls(reply.calls, first=0)
        if reply.end != "done":
            return self._line(asked, message, done=False)
        metrics = _metrics(prompt_tokens, len(words(reply.content)), 0.0, 0.001)
        return self._line(asked, message, done=True, done_reason=reply.finish, **metrics)

    def _line(self, asked: dict[str, Any], message: dict[str, Any], *, done: bool, **last: Any) -> dict[str, Any]:
        model = self.models[asked["model"]]
        remote = {"remote_model": model.name, "remote_host": model.remote_host} if model.remote_host else {}
        created = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".123456789Z"
        return {"model": asked["model"], **remote, "created_at": created, "message": message, "done": done, **last}

    # --- the other endpoints

    def _tag(self, model: FakeModel) -> dict[str, Any]:
        tag: dict[str, Any] = {
            "name": model.name,
            "model": model.name,
            "modified_at": "2026-08-21T10:00:00Z",
            "size": model.size,
            "digest": model.digest,
            "details": {"format": "gguf", "family": "qwen35", "parameter_size": "4B", "quantization_level": "Q4_K_M"},
        }
        if not self.old:
            tag["details"]["context_length"] = model.context_length
            tag["capabilities"] = list(model.capabilities)
        if model.remote_host:
            tag |= {"remote_model": model.name, "remote_host": model.remote_host}
        return tag

    def _running(self) -> list[dict[str, Any]]:
        if self._loaded is None:
            return []
        model = self.models[self._loaded[0]]
        return [self._tag(model) | {"size_vram": model.size, "context_length": self._num_ctx}]

    def _show(self, exchange: Exchange, request: Request) -> None:
        name = (request.json or {}).get("model") or ""
        model = self.models.get(name)
        if not name:
            exchange.refuse(_error("no_model"))
        elif model is None:
            exchange.refuse(Refusal(404, {"error": f"model '{name}' not found"}))
        else:
            shown = self._tag(model) | {
                "modelfile": "RENDERER qwen3.5\nPARSER qwen3.5\n" if self.mode == "rendered" else "",
                "template": "{{ .Prompt }}",
                "parameters": f"{'num_ctx':<30} 4096",
                "model_info": {"general.architecture": "qwen35", "qwen35.context_length": model.context_length},
            }
            exchange.json(shown)


def go_json(value: Any) -> bytes:
    """A line of JSON as Go writes it: `<`, `>` and `&` escaped, other characters as they are."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode() + b"\n"


def _error(key: str) -> Refusal:
    status, text = OLLAMA_ERRORS[key]
    return Refusal(status, {"error": text})


def _overflow(tokens: int, num_ctx: int) -> Refusal:
    """The body of llama-server, whole, as a string inside Ollama's."""
    message = f"request ({tokens} tokens) exceeds the available context size ({num_ctx} tokens), try increasing it"
    inner = {"code": 400, "message": message, "type": "exceed_context_size_error"}
    return Refusal(400, {"error": json.dumps({"error": inner | {"n_prompt_tokens": tokens, "n_ctx": num_ctx}})})


def _wrong_messages(asked: dict[str, Any]) -> Refusal | None:
    for message in asked.get("messages") or []:
        if not isinstance(message.get("content"), str | None):
            return _error("array_content")
        for call in message.get("tool_calls") or []:
            if not isinstance(call["function"].get("arguments"), dict):
                field = "ToolCallFunction.messages.tool_calls.function.arguments"
                text = (
                    f"json: cannot unmarshal string into Go struct field {field} of type api.ToolCallFunctionArguments"
                )
                return Refusal(400, {"error": text})
    return None


def _wrong_options(asked: dict[str, Any]) -> Refusal | None:
    for name, value in (asked.get("options") or {}).items():
        if name in INTEGER_OPTIONS and (not isinstance(value, int) or isinstance(value, bool)):
            return Refusal(500, {"error": f'option "{name}" must be of type integer'})
    return None


def _wrong_think(asked: dict[str, Any], model: FakeModel) -> Refusal | None:
    think = asked.get("think")
    if not isinstance(think, bool | str | None):
        return _error("bad_think_type")
    if isinstance(think, str) and think not in ("high", "medium", "low", "max"):
        text = f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)'
        return Refusal(400, {"error": text})
    if think and "thinking" not in model.capabilities:
        return Refusal(400, {"error": f'"{asked["model"]}" does not support thinking'})
    return None


def _lacking(asked: dict[str, Any], model: FakeModel) -> Refusal | None:
    if "completion" not in model.capabilities:
        return Refusal(400, {"error": f'"{asked["model"]}" does not support chat'})
    if asked.get("tools") and "tools" not in model.capabilities:
        return Refusal(400, {"error": f"registry.ollama.ai/library/{asked['model']} does not support tools"})
    return None


def _new_id(mode: str) -> str:
    alphabet = string.ascii_lowercase + string.digits
    if mode == "rendered":
        return "call_" + "".join(random.choices(alphabet, k=8))
    return "".join(random.choices(string.ascii_letters + string.digits, k=32))


def _metrics(prompt_tokens: int, tokens: int, load_seconds: float, seconds: float) -> dict[str, int]:
    """Counts and durations in nanoseconds; what is zero is left out."""
    nanoseconds = int(seconds * 1e9)
    found = {
        "total_duration": nanoseconds + int(load_seconds * 1e9),
        "load_duration": int(load_seconds * 1e9),
        "prompt_eval_count": prompt_tokens,
        "prompt_eval_duration": nanoseconds // 2,
        "eval_count": tokens,
        "eval_duration": nanoseconds // 2,
    }
    return {name: value for name, value in found.items() if value}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="JSON Lines, one reply an object")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, help="gets the port once the server listens")
    parser.add_argument("--mode", choices=("rendered", "native"), default="rendered")
    parser.add_argument("--model", action="append", help="an installed model (default qwen3.5:4b)")
    parser.add_argument("--repeat", action="store_true", help="play the script over and over")
    given = parser.parse_args(argv)
    replies = load_script(given.script)
    script = itertools.cycle(replies) if given.repeat else replies
    models = [FakeModel(name) for name in given.model] if given.model else [FakeModel()]
    with FakeOllama(script, models=models, mode=given.mode).start(given.port) as server:
        serve_until_killed(server, given.port_file)


if __name__ == "__main__":
    main()
