"""`init` makes what a project lacks, through the gate, and never touches what is there."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, call, say

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


async def test_all_that_would_be_made_is_shown_before_the_yes(project: Path, home: Path) -> None:
    before: list[list[str]] = []
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:

            def look(params: Any) -> Any:
                before.append(files(project))
                return ed.accept(params)

            ed.answers["workspace/applyEdit"] = look
            await ed.command("init")
            (shown,) = ed.asked("workspace/applyEdit")
    texts = {
        op["textDocument"]["uri"]: "".join(edit["newText"] for edit in op["edits"])
        for op in shown["edit"]["documentChanges"]
        if "edits" in op
    }
    assert before == [[]]
    made = {name: (project / name).read_text() for name in ["AGENTS.md", *OURS]}
    assert texts == {ed.uri(name): text for name, text in made.items()}
    assert all(made.values())


async def test_without_a_review_the_question_names_all_and_shows_their_texts(project: Path, home: Path) -> None:
    titles = iter(["Show diff", "Accept"])
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, flags={}) as ed:
            ed.answers["window/showMessageRequest"] = lambda _: {"title": next(titles)}
            assert await ed.command("init") == {"created": ["AGENTS.md", *OURS], "skipped": []}
            first, second = ed.asked("window/showMessageRequest")
    assert all(name in first["message"] for name in ["AGENTS.md", *OURS])
    for name in ["AGENTS.md", *OURS]:
        assert set(second["message"].splitlines()) >= {f"+{line}" for line in (project / name).read_text().splitlines()}


async def test_no_tool_proposes_what_init_does(project: Path, home: Path) -> None:
    replies = [call("write_file", path=OURS[0], content='model = "x"\n'), say("done")]
    with FakeOllama(replies=replies) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("set it up")
            assert ed.asked("workspace/applyEdit") == []
    assert not (project / OURS[0]).exists()


async def test_what_is_there_stays(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("mine\n")
    (project / ".llamagent/skills").mkdir(parents=True)
    (project / ".llamagent/config.toml").write_text("temperature = 1\n")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            done = await ed.command("init")
            (shown,) = ed.asked("workspace/applyEdit")
            assert {op["uri"] for op in shown["edit"]["documentChanges"] if "uri" in op} == set(map(ed.uri, OURS[1:]))
    assert done == {"created": OURS[1:], "skipped": ["AGENTS.md", OURS[0]]}
    assert (project / "AGENTS.md").read_text() == "mine\n"
    assert (project / ".llamagent/config.toml").read_text() == "temperature = 1\n"


@pytest.mark.parametrize("answer", [{"applied": False}, None, {"applied": True}])
async def test_without_a_yes_nothing_is_made(project: Path, home: Path, answer: Any) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["workspace/applyEdit"] = lambda _: answer
            done = await ed.command("init")
    assert done == {"created": [], "skipped": []}
    assert files(project) == []


@pytest.mark.parametrize(("locale", "words"), [("en", "Nothing was made."), ("de", "Es wurde nichts angelegt.")])
async def test_a_typed_init_that_is_refused_says_so_and_names_only_what_is_there(
    project: Path, home: Path, locale: str, words: str
) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, locale=locale) as ed:
            ed.answers["workspace/applyEdit"] = lambda _: {"applied": False}
            assert (await ed.ask("/init"))["answer"] == words
            (project / "AGENTS.md").write_text("mine\n")
            assert (await ed.command("init"))["skipped"] == ["AGENTS.md"]
            assert (await ed.ask("/init"))["answer"].splitlines()[0] == words


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
