"""The home folder as a workspace: what lies in it is the user's own."""

from pathlib import Path

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, say


async def test_the_users_own_settings_are_no_projects_that_must_be_trusted(project: Path) -> None:
    own = project / ".llamagent"
    own.mkdir()
    (own / "server.toml").write_text("max_steps = 7\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, own, url=server.url, trusted=None) as ed:
            await ed.ask("go")
            config = await ed.command("config")
    assert ed.asked("window/showMessageRequest") == []
    (told,) = ed.of("notice")  # nothing of settings that do not count
    assert "is your home folder" in told["text"]
    assert {row["key"]: row["value"] for row in config["settings"]}["max_steps"] == 7


async def test_notes_in_the_home_are_asked_about_as_anywhere(project: Path) -> None:
    (project / "AGENTS.md").write_text("be kind\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, project / ".llamagent", url=server.url, trusted=None) as ed:
            ed.answers["window/showMessageRequest"] = lambda params: params["actions"][1]
            await ed.ask("go")
    assert len(ed.asked("window/showMessageRequest")) == 1
