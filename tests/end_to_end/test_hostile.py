"""A repository that wants something of its own to run, to be read, or to be said yes to."""

from pathlib import Path

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, call, say


@pytest.mark.parametrize(
    ("trusted", "venv", "runs"), [(True, True, True), (None, True, False), (None, False, True), (False, False, False)]
)
async def test_the_persons_allowed_commands_are_no_yes_to_programs_of_a_repository(
    project: Path, home: Path, trusted: bool | None, venv: bool, runs: bool
) -> None:
    """`ls` is allowed: not the `ls` that an untrusted repository keeps beside the Python of its environment."""
    home.mkdir()
    (home / "config.toml").write_text('allowed_commands = ["ls"]\n')
    if venv:
        programs = project / ".venv/bin"
        programs.mkdir(parents=True)
        for name in ("python", "ls"):
            (programs / name).write_text("#!/bin/sh\ntouch planted\n")
            (programs / name).chmod(0o755)
    with FakeOllama(replies=[call("run_command", command="ls"), say("ok")]) as server:
        async with editor(project, home, url=server.url, trusted=trusted) as ed:
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}
            await ed.ask("go")
            problems = (await ed.command("config"))["problems"]
    assert len(ed.asked("llamagent/consent")) == (0 if runs else 1)
    assert (project / "planted").exists() == (runs and venv)
    assert any("Allowed commands ask in this folder" in problem for problem in problems) == (not runs)


async def test_a_command_allowed_in_the_connection_stands_in_an_untrusted_folder(project: Path, home: Path) -> None:
    with FakeOllama(replies=[call("run_command", command="echo hi"), say("ok")]) as server:
        async with editor(project, home, url=server.url, trusted=False) as ed:
            await ed.command("allow", prefix="echo")
            await ed.ask("go")
    assert ed.of("tool.returned")[0]["content"].startswith("exit code 0\nhi\n")
