"""Ollama's errors, word for word, by name."""

from typing import Any

from tests.fakes.script import Refusal

LLAMA_OVERFLOW = (
    '{"error":{"code":400,"message":"request (6031 tokens) exceeds the available context size (4096 tokens), try'
    ' increasing it","type":"exceed_context_size_error","n_prompt_tokens":6031,"n_ctx":4096}}'
)

OLLAMA_ERRORS: dict[str, tuple[int, str]] = {
    "empty_body": (400, "missing request body"),
    "malformed_json": (400, "unexpected EOF"),
    "array_content": (
        400,
        "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
    ),
    "bad_think_word": (400, 'invalid think value: "x" (must be "high", "medium", "low", "max", true, or false)'),
    "bad_think_type": (400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)'),
    "no_model": (400, "model is required"),
    "invalid_name": (400, "invalid model name"),
    "unknown_model": (404, "model 'qwen3.5:4b' not found"),
    "missing_blob": (404, 'model "qwen3.5:4b" not found, try pulling it first'),
    "no_tools": (400, "registry.ollama.ai/library/qwen3.5:4b does not support tools"),
    "no_thinking": (400, '"qwen3.5:4b" does not support thinking'),
    "embedding": (400, '"qwen3.5:4b" does not support chat'),
    "bad_format": (500, 'invalid format: "x"; expected "json" or a valid JSON Schema object'),
    "busy": (503, "server busy, please try again.  maximum pending requests exceeded"),
    "load_terminated": (500, "llama-server process has terminated: signal: killed"),
    "load_timeout": (500, "timed out waiting for llama-server to start - progress 0.42 - "),
    "out_of_memory": (500, "llama-server reported out-of-memory during startup: cudaMalloc failed: out of memory"),
    "incompatible": (500, "unable to load model: ... this model may be incompatible with your version of Ollama"),
    "runner_died": (
        500,
        "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check"
        " ollama server logs for details",
    ),
    "runner_error": (500, "an error was encountered while running the model: unexpected EOF"),
    "malformed_call": (500, "failed to parse JSON: unexpected end of JSON input"),
    "cut_call": (
        500,
        'llama-server returned invalid tool call arguments for "write_file": unexpected end of JSON input',
    ),
    "client_gone": (499, "request canceled"),
    "cloud_off": (403, "ollama cloud is disabled: remote model is unavailable"),
    "cloud_unreachable": (502, "dial tcp: lookup ollama.com: no such host"),
    "overflow_nested": (400, LLAMA_OVERFLOW),
    "overflow_rendered": (
        400,
        "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the"
        " context length in settings, or use a model with a longer context length",
    ),
    "overflow_mlx": (400, "input length (6031 tokens) exceeds the model's maximum context length (4096 tokens)"),
}

_ODD_BODIES: dict[str, Refusal] = {
    "cloud_unauthorised": Refusal(401, {"error": "unauthorized", "signin_url": "https://ollama.com/connect?x=y"}),
    "not_ollama": Refusal(404, b"404 page not found", "text/plain"),
    "wrong_method": Refusal(405, b"405 method not allowed", "text/plain"),
    "forbidden": Refusal(403),
}


def fail(key: str, **extra: Any) -> Refusal:
    """The error named `key` as the server answers it before the first chunk."""
    if key in _ODD_BODIES:
        return _ODD_BODIES[key]
    status, text = OLLAMA_ERRORS[key]
    return Refusal(status, {"error": text} | extra)
