"""`init` makes what a project lacks, through the gate, and never touches what is there."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, say

OURS = [".llamagent/config.toml", ".llamagent/.gitignore", ".llamagent/skills/README.txt"]


def files(project: Path) -> list[str]:
    return sorted(path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file())


async def test_init_makes_all_and_once_only(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            assert await ed.command("init") == {"created": ["AGENTS.md", *OURS], "skipped": []}
            assert files(project) == sorted(["AGENTS.md", *OURS])
            assert "sessions/" in (project / ".llamagent/.gitignore").read_text().splitlines()
            assert await ed.command("init") == {"created": [], "skipped": ["AGENTS.md", *OURS]}
            assert len(ed.asked("workspace/applyEdit")) == 1
            assert (await ed.command("config"))["problems"] == []
            await ed.ask("hello")
    assert "How to run its tests" in server.requests[0].json["messages"][0]["content"]


async def test_what_is_there_stays(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("mine\n")
    (project / ".llamagent/skills").mkdir(parents=True)
    (project / ".llamagent/config.toml").write_text("temperature = 1\n")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            done = await ed.command("init")
            assert ed.asked("workspace/applyEdit") == []
    assert done == {"created": OURS[1:], "skipped": ["AGENTS.md", OURS[0]]}
    assert (project / "AGENTS.md").read_text() == "mine\n"
    assert (project / ".llamagent/config.toml").read_text() == "temperature = 1\n"


@pytest.mark.parametrize("answer", [{"applied": False}, None, {"applied": True}])
async def test_without_a_yes_nothing_is_made(project: Path, home: Path, answer: Any) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["workspace/applyEdit"] = lambda _: answer
            done = await ed.command("init")
    assert done == {"created": [], "skipped": ["AGENTS.md", *OURS]}
    assert files(project) == []


async def test_a_folder_of_ours_that_is_a_link_is_not_used(project: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / ".llamagent").symlink_to(tmp_path / "elsewhere")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            assert "link" in (await ed.failing("init"))["message"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_folder_that_the_person_does_not_trust_is_not_set_up(project: Path, home: Path) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, trusted=False) as ed:
            assert (await ed.failing("init"))["data"]["kind"] == "untrusted"
    assert files(project) == []
