"""The environment of a command: which Python, and nothing that waits for a terminal or gives a secret away."""

import os
from pathlib import Path

import pytest

import llamagent_server
from llamagent_server.processes.box import Reach
from llamagent_server.processes.commands import run, shell_argv
from llamagent_server.processes.environment import command_environment
from llamagent_server.processes.shell import ShellRunner
from llamagent_server.settings import SandboxPolicy, Settings

pytestmark = pytest.mark.skipif(os.name == "nt", reason="only on Unix")


def program(folder: Path, name: str, words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\necho {words}\n")
    file.chmod(0o755)


async def python_of(folder: Path, base: dict[str, str]) -> str:
    env = command_environment(folder, base=base)
    return (await run(shell_argv("python; echo $VIRTUAL_ENV"), cwd=folder, env=env, timeout=20)).output


@pytest.mark.parametrize("name", [".venv", "venv"])
async def test_python_is_the_projects_own_first(name: str, tmp_path: Path) -> None:
    program(tmp_path / "person", "python", "the-person")
    program(tmp_path / name / "bin", "python", "the-project")
    base = {"PATH": f"{tmp_path / 'person'}:/usr/bin:/bin"}
    assert await python_of(tmp_path, base) == f"the-project\n{tmp_path / name}\n"


async def test_python_is_else_the_persons(tmp_path: Path) -> None:
    program(tmp_path / "person", "python", "the-person")
    base = {"PATH": f"{tmp_path / 'person'}:/usr/bin:/bin", "VIRTUAL_ENV": "/active"}
    assert await python_of(tmp_path, base) == "the-person\n/active\n"


async def test_where_only_python3_is_python_is_that(tmp_path: Path) -> None:
    program(tmp_path / "bin", "python3", "python3 of the machine")
    for name in ("sh", "bash", "echo"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
    base = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):
        env = command_environment(tmp_path, base=base)
        ran = await run(shell_argv("python"), cwd=tmp_path, env=env, timeout=20)
        assert ran.output == "python3 of the machine\n"
    assert [path.name for path in (tmp_path / "cache/llamagent/shims").iterdir()] == ["python"]


async def test_without_any_python_it_is_the_daemons(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    base = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    env = command_environment(tmp_path, base=base)
    ran = await run(shell_argv("python -c 'print(6*7)'"), cwd=tmp_path, env=env, timeout=20)
    assert ran.output == "42\n"


def test_a_home_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    base = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert command_environment(tmp_path, base=base)["PATH"] == str(tmp_path)


def test_nothing_waits_for_a_terminal(tmp_path: Path) -> None:
    env = command_environment(tmp_path, base={"PATH": "/usr/bin:/bin", "PAGER": "less", "FORCE_COLOR": "1"})
    assert (env["PAGER"], env["GIT_PAGER"], env["TERM"], env["NO_COLOR"]) == ("cat", "cat", "dumb", "1")
    assert "FORCE_COLOR" not in env


def test_the_daemons_own_packages_are_not_the_projects(tmp_path: Path) -> None:
    own = str(Path(llamagent_server.__file__).parents[1])
    env = command_environment(tmp_path, base={"PATH": "/bin", "PYTHONPATH": f"{own}{os.pathsep}/theirs"})
    assert env["PYTHONPATH"] == "/theirs"
    assert "PYTHONPATH" not in command_environment(tmp_path, base={"PATH": "/bin", "PYTHONPATH": own})


async def nowhere() -> Reach:
    return Reach(())


async def test_the_key_of_the_model_server_is_not_given_to_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "SECRET")
    settings = Settings(api_key_env="MY_KEY", command_timeout=20, sandbox=SandboxPolicy.OFF)
    runner = ShellRunner(lambda: settings, lambda _: nowhere())
    ran = await runner.run("env", tmp_path, network=False)
    assert ran.ending.code == 0
    assert "SECRET" not in ran.output
