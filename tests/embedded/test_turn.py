"""A whole turn with the real tiny model, through the real daemon; and the demo that shows it."""

import asyncio
import sys
from pathlib import Path

from llamagent_server.demo import NUM_CTX
from llamagent_terminal.demo import JOB
from tests.end_to_end.editor import editor

SECONDS = 240.0
SETTINGS = {"provider": "embedded", "temperature": 0, "num_ctx": NUM_CTX}


async def test_a_turn_writes_what_was_asked_after_the_yes(tmp_path: Path, cache: dict[str, str]) -> None:
    project = tmp_path / "hello-demo"
    project.mkdir()
    nowhere = "http://127.0.0.1:9"
    async with editor(project, tmp_path / "home", url=nowhere, settings=SETTINGS, environment=cache) as ed:
        ed.answers["llamagent/consent"] = lambda _: {"decision": "run"}
        _, reply = await ed.start("ask", text=JOB)
        async with asyncio.timeout(SECONDS):
            answered = await reply
    assert "error" not in answered, answered
    assert answered["result"]["stopReason"] == "answered"
    assert answered["result"]["answer"]
    assert [event["outcome"] for event in ed.of("edit.resolved")] == ["accepted"]
    assert (project / "hello.py").read_text() == 'print("Hello")\n'


async def test_the_demo_ends_with_a_right_program(tmp_path: Path, cache: dict[str, str]) -> None:
    env = {**cache, "HOME": str(tmp_path), "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
    demo = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "llamagent_server", "demo"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=env,
        cwd=tmp_path,
    )
    async with asyncio.timeout(SECONDS):
        output, _ = await demo.communicate()
    said = output.decode()
    assert demo.returncode == 0, said
    for words in ("There is no terminal to ask in", '+print("Hello")', "hello.py is right", "ollama pull qwen3.5:4b"):
        assert words in said
    assert list(tmp_path.iterdir()) == []
