"""A scripted server of /v1/chat/completions in the ways of llama.cpp, vLLM, LM Studio or Ollama.

`FakeOpenAI(replies, flavour=Flavour.LLAMA_CPP, ...)` (see tests/fakes/__init__.py for use). What differs by flavour:
how tool calls are cut into pieces, the name of the reasoning field, the shape of errors, where the context length is
told.
"""

import argparse
import itertools
import json
import random
import string
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.fakes.script import Call, Raw, Refusal, Reply, Script, load_script, words
from tests.fakes.serving import Exchange, FakeServer, Request, serve_until_killed

EVENTS = "text/event-stream"


class Flavour(StrEnum):
    LLAMA_CPP = "llama.cpp"
    VLLM = "vllm"
    LM_STUDIO = "lmstudio"
    OLLAMA = "ollama"  # its OpenAI-compatible face


LOADING = Refusal(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})

VLLM_NO_TOOL_PARSER = Refusal(
    400,
    {
        "error": {
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        }
    },
)


class FakeOpenAI(FakeServer):
    """`reasoning` = the name of the delta field for thoughts (None = the flavour's own; "inline" = `<think>` in the
    content). `api_key`: requests without it are refused. `end_marker` False = no `[DONE]` at the end."""

    chat_path = "/v1/chat/completions"

    def __init__(
        self,
        replies: Script = (),
        *,
        flavour: Flavour = Flavour.LLAMA_CPP,
        model: str = "qwen3.5:4b",
        num_ctx: int = 8192,
        api_key: str | None = None,
        reasoning: str | None = None,
        end_marker: bool = True,
        tools: bool = True,
    ) -> None:
        super().__init__(replies)
        self.flavour = flavour
        self.model = model
        self.num_ctx = num_ctx
        self.api_key = api_key
        self.reasoning = reasoning or ("reasoning_content" if flavour is Flavour.LLAMA_CPP else "reasoning")
        self.end_marker = end_marker
        self.tools = tools

    def answer(self, exchange: Exchange, request: Request) -> None:
        llama, studio = self.flavour is Flavour.LLAMA_CPP, self.flavour is Flavour.LM_STUDIO
        ollama = self.flavour is Flavour.OLLAMA
        match request.method, request.path:
            case "GET", "/health" if llama:
                exchange.json({"status": "ok"})
            case _ if self.api_key and request.headers.get("Authorization") != f"Bearer {self.api_key}":
                exchange.refuse(self.error(401, "Invalid API Key", "authentication_error"))
            case "POST", "/v1/chat/completions":
                self._chat(exchange, request)
            case "GET", "/v1/models":
                exchange.json(self._models())
            case "GET", "/props" if llama:
                exchange.json(self._props())
            case "GET", "/api/v1/models" if studio:
                exchange.json({"models": [self._studio_model()]})
            case _ if studio:
                exchange.json({"error": f"Unexpected endpoint or method. ({request.method} {request.path})"})
            case "GET", "/api/ps" if ollama:
                exchange.json({"models": [{"name": self.model, "context_length": self.num_ctx}]})
            case _ if ollama:
                exchange.whole(404, b"404 page not found", "text/plain")
            case _:
                exchange.refuse(self.error(404, "File Not Found", "not_found_error"))

    def error(self, status: int, message: str, kind: str, **extra: Any) -> Refusal:
        if self.flavour is Flavour.LM_STUDIO:
            return Refusal(status, {"error": message})
        return Refusal(status, {"error": {"code": status, "message": message, "type": kind} | extra})

    # --- chat

    def _chat(self, exchange: Exchange, request: Request) -> None:
        asked = request.json
        if not isinstance(asked, dict):
            exchange.refuse(self.error(400, "parse error", "invalid_request_error"))
            return
        problem = _bad_history(self, asked) or self._overflow(asked)
        if problem is not None:
            exchange.refuse(problem)
            return
        item = self.next_item(asked)
        if isinstance(item, Refusal):
            exchange.refuse(item)
        elif isinstance(item, Raw):
            exchange.raw(item, EVENTS)
        else:
            self._stream(exchange, asked, item)

    def _overflow(self, asked: dict[str, Any]) -> Refusal | None:
        tokens = _tokens(asked)
        if self.flavour is Flavour.VLLM:
            limit = self.num_ctx - (asked.get("max_tokens") or 0)
            text = (
                f"This model's maximum context length is {self.num_ctx} tokens. However, you requested"
                f" {asked.get('max_tokens') or 0} output tokens and your prompt contains {tokens} input tokens."
            )
            return self.error(400, text, "BadRequestError", param=None) if tokens > limit else None
        if tokens <= self.num_ctx:
            return None
        if self.flavour is Flavour.LM_STUDIO:
            return self.error(400, "Trying to keep the first 4096 tokens when context the overflows. However, ...", "")
        text = (
            f"request ({tokens} tokens) exceeds the available context size ({self.num_ctx} tokens), try increasing it"
        )
        return self.error(400, text, "exceed_context_size_error", n_prompt_tokens=tokens, n_ctx=self.num_ctx)

    def _stream(self, exchange: Exchange, asked: dict[str, Any], reply: Reply) -> None:
        exchange.pause(reply.before)
        deltas = list(self._deltas(asked, reply))
        for index in range(len(deltas) + 1):
            if index == reply.hold_after:
                exchange.hold()
            if index < len(deltas):
                exchange.pause(reply.delay)
                self._send(exchange, reply, self._chunk(deltas[index]))
        if reply.error is not None and self.flavour is Flavour.OLLAMA:
            # The error is lost: what comes is an empty piece, and then nothing.
            self._send(exchange, reply, self._chunk({"role": "assistant", "content": ""}))
        elif reply.error is not None:
            error = {"code": 500, "message": reply.error, "type": "server_error"}
            self._send(exchange, reply, {"error": error if isinstance(reply.error, str) else reply.error})
        elif reply.end == "drop":
            exchange.begin(EVENTS)
            exchange.drop()
            return
        elif reply.end == "done":
            self._finish(exchange, asked, reply, len(deltas))
        exchange.begin(EVENTS)
        exchange.end()

    def _send(self, exchange: Exchange, reply: Reply, value: Any) -> None:
        exchange.begin(EVENTS)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        exchange.chunk(f"data: {text}\n\n".encode(), reply.split)

    def _deltas(self, asked: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": None if self.flavour is Flavour.LLAMA_CPP else ""}
        content = reply.content
        if reply.thinking and self.reasoning == "inline":
            content = f"<think>{reply.thinking}</think>{content}"
        elif reply.thinking:
            for word in words(reply.thinking):
                yield {self.reasoning: word}
        for word in words(content):
            yield {"content": word}
        if asked.get("tools"):
            for index, call in enumerate(reply.calls):
                yield from self._call_deltas(index, call, cut=reply.finish == "length")

    def _call_deltas(self, index: int, call: Call, *, cut: bool) -> Iterator[dict[str, Any]]:
        """A call in pieces; one that the length limit cuts has half of its arguments."""
        text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
        text = text[: len(text) // 2] if cut else text
        head = {Flavour.LM_STUDIO: "", Flavour.OLLAMA: text}.get(self.flavour, text[:1])
        first: dict[str, Any] = {"index": index, "type": "function", "function": {"name": call.name, "arguments": head}}
        if call.id != "":
            first["id"] = call.id or "".join(random.choices(string.ascii_letters + string.digits, k=32))
        yield {"tool_calls": [first]}
        for start in range(len(head), len(text), 5):
            piece: dict[str, Any] = {"index": index, "function": {"arguments": text[start : start + 5]}}
            if self.flavour is Flavour.LM_STUDIO:
                piece["id"] = None
            yield {"tool_calls": [piece]}

    def _finish(self, exchange: Exchange, asked: dict[str, Any], reply: Reply, tokens: int) -> None:
        reason = "tool_calls" if reply.calls and asked.get("tools") and reply.finish == "stop" else reply.finish
        prompt_tokens = reply.prompt_tokens or _tokens(asked)
        timings = {"cache_n": prompt_tokens - 1, "prompt_n": 1, "prompt_ms": 10.0, "predicted_n": tokens}
        with_usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        extra = {"timings": timings} if self.flavour is Flavour.LLAMA_CPP else {}
        self._send(exchange, reply, self._chunk({}, reason) | ({} if with_usage else extra))
        if with_usage:
            usage = {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": tokens,
                "total_tokens": prompt_tokens + tokens,
            }
            if self.flavour not in (Flavour.LM_STUDIO, Flavour.OLLAMA):
                usage |= {"prompt_tokens_details": {"cached_tokens": prompt_tokens - 1}}  # type: ignore[dict-item]
            self._send(exchange, reply, self._chunk({}) | {"choices": [], "usage": usage} | extra)
        if self.end_marker:
            self._send(exchange, reply, "[DONE]")

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": self.model,
            "choices": [choice],
        }

    # --- the other endpoints

    def _models(self) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self.model, "object": "model", "created": 1, "owned_by": self.flavour.value}
        if self.flavour is Flavour.VLLM:
            return {"object": "list", "data": [row | {"max_model_len": self.num_ctx}]}
        if self.flavour is Flavour.OLLAMA:
            row["owned_by"] = "library"
        if self.flavour in (Flavour.LM_STUDIO, Flavour.OLLAMA):
            return {"object": "list", "data": [row]}
        meta = {"n_ctx": self.num_ctx, "n_ctx_train": 32768, "n_params": 4_000_000_000, "size": 2_500_000_000}
        empty = {"name": self.model, "model": self.model, "size": "", "digest": "", "capabilities": ["completion"]}
        return {"models": [empty], "object": "list", "data": [row | {"meta": meta}]}

    def _props(self) -> dict[str, Any]:
        return {
            "default_generation_settings": {"n_ctx": self.num_ctx},
            "total_slots": 1,
            "chat_template_caps": {"supports_tools": self.tools, "supports_tool_calls": self.tools},
            "model_alias": self.model,
            "model_path": f"/models/{self.model}.gguf",
            "build_info": "b10488-fb307609",
        }

    def _studio_model(self) -> dict[str, Any]:
        return {
            "type": "llm",
            "key": self.model,
            "max_context_length": 32768,
            "capabilities": {"vision": False, "trained_for_tool_use": self.tools},
            "loaded_instances": [{"id": self.model, "config": {"context_length": self.num_ctx}}],
        }


def _tokens(asked: dict[str, Any]) -> int:
    return (len(json.dumps(asked.get("messages"))) + len(json.dumps(asked.get("tools") or []))) // 4


def _bad_history(fake: FakeOpenAI, asked: dict[str, Any]) -> Refusal | None:
    for message in asked.get("messages") or []:
        for call in message.get("tool_calls") or []:
            try:
                json.loads(call["function"]["arguments"])
            except (TypeError, ValueError):
                text = "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]"
                return fake.error(500, text, "server_error")
    return None


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="JSON Lines, one reply an object")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, help="gets the port once the server listens")
    parser.add_argument("--flavour", type=Flavour, default=Flavour.LLAMA_CPP)
    parser.add_argument("--repeat", action="store_true", help="play the script over and over")
    given = parser.parse_args(argv)
    replies = load_script(given.script)
    script = itertools.cycle(replies) if given.repeat else replies
    with FakeOpenAI(script, flavour=given.flavour).start(given.port) as server:
        serve_until_killed(server, given.port_file)


if __name__ == "__main__":
    main()
