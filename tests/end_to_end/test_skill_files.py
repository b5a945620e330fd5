"""Skills while a person edits them: what is wrong in the header, what a key does, what can stand there."""

from pathlib import Path
from typing import Any

from tests.end_to_end.editor import CAPABILITIES, Editor, editor
from tests.end_to_end.test_settings_files import at, told
from tests.fakes import FakeOllama
from tests.lsp.rawclient import SERVE, daemon

SKILL = ".llamagent/skills/pdf/SKILL.md"
PULLS = {**CAPABILITIES, "textDocument": {"diagnostic": {"dynamicRegistration": False}}}


def made(project: Path, path: str, text: str) -> str:
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text(text)
    return path


async def test_a_header_is_judged_while_it_is_edited(project: Path, home: Path) -> None:
    path = made(project, SKILL, "")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open(path)
            found = await told(ed, path, "---\nname: pfd\ndescripton: x\n---\n")
            assert [(line, severity) for line, severity, _ in found] == [(0, 2), (1, 2), (2, 2)]
            assert "not that of the folder" in found[1][2] and 'Did you mean "description"?' in found[2][2]
            assert await told(ed, path, "---\nname: pdf\ndescription: x\n---\n") == []
            ((line, severity, words),) = await told(ed, path, "---\nname: pdf\ndescription: a: b\n---\n")
            assert (line, severity) == (2, 1) and "no valid YAML" in words
            ((line, severity, words),) = await told(ed, path, f"---\nname: pdf\ndescription: {'x' * 300}\n---\n")
            assert (line, severity) == (2, 3) and "first 200 characters" in words


async def test_a_key_is_explained_and_keys_and_the_name_are_offered(project: Path, home: Path) -> None:
    path = made(project, ".agents/skills/pdf/SKILL.md", "---\nname: \ndescription: x\nli\n---\ndescription\n")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, trusted=False) as ed:
            await ed.open(path)
            hover = (await at(ed, "textDocument/hover", path, 2, 3))["contents"]["value"]
            assert "when to use it" in hover and "at most 1024" in hover
            assert await at(ed, "textDocument/hover", path, 5, 3) is None
            names = [item["label"] for item in await at(ed, "textDocument/completion", path, 1, 6)]
            assert names == ["pdf"]
            keys = {item["label"] for item in await at(ed, "textDocument/completion", path, 3, 2)}
            assert keys == {"license", "compatibility", "metadata", "allowed-tools"}
            assert await at(ed, "textDocument/completion", path, 5, 3) == []
            await ed.change(path, "")
            (whole,) = await at(ed, "textDocument/completion", path, 0, 0)
            assert whole["insertText"] == "---\nname: pdf\ndescription: \n---\n"


async def test_other_markdown_is_nobodys_business(project: Path, home: Path) -> None:
    paths = ["SKILL.md", ".llamagent/skills/pdf/notes.md", "docs/skills/pdf/SKILL.md", ".llamagent/skills/a/b/SKILL.md"]
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            for path in paths:
                await ed.open(made(project, path, "---\nnmae: x\n---\n"))
                assert await at(ed, "textDocument/hover", path, 1, 1) is None
            assert ed.asked("textDocument/publishDiagnostics") == []


async def pulled(ed: Editor, path: str) -> list[dict[str, Any]]:
    report = await ed.request("textDocument/diagnostic", {"textDocument": {"uri": ed.uri(path)}})
    assert report["kind"] == "full"
    items: list[dict[str, Any]] = report["items"]
    return items


async def test_a_client_that_pulls_problems_is_told_them_only_so(project: Path, home: Path) -> None:
    skill = made(project, SKILL, "---\nnmae: pdf\n---\n")
    config = made(project, ".llamagent/config.toml", 'modle = "a"\n')
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, capabilities=PULLS) as ed:
            for path in (skill, config, made(project, "a.py", "x\n"), made(project, "b.toml", "modle = 1\n")):
                await ed.open(path)
            assert 'Did you mean "name"?' in str(await pulled(ed, skill))
            (problem,) = await pulled(ed, config)
            assert problem["source"] == "llamagent" and 'Did you mean "model"' in problem["message"]
            await ed.change(config, 'model = "a"\n')
            assert await pulled(ed, config) == await pulled(ed, "a.py") == await pulled(ed, "b.toml") == []
            assert ed.asked("textDocument/publishDiagnostics") == []


async def test_pulling_is_offered_only_to_who_declares_it(home: Path) -> None:
    for able, offered in ((CAPABILITIES, False), (PULLS, True)):
        async with daemon(SERVE, LLAMAGENT_HOME=str(home)) as client:
            answer = await client.initialize(capabilities=able)
            assert ("diagnosticProvider" in answer["result"]["capabilities"]) is offered
