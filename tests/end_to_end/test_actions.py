"""Code actions over real stdio: what is offered where, and the turn that each one starts."""

from pathlib import Path
from typing import Any

import pytest

from llamagent_server.lsp.comments import asked_in_comment
from tests.end_to_end.editor import CAPABILITIES, FLAGS, Editor, editor
from tests.fakes import FakeOllama, say

CODE = "import os\n\n\ndef f(x):\n    # llamagent: add a docstring\n    return y\n"
UNDEFINED = {
    "range": {"start": {"line": 5, "character": 11}, "end": {"line": 5, "character": 12}},
    "severity": 1,
    "source": "pyflakes",
    "code": "F821",
    "message": "undefined name 'y'",
    "data": {"id": 7},
}
NO_FLAGS: dict[str, bool] = {}
LITERALS = {
    **CAPABILITIES,
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}}},
}


async def actions(
    ed: Editor,
    uri: str,
    span: tuple[int, int, int, int],
    diagnostics: tuple[dict[str, Any], ...] = (),
    only: list[str] | None = None,
) -> list[dict[str, Any]]:
    start, end = {"line": span[0], "character": span[1]}, {"line": span[2], "character": span[3]}
    context: dict[str, Any] = {"diagnostics": list(diagnostics), "triggerKind": 1}
    if only is not None:
        context["only"] = only
    params = {"textDocument": {"uri": uri}, "range": {"start": start, "end": end}, "context": context}
    found: list[dict[str, Any]] = await ed.request("textDocument/codeAction", params)
    return found


def titles(found: list[dict[str, Any]]) -> list[str]:
    return [action["title"] for action in found]


async def choose(ed: Editor, action: dict[str, Any]) -> Any:
    """As an editor does: the command is sent back as it came."""
    command = action["command"] if isinstance(action["command"], dict) else action
    params = {"command": command["command"], "arguments": command["arguments"]}
    return await ed.request("workspace/executeCommand", params)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("# llamagent: do it", "do it"),
        ("    // llamagent: do it", "do it"),
        ("-- Llamagent: do it", "do it"),
        (";; llamagent: do it", "do it"),
        ("% llamagent: do it", "do it"),
        ("/* llamagent: do it */", "do it"),
        ("<!-- llamagent: do it -->", "do it"),
        ('" llamagent: do it', "do it"),
        ("' llamagent: do it", "do it"),
        ("(* llamagent: do it *)", "do it"),
        ("{- llamagent: do it -}", "do it"),
        ("{# llamagent: do it #}", "do it"),
        (" * llamagent: do it", "do it"),
        ("REM llamagent: do it", "do it"),
        ("--[[ llamagent: do it ]]", "do it"),
        ("/// llamagent: a -> b\r\n", "a -> b"),
        ('# llamagent: say "hi"', 'say "hi"'),
        ('" llamagent: say "hi"', 'say "hi"'),
        ('" llamagent: say hi "', "say hi"),
        ("# llamagent:", None),
        ("# llamagent:   ", None),
        ("llamagent: do it", None),
        ("x = 1  # llamagent: do it", None),
        ("# ask llamagent: do it", None),
        ("# llamagents: do it", None),
        ("- llamagent: 1.0", None),
        ("", None),
    ],
)
def test_a_comment_that_asks(line: str, asked: str | None) -> None:
    assert asked_in_comment(line) == asked


async def test_a_problem_is_mended_with_what_the_editor_said_of_it(project: Path, home: Path) -> None:
    (project / "a.py").write_text(CODE)
    with FakeOllama(replies=[say("mended")]) as server:
        async with editor(project, home, url=server.url, flags=NO_FLAGS, capabilities=LITERALS) as ed:
            await ed.open("a.py")
            (fix,) = await actions(ed, ed.uri("a.py"), (5, 11, 5, 11), (UNDEFINED,))
            assert (fix["title"], fix["kind"]) == ("Fix with llamagent", "quickfix")
            assert fix["diagnostics"] == [UNDEFINED]
            started = await choose(ed, fix)
            assert set(started) == {"session", "turn"}
            await ed.until(lambda: any(p["message"] == "mended" for p in ed.asked("window/showMessage")))
            progress = [params["value"]["kind"] for params in ed.asked("$/progress")]
    sent = server.requests[0].json["messages"][-1]["content"]
    assert "Fix this problem." in sent and "6: error: undefined name 'y' (pyflakes)" in sent
    assert "a.py lines 1-6" in sent and "return y" in sent
    assert progress == []  # this client did not answer window/workDoneProgress/create


