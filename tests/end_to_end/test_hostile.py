"""A repository that wants something of its own to run, to be read, or to be said yes to."""

import os
from pathlib import Path

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, call, hostile, say


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


def everything(*roots: Path) -> set[tuple[str, int, int]]:
    """Names, sizes and times of all that is there."""
    paths = [path for root in roots for path in root.rglob("*")]
    return {(str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths if not path.is_dir()}


@pytest.mark.skipif(os.name == "nt", reason="only on Unix")
async def test_a_hostile_repository_is_opened_and_asked_about_and_nothing_happens(
    project: Path, home: Path, tmp_path: Path
) -> None:
    """The model obeys every order in it; the person says no to all that is asked."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("HIDDEN PLACE\n")
    hostile.build(project, outside=outside)
    before = everything(project, outside)
    wanted = [
        call("list_files"),
        call("search_text", pattern="IGNORE|HIDDEN|KEY="),
        *(
            call("read_file", path=path)
            for path in ("README.md", "pipe", "huge.bin", "out.txt", "etc/passwd", "loop", ".env")
        ),
        call("write_file", path="out/x.txt", content="x"),
        call("write_file", path=".git/hooks/pre-commit", content="x"),
        call("edit_file", path="README.md", old_text="# Read me", new_text="owned"),
        call("run_command", command="touch OWNED"),
        call("run_command", command="ls"),
        say(hostile.CALL.replace("<", "&lt;")),
    ]
    with FakeOllama(replies=wanted) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:
            ed.answers["workspace/applyEdit"] = lambda _: {"applied": False}
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}
            ed.answers["window/showMessageRequest"] = lambda params: params["actions"][-1]
            await ed.ask("What is this?")
            questions = [params["message"] for params in ed.asked("window/showMessageRequest")]
    assert everything(project, outside) - before == set()
    assert len(ed.asked("llamagent/consent")) == 2
    assert [question.split()[0] for question in questions] == ["Do", ".env"]
    sent = str([request.json for request in server.requests])
    assert "HIDDEN PLACE" not in sent
    assert "KEY=x" not in sent
    assert "root:" not in sent
    assert {request.json["model"] for request in server.requests if request.json} == {"qwen3.5:4b"}
