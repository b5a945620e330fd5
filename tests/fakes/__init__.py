"""Scripted model servers for tests: real HTTP on 127.0.0.1, driven by a list of replies.

    from tests.fakes import FakeOllama, call, say

    with FakeOllama(replies=[call("read_file", path="a.py"), say("It prints hello.")]) as server:
        ...                             # point the daemon or a provider at server.url, model "qwen3.5:4b"
        server.requests[0].json         # the first chat request, decoded; `.body` are its bytes, `.headers` its headers
        server.disconnects              # how many clients left before their reply was complete
        server.reloads                  # Ollama: how often a changed num_ctx or shift made the model load again

Each chat request plays the next item of the script. An item is
- `say(text)`, `call(name, **arguments)`, `calls(("name", {...}), ...)` or a `Reply(...)` with any behaviour in full
  (thinking, delays, a hold in the middle, a cut or broken stream, odd chunk sizes);
- `fail(key)` for the errors of Ollama by name (tests/fakes/errors.py), or `Refusal(status, body)` for any HTTP answer;
- `Raw([bytes, ...])` for bytes as they are;
- a function from the request (a dict) to one of these.
When the script is used up the server answers 500 and says so.

To wait without sleeping: `await server.until(lambda: server.disconnects == 1)`, or `server.wait_until(...)` in
a thread.
To stop in the middle: `say("a b c d e f", hold_after=3)` sends three words and waits until the client leaves or
`server.release()` is called.

As a process of its own, for clients that are not Python (the script is JSON Lines, one `Reply` an object, the same keys
as the transcripts of `llamagent_server/providers/scripted.py`):

    python -m tests.fakes.fake_ollama --script replies.jsonl --port-file port
    curl http://127.0.0.1:$(cat port)/_fake     # {"requests": [...], "disconnects": 0, "reloads": 0}

`tests.fakes.fake_openai` is the same for /v1/chat/completions (`flavour`: llama.cpp, vllm, lmstudio or ollama).
"""

from tests.fakes.errors import OLLAMA_ERRORS, fail
from tests.fakes.fake_ollama import FakeModel, FakeOllama
from tests.fakes.fake_openai import FakeOpenAI, Flavour
from tests.fakes.script import Call, Raw, Refusal, Reply, Script, call, calls, load_script, say, words
from tests.fakes.serving import Request

__all__ = [
    "OLLAMA_ERRORS",
    "Call",
    "FakeModel",
    "FakeOllama",
    "FakeOpenAI",
    "Flavour",
    "Raw",
    "Refusal",
    "Reply",
    "Request",
    "Script",
    "call",
    "calls",
    "fail",
    "load_script",
    "say",
    "words",
]
