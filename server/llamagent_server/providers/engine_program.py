"""The engine as a program of its own: llama.cpp's server on a loopback port, until it is killed.

Started as a script by providers/engine.py, it imports nothing of this package. What to do stands as JSON in the
environment variable LLAMAGENT_ENGINE (`path`, `num_ctx`, `key`, `threads`): arguments could be read by every user of
the machine. It says one line, `llamagent-engine ready ADDRESS` or `llamagent-engine failed WORDS`; all else on its
output is llama.cpp's log.
"""

import json
import os
import sys
import threading
from typing import Any

SAYS = "llamagent-engine"


def main() -> int:
    wanted = json.loads(os.environ.pop("LLAMAGENT_ENGINE"))
    try:
        server = _server(wanted)
    except (ImportError, RuntimeError, OSError, ValueError, TypeError, AttributeError) as error:
        _say("failed", f"{type(error).__name__}: {error}")
        return 1
    _say("ready", server.listening_address)
    threading.Event().wait()
    return 0


def _server(wanted: dict[str, Any]) -> Any:
    import xllamacpp  # type: ignore[import-untyped,unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    params.n_ctx = wanted["num_ctx"]
    params.n_parallel = 1
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads = wanted["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [wanted["key"]]
    params.cors_origins = "null"
    params.ui = False
    params.ctx_shift = False
    # The one conversation stays in its slot; copies of earlier ones would fill up to 8 GB of memory.
    params.cache_ram_mib = 0
    # It would only delay the first reply, which warms up as well.
    params.warmup = False
    return xllamacpp.Server(params)


def _say(word: str, words: str) -> None:
    sys.stdout.write(f"\n{SAYS} {word} {' '.join(words.split())}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
