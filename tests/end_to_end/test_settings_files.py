"""The settings files while they are edited: what is said of them, over real stdio."""

from pathlib import Path
from typing import Any

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama


async def told(ed: Editor, path: str, text: str) -> list[tuple[int, int, str]]:
    """Line, severity and words of the diagnostics for a new text of the open document."""
    await ed.change(path, text)
    version = ed.versions[ed.uri(path)]
    await ed.until(lambda: any(p.get("version") == version for p in ed.asked("textDocument/publishDiagnostics")))
    found = ed.asked("textDocument/publishDiagnostics")[-1]
    assert found["uri"] == ed.uri(path)
    return [(item["range"]["start"]["line"], item["severity"], item["message"]) for item in found["diagnostics"]]


async def at(ed: Editor, method: str, path: str, line: int, character: int) -> Any:
    position = {"line": line, "character": character}
    return await ed.request(method, {"textDocument": {"uri": ed.uri(path)}, "position": position})


async def test_what_does_not_count_is_said_while_it_is_typed(project: Path, home: Path) -> None:
    path = ".llamagent/config.toml"
    (project / ".llamagent").mkdir()
    (project / path).write_text('model = "a"\n')
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open(path)
            found = await told(
                ed, path, 'modle = "a"\nnum_ctx = "x"\ntemperature = 9\nurl = "http://x"\nmax_steps = 3\n'
            )
            assert [(line, severity) for line, severity, _ in found] == [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2)]
            words = [message for _, _, message in found]
            assert 'Did you mean "model"' in words[0]
            assert "from 2048 to 131072" in words[1] and "from 0 to 2" in words[2]
            assert "a project can never set" in words[3] and "belongs in server.toml" in words[4]
            # A broken line hides nothing of the others.
            found = await told(ed, path, 'model = \nmodle = "a"\n')
            assert [(line, severity) for line, severity, _ in found] == [(0, 1), (1, 2)]
            assert await told(ed, path, 'model = "a"\nallowed_commands = [\n  "num_ctx = 1",\n]\n') == []
            ((line, severity, message),) = await told(ed, path, 'model = "a"\nallowed_commands = ["rm -rf; ls"]\n')
            assert (line, severity) == (1, 2) and message.endswith('these never count: "rm -rf; ls".')
            before = len(ed.asked("textDocument/publishDiagnostics"))
            await ed.client.notify("textDocument/didClose", {"textDocument": {"uri": ed.uri(path)}})
            await ed.until(lambda: len(ed.asked("textDocument/publishDiagnostics")) > before)
            assert ed.asked("textDocument/publishDiagnostics")[-1]["diagnostics"] == []


async def test_a_key_is_explained_and_keys_and_values_are_offered(project: Path, home: Path) -> None:
    path = ".llamagent/server.toml"
    (project / ".llamagent").mkdir()
    (project / path).write_text("max_steps = 3\n")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open(path)
            hover = (await at(ed, "textDocument/hover", path, 0, 2))["contents"]["value"]
            assert "from 1 to 200" in hover and "Default: `15`" in hover
            assert "Now: `3` (.llamagent/server.toml)" in hover
            await ed.change(path, "max_steps = 3\nsa\nthink = \n= broken")
            offered = [item["label"] for item in await at(ed, "textDocument/completion", path, 1, 2)]
            assert "save" in offered
            assert not {"max_steps", "think", "sandbox", "model"} & set(offered)
            values = [item["label"] for item in await at(ed, "textDocument/completion", path, 2, 8)]
            assert values == ["true", "false", '"low"', '"medium"', '"high"']
            assert await at(ed, "textDocument/hover", path, 3, 1) is None


async def test_other_toml_files_are_nobodys_business(project: Path, home: Path) -> None:
    for path in ("config.toml", "sub/.llamagent/config.toml"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("modle = 1\n")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            for path in ("config.toml", "sub/.llamagent/config.toml"):
                await ed.open(path)
                assert await at(ed, "textDocument/hover", path, 0, 1) is None
            assert ed.asked("textDocument/publishDiagnostics") == []
