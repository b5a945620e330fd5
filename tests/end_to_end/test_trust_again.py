"""Trust is of what the person saw: what is new in a trusted folder counts after another yes, and not before."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.end_to_end.test_trust import values
from tests.fakes import FakeModel, FakeOllama, Reply, call, say

MODELS = (FakeModel("theirs"), FakeModel("other"), FakeModel())
CONFIG = 'allowed_commands = ["echo hi", "ls"]\nmodel = "theirs"\ntemperature = 0.5\n'


def says(ed: Editor, choice: int) -> None:
    """0: Trust. 1: Not now."""
    ed.answers["window/showMessageRequest"] = lambda params: params["actions"][choice]
    ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}


@pytest.fixture
def trusted(project: Path) -> Path:
    """A project with all that counts, which was trusted as it is."""
    (project / ".llamagent/skills").mkdir(parents=True)
    (project / ".llamagent/config.toml").write_text(CONFIG)
    (project / ".llamagent/skills/deploy.md").write_text("---\ndescription: Deploy\n---\nCarefully.\n")
    shelf = project / ".agents/skills/pdf"
    shelf.mkdir(parents=True)
    (shelf / "SKILL.md").write_text("---\ndescription: Forms\n---\nRead them.\n")
    (shelf / "forms.md").write_text("FORMS\n")
    (project / "AGENTS.md").write_text("be kind\n")
    return project


async def turn(project: Path, home: Path, *replies: Reply, choice: int = 0, asks: int = 1) -> tuple[Editor, str, Any]:
    """One connection with one ask: the editor, the system prompt, the settings."""
    with FakeOllama(replies=[*replies, *(say("ok") for _ in range(asks))], models=MODELS) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:
            says(ed, choice)
            for _ in range(asks):
                await ed.ask("go")
            config = await ed.command("config")
    return ed, server.requests[0].json["messages"][0]["content"], config


def questions(ed: Editor) -> list[str]:
    return [params["message"] for params in ed.asked("window/showMessageRequest")]


async def test_a_folder_that_stays_as_it_was_is_not_asked_about_again(trusted: Path, home: Path) -> None:
    assert len(questions((await turn(trusted, home))[0])) == 1
    ed, prompt, config = await turn(trusted, home)
    assert questions(ed) == []
    assert "be kind" in prompt and "deploy" in prompt and config["problems"] == []


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".llamagent/config.toml", f"# a comment\n{CONFIG}"),
        (".llamagent/config.toml", 'model="theirs"\ntemperature = 0.9\nallowed_commands = [\n"ls",  # x\n"echo hi"]\n'),
        (".llamagent/config.toml", 'allowed_commands = ["ls"]\n'),
        (".llamagent/config.toml", ""),
        ("AGENTS.md", "be kind\r\n\r\n"),
        ("AGENTS.md", ""),
        (".llamagent/server.toml", "max_steps = 9\n"),
    ],
    ids=["comment", "order", "fewer", "nothing", "line ends", "no notes", "allows nothing"],
)
async def test_what_allows_no_more_than_before_asks_nothing(trusted: Path, home: Path, path: str, content: str) -> None:
    await turn(trusted, home)
    (trusted / path).write_bytes(content.encode())
    ed, _, config = await turn(trusted, home)
    assert questions(ed) == [] and config["problems"] == []


@pytest.mark.parametrize(
    ("path", "content", "named"),
    [
        (".llamagent/config.toml", CONFIG.replace('"ls"', '"ls", "rm"'), 'allowed_commands "rm"'),
        (".llamagent/config.toml", CONFIG.replace('"theirs"', '"other"'), 'model "other"'),
        ("AGENTS.md", "be unkind\n", "AGENTS.md"),
        (".llamagent/skills/deploy.md", "---\ndescription: Deploy\n---\nrm -rf\n", "skill deploy"),
        (".llamagent/skills/deploy.md", "---\ndescription: Obey\n---\nCarefully.\n", "skill deploy"),
        (".llamagent/skills/new.md", "x\n", "skill new"),
        (".agents/skills/pdf/forms.md", "OTHERS\n", "skill pdf/forms.md"),
    ],
)
async def test_what_is_new_is_asked_about_by_name_and_counts_after_the_yes(
    trusted: Path, home: Path, path: str, content: str, named: str
) -> None:
    await turn(trusted, home)
    (trusted / path).write_text(content)
    ed, _, config = await turn(trusted, home, asks=2)
    (question,) = questions(ed)
    assert f"{trusted}: {named}. Do" in question
    assert config["problems"] == []
    assert questions((await turn(trusted, home))[0]) == []


async def test_after_a_no_the_new_does_not_count_and_that_is_said_once(trusted: Path, home: Path) -> None:
    await turn(trusted, home)
    (trusted / ".llamagent/config.toml").write_text('allowed_commands = ["touch", "echo hi"]\nmodel = "other"\n')
    (trusted / "AGENTS.md").write_text("OBEY\n")
    (trusted / ".llamagent/skills/deploy.md").write_text("---\ndescription: EVIL\n---\nrm -rf\n")
    (trusted / ".agents/skills/pdf/forms.md").write_text("OTHERS\n")
    wanted = [
        call("run_command", command="touch ran"),
        call("run_command", command="echo hi"),
        call("run_command", command="ls"),
        call("load_skill", name="deploy"),
        call("load_skill", name="pdf/forms.md"),
    ]
    ed, prompt, config = await turn(trusted, home, *wanted, choice=1, asks=2)
    assert len(questions(ed)) == 1
    assert [params["command"] for params in ed.asked("llamagent/consent")] == ["touch ran", "ls"]
    assert not (trusted / "ran").exists()
    assert "OBEY" not in prompt and "be kind" not in prompt and "EVIL" not in prompt and "- pdf" in prompt
    assert values(config)["model"] == "qwen3.5:4b" and values(config)["allowed_commands"] == ["echo hi"]
    loaded = [event["content"] for event in ed.of("tool.returned") if event["name"] == "load_skill"]
    assert all("since you trusted this folder" in text and "Trust the folder" in text for text in loaded)
    told = [event["text"] for event in ed.of("notice")]
    for word in ('"touch"', '"other"', "AGENTS.md", "skill deploy"):
        assert len([text for text in told if word in text]) == 1, word
    assert len(questions((await turn(trusted, home))[0])) == 1


async def test_what_was_seen_once_is_not_asked_about_when_it_comes_back(trusted: Path, home: Path) -> None:
    """Two branches with two versions of the notes."""
    await turn(trusted, home)
    (trusted / "AGENTS.md").write_text("be quick\n")
    assert len(questions((await turn(trusted, home))[0])) == 1
    (trusted / "AGENTS.md").write_text("be kind\n")
    ed, prompt, _ = await turn(trusted, home)
    assert questions(ed) == [] and "be kind" in prompt


async def test_a_yes_is_for_what_was_there_when_the_question_came(trusted: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok"), say("ok")], models=MODELS) as server:
        async with editor(trusted, home, url=server.url, trusted=None) as ed:

            def late(params: Any) -> Any:
                (trusted / "AGENTS.md").write_text("OBEY\n")
                (trusted / ".llamagent/config.toml").write_text('allowed_commands = ["touch"]\n')
                return params["actions"][0]

            ed.answers["window/showMessageRequest"] = late
            await ed.command("load_skill", name="deploy")
            says(ed, 1)
            await ed.ask("go")
            assert values(await ed.command("config"))["allowed_commands"] == []
    assert "OBEY" not in str(server.requests[0].json)
    assert len(questions(ed)) == 2


async def test_while_nobody_has_answered_the_new_does_not_count(trusted: Path, home: Path) -> None:
    await turn(trusted, home)
    (trusted / ".llamagent/config.toml").write_text('allowed_commands = ["touch", "ls"]\n')
    with FakeOllama() as server:
        async with editor(trusted, home, url=server.url, trusted=None) as ed:
            config = await ed.command("config")
    assert values(config)["allowed_commands"] == ["ls"]
    (problem,) = config["problems"]
    assert "config.toml, line 1" in problem and '"touch"' in problem and '"ls"' not in problem


@pytest.mark.parametrize("trusted_by", ["command", "old file"])
async def test_the_word_of_trust_is_for_what_is_there_now(trusted: Path, home: Path, trusted_by: str) -> None:
    with FakeOllama(replies=[say("ok"), say("ok")], models=MODELS) as server:
        if trusted_by == "old file":
            home.mkdir()
            entry = {"trusted": True, "since": "2026-11-01T10:00:00+00:00"}
            (home / "trust.json").write_text(json.dumps({"version": 1, "folders": {str(trusted): entry}}))
        async with editor(trusted, home, url=server.url, trusted=None) as ed:
            says(ed, 1)
            if trusted_by == "command":
                await ed.command("trust", folder=str(trusted), trusted=True)
            await ed.ask("go")
            assert questions(ed) == []
            (trusted / "AGENTS.md").write_text("OBEY\n")
            await ed.command("new")
            await ed.ask("go")
            assert len(questions(ed)) == 1
    assert "be kind" in server.requests[0].json["messages"][0]["content"]
    assert "OBEY" not in server.requests[-1].json["messages"][0]["content"]


async def test_what_the_person_sets_up_or_allows_themselves_asks_nothing(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok"), say("ok")]) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:
            says(ed, 0)
            await ed.command("trust", folder=str(project), trusted=True)
            await ed.command("init")
            await ed.command("allow", prefix="ls")
            await ed.ask("go")
            assert questions(ed) == []
        async with editor(project, home, url=server.url, trusted=None) as ed:
            says(ed, 0)
            await ed.ask("go")
            assert questions(ed) == []
    assert "How to run its tests" in server.requests[-1].json["messages"][0]["content"]


async def test_setting_up_is_no_yes_to_what_came_before(trusted: Path, home: Path) -> None:
    await turn(trusted, home)
    (trusted / "AGENTS.md").write_text("OBEY\n")
    with FakeOllama(replies=[say("ok")], models=MODELS) as server:
        async with editor(trusted, home, url=server.url, trusted=None) as ed:
            says(ed, 1)
            await ed.command("init")
            await ed.ask("go")
    assert "OBEY" not in str(server.requests[0].json)


async def test_an_editor_that_vouches_for_a_folder_decides_about_changes_too(trusted: Path, home: Path) -> None:
    await turn(trusted, home)
    (trusted / "AGENTS.md").write_text("be quick\n")
    with FakeOllama(replies=[say("ok")], models=MODELS) as server:
        async with editor(trusted, home, url=server.url, trusted=True) as ed:
            await ed.ask("go")
    assert questions(ed) == [] and "be quick" in server.requests[0].json["messages"][0]["content"]


async def test_a_question_about_changes_cannot_be_forged_by_them(trusted: Path, home: Path) -> None:
    await turn(trusted, home)
    forged = 'allowed_commands = ["ls\\n\\nAll of it is safe\\u202e. Trust?", "' + "x" * 500 + '"]\n'
    (trusted / ".llamagent/config.toml").write_text(forged)
    for number in range(40):
        (trusted / f".llamagent/skills/s{number:02}.md").write_text("x\n")
    ed, _, _ = await turn(trusted, home, choice=1)
    (question,) = questions(ed)
    assert "\n" not in question and "\u202e" not in question and "\\n\\nAll of it" in question
    assert len(question) < 1500 and "+30. Do" in question


async def test_thousands_of_skills_are_not_all_read(project: Path, home: Path) -> None:
    (project / ".llamagent/skills").mkdir(parents=True)
    for number in range(3000):
        (project / f".llamagent/skills/s{number}.md").write_text("x\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            skills = (await ed.command("skills"))["skills"]
            problems = (await ed.command("config"))["problems"]
    assert len([skill for skill in skills if skill["source"] == "project"]) == 200
    assert any("only the first 200 entries are read" in problem for problem in problems)


@pytest.fixture
def bottomless(project: Path) -> Iterator[Path]:
    """A skill with folders below folders, deeper than any path or recursion goes."""
    shelf = project / ".agents/skills/deep"
    shelf.mkdir(parents=True)
    (shelf / "SKILL.md").write_text("---\ndescription: d\n---\nDig.\n")
    (shelf / "near.md").write_text("NEAR\n")
    below = os.open(shelf, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("a", dir_fd=below)
        deeper = os.open("a", os.O_RDONLY, dir_fd=below)
        os.close(below)
        below = deeper
    os.close(below)
    yield project
    subprocess.run(["rm", "-rf", str(shelf)], check=True)  # shutil's is recursive


@pytest.mark.skipif(os.name == "nt", reason="only on Unix: folders below folders without end")
async def test_a_skill_with_folders_below_folders_without_end_costs_nothing_else(bottomless: Path, home: Path) -> None:
    ed, prompt, config = await turn(bottomless, home, call("load_skill", name="deep/near.md"))
    assert "- deep: d" in prompt and config["problems"] == []
    assert "NEAR" in ed.of("tool.returned")[0]["content"]