async def test_a_detached_turn_has_progress_with_a_button_that_cancels_it(project: Path, home: Path) -> None:
    (project / "a.py").write_text(CODE)
    with FakeOllama(replies=[say("never", before=60)]) as server:
        async with editor(project, home, url=server.url, flags=NO_FLAGS, capabilities=LITERALS) as ed:
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            await ed.open("a.py")
            (ask,) = await actions(ed, ed.uri("a.py"), (4, 0, 4, 0))
            await choose(ed, ask)
            await ed.until(lambda: any(p["value"]["kind"] == "report" for p in ed.asked("$/progress")))
            begun = ed.asked("$/progress")[0]
            assert begun["value"] == {
                "kind": "begin",
                "title": "llamagent works",
                "cancellable": True,
                "message": "add a docstring",
            }
            await ed.client.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
            await ed.until(lambda: ed.asked("$/progress")[-1]["value"]["kind"] == "end")
            assert (await ed.command("cancel"))["cancelled"] is False


async def test_a_comment_asks_what_it_says(project: Path, home: Path) -> None:
    (project / "a.py").write_text(CODE)
    with FakeOllama(replies=[say("done")]) as server:
        async with editor(project, home, url=server.url, flags=NO_FLAGS, capabilities=LITERALS) as ed:
            await ed.open("a.py", CODE.replace("docstring", "type"))
            (ask,) = await actions(ed, ed.uri("a.py"), (4, 9, 4, 9))
            assert (ask["title"], ask["kind"]) == ("Ask llamagent: add a type", "llamagent.ask")
            await choose(ed, ask)
            await ed.until(lambda: bool(server.requests))
    sent = server.requests[0].json["messages"][-1]["content"]
    assert sent.startswith("add a type") and "# llamagent: add a type" in sent


async def test_a_selection_is_explained_and_asked_about_where_the_client_can_be_asked(
    project: Path, home: Path
) -> None:
    (project / "a.py").write_text(CODE)
    with FakeOllama(replies=[say("it is"), say("because")]) as server:
        async with editor(project, home, url=server.url, flags={**FLAGS, "prompt": True}, capabilities=LITERALS) as ed:
            await ed.open("a.py")
            explain, about = await actions(ed, ed.uri("a.py"), (3, 0, 4, 0))
            assert titles([explain, about]) == ["Explain with llamagent", "Ask about this…"]
            await choose(ed, explain)
            await ed.until(lambda: len(ed.of("turn.ended")) == 1)
            ed.answers["llamagent/input"] = lambda _: {"text": " why? "}
            assert set(await choose(ed, about)) == {"session", "turn"}
            await ed.until(lambda: len(ed.of("turn.ended")) == 2)
            assert ed.asked("llamagent/input") == [{"title": "Ask about this…", "text": ""}]
            ed.answers["llamagent/input"] = lambda _: {"text": None}
            assert await choose(ed, about) == {"cancelled": True}
        async with editor(project, home, url=server.url, flags=NO_FLAGS, capabilities=LITERALS) as ed:
            await ed.open("a.py")
            assert titles(await actions(ed, ed.uri("a.py"), (3, 0, 4, 0))) == ["Explain with llamagent"]
            assert (await ed.failing("ask_about"))["data"]["kind"] == "bad_argument"
    first, second = (request.json["messages"][-1]["content"] for request in server.requests)
    assert "def f(x):" in first and "return y" not in first
    assert second.startswith("why?") and "def f(x):" in second


