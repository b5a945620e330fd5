"""Completion in a prompt, as a command and as LSP has it."""

from pathlib import Path
from typing import Any

import pytest

from llamagent_server.app.completion import Wanted, wanted
from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeModel, FakeOllama

PROMPT = "llamagent://prompt"


async def labels(ed: Editor, text: str, offset: int | None = None) -> list[str]:
    found = await ed.command("complete", text=text, offset=len(text) if offset is None else offset)
    return [item["label"] for item in found["items"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/co", Wanted("command", "co", 0)),
        ("/set_model qw", Wanted("set_model", "qw", 11)),
        ("look at @src/a", Wanted("file", "src/a", 8)),
        ('look at @"my fi', Wanted("file", "my fi", 8)),
        ("@", Wanted("file", "", 0)),
        ("me@example.org", None),
        ("a / b", None),
        ("hello", None),
        ("", None),
    ],
)
def test_what_is_being_typed(text: str, expected: Wanted | None) -> None:
    assert wanted(text, len(text)) == expected


async def test_paths_commands_and_names_are_offered(project: Path, home: Path) -> None:
    (project / "src").mkdir()
    for name in ("src/app.py", "src/apple.py", "my file.txt", "other.py"):
        (project / name).write_text("x\n")
    with FakeOllama(models=[FakeModel(), FakeModel("other:7b")]) as server:
        async with editor(project, home, url=server.url) as ed:
            assert await labels(ed, "see @app") == ["@src/app.py", "@src/apple.py"]
            await ed.open("src/apple.py")
            assert await labels(ed, "see @app") == ["@src/apple.py", "@src/app.py"]
            assert await labels(ed, "see @my") == ['@"my file.txt"']
            assert await labels(ed, "/comp") == ["/compact"]
            assert await labels(ed, "/set_model o") == ["other:7b"]
            assert "fix-a-bug" in await labels(ed, "/load_skill ")
            assert await labels(ed, "mail me@app") == []


async def test_a_prompt_that_is_a_document_is_completed_and_no_other(project: Path, home: Path) -> None:
    (project / "app.py").write_text("x\n")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            item = {"uri": PROMPT, "languageId": "llamagent", "version": 1, "text": "first\n\U0001f600 see @ap"}
            await ed.client.notify("textDocument/didOpen", {"textDocument": item})
            await ed.open("app.py", "@ap")

            async def complete(uri: str, line: int, character: int) -> Any:
                ed.client._ids += 1
                number = ed.client._ids
                future = ed.expect(number)
                params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
                request = {"jsonrpc": "2.0", "id": number, "method": "textDocument/completion", "params": params}
                await ed.client.send(request)
                return (await future)["result"]

            (found,) = await complete(PROMPT, 1, 10)
            assert await complete(ed.uri("app.py"), 0, 3) == []
    assert found["textEdit"] == {
        "newText": "@app.py",
        "range": {"start": {"line": 1, "character": 7}, "end": {"line": 1, "character": 10}},
    }
