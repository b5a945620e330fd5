"""From the start of the process to the reply to `initialize`: `python -m bench.start`.

Ours against the least that any pygls server needs, and two language servers that people use. One round starts each
once, so that what else the machine does falls on all of them.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness import Figure, options, report
from bench.peers import peer

ROUNDS = 20
BARE = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"
LIMIT = 1.15  # times bare pygls
_SECONDS = 60


def servers() -> Mapping[str, Sequence[str]]:
    return {
        "bare pygls": (sys.executable, "-c", BARE),
        "llamagent": (sys.executable, "-m", "llamagent_server", "serve", "--stdio"),
        "jedi-language-server": (peer("jedi-language-server"),),
        "python-lsp-server": (peer("pylsp"),),
    }


def start_once(command: Sequence[str], folder: Path) -> float:
    """Milliseconds until the reply is here, whole."""
    uri = folder.as_uri()
    params = {"processId": None, "rootUri": uri, "workspaceFolders": [{"uri": uri, "name": "p"}], "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        process.stdin.flush()
        length = 0
        while line := process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        reply = json.loads(process.stdout.read(length))
        taken = time.perf_counter() - begun
        assert "capabilities" in reply["result"], reply
        return taken * 1e3
    finally:
        process.kill()
        process.wait()


def main() -> int:
    commands = servers()
    taken: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        for number in range(-1, ROUNDS):  # the first round warms the disk's cache
            for name, command in commands.items():
                milliseconds = start_once(command, folder)
                if number >= 0:
                    taken[name].append(milliseconds)
    figures = [Figure(name, "ms", tuple(values)) for name, values in taken.items()]
    floor = taken["bare pygls"]
    ratios = [ours / bare for ours, bare in zip(taken["llamagent"], floor, strict=True)]
    figures.append(
        Figure("llamagent / bare pygls", "times", (statistics.median(taken["llamagent"]) / statistics.median(floor),))
    )
    figures.append(Figure("the same, round by round", "times", tuple(ratios)))
    return report("start", figures, limits={"llamagent / bare pygls": LIMIT})


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(main())
