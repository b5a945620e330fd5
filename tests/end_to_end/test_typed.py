"""Commands typed in a prompt that is sent as an ask: they do the same as the command, and answer in words."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.lsp.wire import COMMANDS
from llamagent_server.lsp.wire_slash import WORDS, Mistyped, Typed, read
from tests.end_to_end.editor import CAPABILITIES, editor
from tests.fakes import FakeModel, FakeOllama, call, say

BARE: dict[str, bool] = {}


@pytest.mark.parametrize(
    ("text", "command", "arguments"),
    [
        ("/compact", "compact", {}),
        ("/compact  ", "compact", {}),
        ("/model qwen3.5:9b", "set_model", {"value": "qwen3.5:9b"}),
        ("/set_model a b", "set_model", {"value": "a b"}),
        ("/temp 0.5", "set_temperature", {"value": 0.5}),
        ("/ctx 4096", "set_num_ctx", {"value": 4096}),
        ("/temp 0,5", "set_temperature", {"value": 0.5}),
        ("/Help", "help", {}),
        ("/skill review", "load_skill", {"name": "review"}),
        ("/resume", "resume", {}),
        ("/resume 2", "resume", {"ref": 2}),
        ("/delete abc", "delete_session", {"ref": "abc"}),
        ("/retry say it shorter", "retry", {"text": "say it shorter"}),
        ("/undo", "undo_turn", {}),
        ("/disallow make", "allow", {"prefix": "make", "revoke": True}),
    ],
)
def test_a_line_that_is_a_command(text: str, command: str, arguments: dict[str, object]) -> None:
    typed = read(text)
    assert isinstance(typed, Typed)
    assert (typed.row.command, typed.arguments, typed.problem) == (command, arguments, None)


@pytest.mark.parametrize(
    "text",
    [
        "/etc/hosts is wrong on this machine",
        "/usr",
        "/usr is full",
        "/home/me/app.py fails",
        "/Users/me",
        "//compact",
        " /compact",
        "/compact\nand go on",
        "/ compact",
        "/3 things",
        "/api/users returns 500",
        "compact",
        "",
    ],
)
def test_a_prompt_that_is_for_the_model(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("/modle x", "model"), ("/compat", "compact"), ("/skils", "skills"), ("/frobnicate", None), ("/", None)],
)
def test_a_mistyped_command_names_the_nearest(text: str, nearest: str | None) -> None:
    typed = read(text)
    assert isinstance(typed, Mistyped)
    assert typed.nearest == nearest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/skill", "Say /skill NAME."),
        ("/clear now", "/clear takes nothing after it."),
        ("/delete", "Say /delete NUMBER."),
        ("/ctx lots", "/ctx takes a whole number."),
        ("/ctx 4096.5", "/ctx takes a whole number."),
        ("/temp 0.5 please", "/temp takes a number."),
        ("/export html", "/export takes one of these: markdown, json."),
    ],
)
def test_what_is_wrong_with_how_it_was_typed(text: str, problem: str) -> None:
    typed = read(text)
    assert isinstance(typed, Typed)
    assert typed.problem == problem


def test_every_word_is_of_a_command_and_stands_once() -> None:
    names = {command.name for command in COMMANDS if command.served}
    assert {row.command for row in WORDS} <= names
    assert len({row.word for row in WORDS}) == len(WORDS)
    not_typed = {"ask", "complete", "unqueue", "trace", "ask_about"}
    assert names - {row.command for row in WORDS} == not_typed


async def test_commands_typed_in_an_ask_do_what_the_command_does(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n" * 50)
    with FakeOllama(
        replies=[call("read_file", path="a.txt"), say("Fifty lines."), say("They talked of a.txt.")]
    ) as server:
        async with editor(project, home, url=server.url, flags=BARE) as ed:
            await ed.ask("what is in a.txt?")
            asked = len(server.requests)
            assert "temperature is now 0.7, for this session; it was 0.2." in (await ed.ask("/temp 0.7"))["answer"]
            assert (await ed.ask("/temp"))["answer"] == "temperature: 0.7 (session)"
            assert "num_ctx is now 4096" in (await ed.ask("/ctx 4096"))["answer"]
            assert "loaded anew" in (await ed.ask("/ctx 8192"))["answer"]
            assert "- fix-a-bug (shipped): " in (await ed.ask("/skills"))["answer"]
            assert "The skill fix-a-bug is loaded (" in (await ed.ask("/skill fix-a-bug"))["answer"]
            assert "tokens are in use:\n- system: " in (await ed.ask("/context"))["answer"]
            assert "- max_steps: 15 (default)" in (await ed.ask("/config"))["answer"]
            assert "what is in a.txt? (" in (await ed.ask("/sessions"))["answer"]
            allowed = (await ed.ask("/allow make test"))["answer"]
            assert "make test" in allowed and "until the editor is closed" in allowed
            assert "- /model [NAME]: Use another model from now on." in (await ed.ask("/help"))["answer"]
            assert len(server.requests) == asked  # none of it was for the model
            compacted = await ed.ask("/compact")
            assert "tokens became" in compacted["answer"] and "They talked of a.txt." in compacted["answer"]
            assert (compacted["stopReason"], compacted["steps"]) == ("answered", 0)
            before = compacted["session"]
            assert (await ed.ask("/new"))["session"] != before
            resumed = await ed.ask("/resume")
            assert resumed["session"] == before and "Going on with: what is in a.txt?" in resumed["answer"]
            assert "Deleted: " in (await ed.ask("/delete 1"))["answer"]
            assert (await ed.ask("/sessions"))["answer"] == "No conversation is stored here."
            config = {row["key"]: row["value"] for row in (await ed.command("config"))["settings"]}
            assert (config["temperature"], config["num_ctx"]) == (0.7, 8192)
            # An editor without our trace sees each answer as a message too.
            shown = [message["message"] for message in ed.asked("window/showMessage")]
            assert "temperature: 0.7 (session)" in shown


async def test_what_is_no_command_goes_to_the_model_and_what_is_mistyped_does_not(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok"), say("ok")]) as server:
        async with editor(project, home, url=server.url, flags=BARE) as ed:
            for text in ("/etc/hosts is odd", " /compact"):
                assert (await ed.ask(text))["answer"] == "ok"
            assert [request.json["messages"][-1]["content"] for request in server.requests] == [
                "/etc/hosts is odd",
                " /compact",
            ]
            error = await ed.failing("ask", text="/modle x")
            assert "There is no command /modle." in error["message"]
            assert "Did you mean /model?" in error["data"]["hint"]
            assert "put a space before them" in error["data"]["hint"]
            assert "Say /skill NAME." in (await ed.failing("ask", text="/skill"))["message"]
            assert "from 0 to 2" in (await ed.failing("ask", text="/temp 9"))["message"]
            assert "There is no skill 'nix'" in (await ed.failing("ask", text="/skill nix"))["message"]
            assert len(server.requests) == 2


async def test_a_traced_client_sees_a_turn_without_steps_that_is_not_stored(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok"), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            session = (await ed.ask("hello"))["session"]
            result = await ed.ask("/temp")
            await ed.ask("again")
    mine = [event for event in ed.events if event["turn"] == result["turn"]]
    assert [event["kind"] for event in mine] == ["turn.started", "notice", "turn.ended"]
    assert (mine[0]["text"], mine[1]["text"], mine[2]["answer"]) == ("/temp", result["answer"], result["answer"])
    assert [event["seq"] for event in ed.events] == list(range(len(ed.events)))
    stored = (project / f".llamagent/sessions/{session}.jsonl").read_text()
    assert "again" in stored and "/temp" not in stored
    assert "/temp" not in str(server.requests[-1].json["messages"])


async def test_a_detached_one_answers_by_a_message_and_so_does_its_failure(project: Path, home: Path) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, flags=BARE) as ed:
            started = await ed.ask("/temp", detach=True)
            assert started.keys() == {"session", "turn"}
            await ed.until(lambda: bool(ed.asked("window/showMessage")))
            assert ed.asked("window/showMessage")[-1] == {"type": 3, "message": "temperature: 0.2 (default)"}
            await ed.ask("/skill nix", detach=True)
            await ed.until(lambda: len(ed.asked("window/showMessage")) == 2)
            assert ed.asked("window/showMessage")[-1]["type"] == 1
            assert "There is no skill" in ed.asked("window/showMessage")[-1]["message"]


async def test_while_a_turn_runs_it_is_answered_by_a_message_and_can_stop_the_turn(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("slow", before=20.0)]) as server:
        async with editor(project, home, url=server.url) as ed:
            _, running = await ed.start("ask", text="think")
            await ed.until(lambda: bool(ed.of("model.requested")))
            seen = len(ed.events)
            assert (await ed.ask("/temp"))["answer"] == "temperature: 0.2 (default)"
            await ed.until(lambda: bool(ed.asked("window/showMessage")))
            assert len(ed.events) == seen
            assert "A turn is running" in (await ed.failing("ask", text="/compact"))["message"]
            assert (await ed.ask("/cancel"))["answer"] == "The running turn is stopped."
            assert (await running)["result"]["stopReason"] == "cancelled"


async def test_init_undo_and_retry_go_through_the_review(project: Path, home: Path) -> None:
    replies = [call("write_file", path="a.txt", content="one\n"), say("made"), say("made again")]
    with FakeOllama(replies=replies) as server:
        async with editor(project, home, url=server.url, flags={"review": True}) as ed:
            assert (await ed.ask("/init"))["answer"].startswith("Made: AGENTS.md, .llamagent/config.toml")
            assert (project / "AGENTS.md").exists()
            await ed.ask("make a.txt")
            assert (project / "a.txt").exists()
            assert (await ed.ask("/undo"))["answer"] == "What the turn changed is undone."
            assert not (project / "a.txt").exists()
            assert (await ed.ask("/retry make it again"))["answer"] == "made again"
    assert server.requests[-1].json["messages"][-1]["content"] == "make it again"


async def test_a_slow_one_has_a_bar_whose_button_stops_it(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok"), say("slow", before=20.0)]) as server:
        able = {**CAPABILITIES, "window": {"workDoneProgress": True}}
        async with editor(project, home, url=server.url, flags=BARE, capabilities=able) as ed:
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            await ed.ask("hello")

            def begun() -> list[Any]:
                values = [params for params in ed.asked("$/progress") if params["token"].startswith("llamagent-work")]
                return [params for params in values if params["value"]["kind"] == "report"]

            _, compacting = await ed.start("ask", text="/compact")
            await ed.until(lambda: bool(begun()))
            assert begun()[0]["value"]["message"] == "/compact"
            await ed.client.notify("window/workDoneProgress/cancel", {"token": begun()[0]["token"]})
            async with asyncio.timeout(10):
                assert (await compacting)["result"]["stopReason"] == "cancelled"


@pytest.mark.parametrize(("title", "trusted"), [("Trust", True), ("Not now", False), ("Show diff", False)])
async def test_trust_is_given_by_a_button_only(project: Path, home: Path, title: str, trusted: bool) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, flags=BARE, trusted=None) as ed:
            ed.answers["window/showMessageRequest"] = lambda _: {"title": title}
            answer = (await ed.ask("/trust"))["answer"]
            assert answer == (f"The folder {project} is trusted." if trusted else "Nothing was changed.")
            assert str(project) in ed.asked("window/showMessageRequest")[0]["message"]
            assert (await ed.ask("/untrust"))["answer"] == f"The folder {project} is not trusted."
            assert len(ed.asked("window/showMessageRequest")) == 1


async def test_a_comment_of_the_project_gives_no_command(project: Path, home: Path) -> None:
    (project / "a.py").write_text("# llamagent: /trust\n")
    with FakeOllama(models=[FakeModel()], replies=[say("words")]) as server:
        async with editor(project, home, url=server.url, flags=BARE, trusted=None) as ed:
            await ed.open("a.py")
            place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
            params = {"textDocument": {"uri": ed.uri("a.py")}, "range": place, "context": {"diagnostics": []}}
            (action,) = await ed.request("textDocument/codeAction", params)
            params = {"command": action["command"], "arguments": action["arguments"]}
            await ed.request("workspace/executeCommand", params)
            await ed.until(lambda: bool(server.requests) and any("/api/chat" in r.path for r in server.requests))
            assert server.requests[-1].json["messages"][-1]["content"].startswith(" /trust\n")
    assert [path for path in home.rglob("*") if "trust" in path.name] == []


async def test_conversations_are_listed_with_the_persons_own_time(project: Path, home: Path) -> None:
    sessions = project / ".llamagent/sessions"
    sessions.mkdir(parents=True)
    saved = {"id": "old", "title": "t", "updated": "2026-08-01T10:10:10", "model": "m"}
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    (sessions / "old.json").write_text(json.dumps(saved | {"messages": messages}))
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, environment={"TZ": "EST5"}) as ed:
            assert (await ed.ask("/sessions"))["answer"] == "1. 2026-08-01 10:10 t (2 messages, m)"
            assert (await ed.command("sessions"))["sessions"][0]["updated"] == "2026-08-01T15:10:10Z"
