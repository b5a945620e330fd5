"""Another folder is opened while a question is open: the answer is about the folder that the question named."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, say


@pytest.fixture
def other(tmp_path: Path) -> Path:
    root = tmp_path / "other"
    root.mkdir()
    return root


def moving(ed: Editor, folder: Path, answer: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
    """Answer the first question once `folder` is open instead of the project, each later one at once."""
    moved: list[bool] = []

    async def answered(params: Any) -> Any:
        if not moved:
            moved.append(True)
            await move(ed, folder)
        return answer(params)

    return answered


async def move(ed: Editor, folder: Path) -> None:
    event = {
        "added": [{"uri": folder.as_uri(), "name": folder.name}],
        "removed": [{"uri": ed.root.as_uri(), "name": ed.root.name}],
    }
    await ed.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    await ed.command("help")  # answered after the notification was taken


async def test_trust_goes_to_the_folder_that_the_question_named(project: Path, other: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("Use tabs.\n")
    (other / "AGENTS.md").write_text("EVIL ORDERS\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url, trusted=None) as ed:

            def trusts_the_project(params: Any) -> Any:
                return params["actions"][0] if str(project) in params["message"] else None

            ed.answers["window/showMessageRequest"] = moving(ed, other, trusts_the_project)
            await ed.ask("go")
            asked = [params["message"] for params in ed.asked("window/showMessageRequest")]
    remembered = json.loads((home / "trust.json").read_text())["folders"]
    assert {folder: entry["trusted"] for folder, entry in remembered.items()} == {str(project): True}
    assert "EVIL" not in str(server.requests[0].json)
    assert [str(other) in message for message in asked] == [False, True]


async def test_new_notes_count_only_in_the_folder_that_the_question_named(
    project: Path, other: Path, home: Path
) -> None:
    with FakeOllama(replies=[say("ok")]) as server:
        for folder in (project, other):
            (folder / "AGENTS.md").write_text("Use tabs.\n")
            async with editor(folder, home, url=server.url, trusted=None) as ed:
                await ed.command("trust", folder=str(folder), trusted=True)
        async with editor(project, home, url=server.url, trusted=None) as ed:
            (project / "AGENTS.md").write_text("Use blanks.\n")
            (other / "AGENTS.md").write_text("EVIL ORDERS\n")

            def knows_the_project(params: Any) -> Any:
                return params["actions"][0] if str(project) in params["message"] else None

            ed.answers["window/showMessageRequest"] = moving(ed, other, knows_the_project)
            await ed.ask("go")
    assert "EVIL" not in str(server.requests[0].json)
    remembered = json.loads((home / "trust.json").read_text())["folders"]
    assert len(remembered[str(project)]["seen"]) == 2


@pytest.mark.parametrize("answer", ["run", "always"])
async def test_a_command_does_not_run_in_another_folder_than_the_question_named(
    project: Path, other: Path, home: Path, answer: str
) -> None:
    script = [call("run_command", command="pwd > ran"), say("ok"), call("run_command", command="pwd > ran"), say("ok")]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["llamagent/consent"] = moving(ed, other, lambda _: {"decision": answer})
            await ed.ask("go")
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}
            await ed.ask("again")
            asked = [params["cwd"] for params in ed.asked("llamagent/consent")]
    assert asked == [str(project), str(other)]
    assert [event["ok"] for event in ed.of("tool.returned")] == [False, False]
    assert "another folder was opened" in ed.of("tool.returned")[0]["content"]
    assert not (project / "ran").exists() and not (other / "ran").exists()


async def test_what_was_allowed_for_the_session_is_asked_again_in_another_folder(
    project: Path, other: Path, home: Path
) -> None:
    ran = call("run_command", command="touch ran")
    made = call("run_command", command="touch made")
    with FakeOllama(replies=[ran, made, say("ok"), ran, made, say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.command("allow", prefix="touch made")
            ed.answers["llamagent/consent"] = lambda _: {"decision": "always"}
            await ed.ask("go")
            assert (project / "ran").exists() and (project / "made").exists()
            assert len(ed.asked("llamagent/consent")) == 1
            await move(ed, other)
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}
            await ed.ask("again")
            asked = [params["command"] for params in ed.asked("llamagent/consent")]
    assert asked == ["touch ran", "touch ran", "touch made"]
    assert list(other.iterdir()) == []


async def test_a_file_with_keys_that_was_shown_is_asked_about_again_in_another_folder(
    project: Path, other: Path, home: Path
) -> None:
    (project / ".env").write_text("KEY=mine\n")
    (other / ".env").write_text("KEY=theirs\n")
    read = call("read_file", path=".env")
    with FakeOllama(replies=[read, say("ok"), read, say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["window/showMessageRequest"] = lambda params: params["actions"][0]
            await ed.ask("go")
            assert "KEY=mine" in str(server.requests[-1].json)
            await move(ed, other)
            ed.answers["window/showMessageRequest"] = lambda params: params["actions"][1]
            await ed.ask("again")
            assert len(ed.asked("window/showMessageRequest")) == 2
    assert "KEY=theirs" not in str(server.requests[-1].json)


async def test_a_yes_to_a_file_with_keys_shows_no_other_folders(project: Path, other: Path, home: Path) -> None:
    for folder in (project, other):
        (folder / ".env").write_text(f"KEY={folder.name}\n")
    with FakeOllama(replies=[call("read_file", path=".env"), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:

            def shows_the_first(params: Any) -> Any:
                return params["actions"][len(ed.asked("window/showMessageRequest")) - 1]

            ed.answers["window/showMessageRequest"] = moving(ed, other, shows_the_first)
            await ed.ask("go")
            assert len(ed.asked("window/showMessageRequest")) == 2
    assert "KEY=other" not in str(server.requests[-1].json)