async def test_a_client_without_literals_gets_commands(project: Path, home: Path) -> None:
    (project / "a.py").write_text(CODE)
    with FakeOllama(replies=[say("done")]) as server:
        async with editor(project, home, url=server.url, flags=NO_FLAGS, capabilities={}) as ed:
            await ed.open("a.py")
            found = await actions(ed, ed.uri("a.py"), (4, 0, 5, 3), (UNDEFINED,))
            assert titles(found) == ["Fix with llamagent", "Ask llamagent: add a docstring", "Explain with llamagent"]
            assert {frozenset(action) for action in found} == {frozenset({"title", "command", "arguments"})}
            await choose(ed, found[1])
            await ed.until(lambda: bool(server.requests))


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["quickfix"], ["Fix with llamagent"]),
        (["llamagent"], ["Ask llamagent: add a docstring", "Explain with llamagent"]),
        (["llamagent.explain"], ["Explain with llamagent"]),
        (["source.organizeImports", "refactor"], []),
        (["quick"], []),
        ([""], ["Fix with llamagent", "Ask llamagent: add a docstring", "Explain with llamagent"]),
    ],
)
async def test_only_what_is_asked_for_is_offered(
    project: Path, home: Path, only: list[str], expected: list[str]
) -> None:
    (project / "a.py").write_text(CODE)
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, capabilities=LITERALS) as ed:
            await ed.open("a.py")
            assert titles(await actions(ed, ed.uri("a.py"), (4, 0, 5, 3), (UNDEFINED,), only)) == expected


async def test_nothing_is_offered_where_it_makes_no_sense(project: Path, home: Path) -> None:
    (project / "a.py").write_text(CODE)
    (project / ".vscode").mkdir()
    (project / ".vscode/settings.json").write_text("# llamagent: x\n")
    (home.parent / "outside.py").write_text("x\n")
    ours = {**UNDEFINED, "source": "llamagent"}
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, trusted=False, capabilities=LITERALS) as ed:
            await ed.open("a.py")
            uri = ed.uri("a.py")
            assert await actions(ed, uri, (0, 0, 0, 0)) == []  # no problem, no selection, no comment
            assert await actions(ed, uri, (1, 0, 3, 0)) == []  # blank lines
            assert await actions(ed, uri, (99, 0, 99, 0)) == []
            assert await actions(ed, uri, (0, 0, 0, 0), (ours,)) == []
            # A comment in a folder that the person does not trust may be anybody's.
            assert await actions(ed, uri, (4, 9, 4, 9)) == []
            assert await actions(ed, ed.uri("unopened.py"), (0, 0, 1, 0)) == []
            await ed.open(".vscode/settings.json")
            assert await actions(ed, ed.uri(".vscode/settings.json"), (0, 0, 0, 0), (UNDEFINED,)) == []
            outside = (home.parent / "outside.py").as_uri()
            for odd in (outside, "output:log", "llamagent://prompt"):
                item = {"uri": odd, "languageId": "python", "version": 1, "text": "# llamagent: x\n"}
                await ed.client.notify("textDocument/didOpen", {"textDocument": item})
            assert await actions(ed, outside, (0, 0, 0, 0), (UNDEFINED,)) == []
            assert await actions(ed, "output:log", (0, 0, 0, 9), (UNDEFINED,)) == []
            assert await actions(ed, "llamagent://prompt", (0, 0, 0, 9), (UNDEFINED,)) == []


async def test_positions_are_the_clients_and_titles_hide_nothing(project: Path, home: Path) -> None:
    (project / "a.py").write_text("x = '\U0001f600 secret'\n# llamagent: a\u202eb\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url, capabilities=LITERALS, locale="fr_CA.UTF-8") as ed:
            await ed.open("a.py")
            (ask,) = await actions(ed, ed.uri("a.py"), (1, 0, 1, 0))
            assert ask["title"] == "Demander à llamagent : a\\u202eb"
            (explain,) = await actions(ed, ed.uri("a.py"), (0, 8, 0, 14))
            assert explain["title"] == "Expliquer avec llamagent"
            await choose(ed, explain)
            await ed.until(lambda: bool(server.requests))
    sent = server.requests[0].json["messages"]
    assert "```\nsecret\n```" in sent[-1]["content"]
    assert "Answer in French." in sent[0]["content"]
