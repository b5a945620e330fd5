"""A turn seen from the edge: cancelled in every way, detached, queued, attached to, and shown by stock editors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pygls.protocol import default_converter
from pytest_lsp import client_capabilities

from tests.end_to_end.editor import Editor, editor
from tests.fakes import FakeOllama, call, fail, say

CANCELLED = -32800
ASK, APPLY = "window/showMessageRequest", "workspace/applyEdit"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    root.mkdir()
    (root / "a.py").write_text("one\ntwo\nthree\n")
    return root


@asynccontextmanager
async def desk(project: Path, replies: list[Any], **options: Any) -> AsyncIterator[tuple[Editor, FakeOllama]]:
    with FakeOllama(replies=replies) as server:
        async with editor(project, project.parent / "home", url=server.url, **options) as ed:
            yield ed, server


def preset(name: str) -> dict[str, Any]:
    able: dict[str, Any] = default_converter().unstructure(client_capabilities(name))
    return able


# --- Cancelling ------------------------------------------------------------------------------------------------------

ENDLESS = say("a b c d e f g h", hold_after=3)


async def streaming(ed: Editor, **arguments: Any) -> tuple[int, asyncio.Future[dict[str, Any]]]:
    """An ask whose reply streams and stops in the middle."""
    asked = await ed.start("ask", text="go", **arguments)
    await ed.until(lambda: bool(ed.of("model.delta")))
    return asked


async def check_next_ask_works(ed: Editor, server: FakeOllama) -> None:
    await server.until(lambda: server.disconnects == 1)
    assert (await ed.ask("again"))["answer"] == "fine"


async def test_cancelling_the_request_answers_that_it_was_cancelled(project: Path) -> None:
    async with desk(project, [ENDLESS, say("fine")]) as (ed, server):
        number, reply = await streaming(ed)
        await ed.client.notify("$/cancelRequest", {"id": number})
        assert (await reply)["error"]["code"] == CANCELLED
        assert ed.of("turn.ended")[-1]["stopReason"] == "cancelled"
        await check_next_ask_works(ed, server)


async def test_the_cancel_command_answers_the_ask_with_its_result(project: Path) -> None:
    async with desk(project, [ENDLESS, say("fine")]) as (ed, server):
        _, reply = await streaming(ed)
        assert await ed.command("cancel") == {"cancelled": True}
        assert (await reply)["result"]["stopReason"] == "cancelled"
        assert await ed.command("cancel") == {"cancelled": False}
        await check_next_ask_works(ed, server)


async def test_the_button_of_the_progress_answers_the_ask_with_its_result(project: Path) -> None:
    async with desk(project, [ENDLESS, say("fine")], flags={}) as (ed, server):
        ed.answers["window/workDoneProgress/create"] = lambda _: None
        _, reply = await ed.start("ask", text="go")
        await ed.until(lambda: bool(ed.asked("$/progress")))
        token = ed.asked("$/progress")[0]["token"]
        await server.until(lambda: len(server.prompts) == 1)
        await ed.client.notify("window/workDoneProgress/cancel", {"token": token})
        assert (await reply)["result"]["stopReason"] == "cancelled"
        assert ed.asked("$/progress")[-1]["value"]["kind"] == "end"
        await check_next_ask_works(ed, server)


async def test_a_shutdown_in_the_middle_answers_what_is_open_first(project: Path) -> None:
    async with desk(project, [ENDLESS]) as (ed, server):
        _, reply = await streaming(ed)
        ed.client._ids += 1
        shut_down = ed._replies[ed.client._ids] = asyncio.get_running_loop().create_future()
        await ed.client.send({"jsonrpc": "2.0", "id": ed.client._ids, "method": "shutdown"})
        assert (await reply)["error"]["code"] == CANCELLED
        assert (await shut_down)["result"] is None
        await ed.client.notify("exit")
        assert await ed.client.wait() == 0
        await server.until(lambda: server.disconnects == 1)


async def test_the_editors_death_in_the_middle_ends_the_daemon(project: Path) -> None:
    async with desk(project, [ENDLESS]) as (ed, server):
        await streaming(ed)
        assert ed.client.process.stdin is not None
        ed.client.process.stdin.close()
        assert await ed.client.wait() == 1
        await server.until(lambda: server.disconnects == 1)


@pytest.mark.parametrize("flags", [{}, {"review": True, "trace": True}])
async def test_cancelling_takes_an_open_question_down_and_a_late_yes_does_nothing(
    project: Path, flags: dict[str, bool]
) -> None:
    edit = call("edit_file", path="a.py", old_text="two", new_text="TWO")
    go = asyncio.Event()

    async def late(_: Any) -> Any:
        await go.wait()
        return {"title": "Accept", "applied": True}

    async with desk(project, [edit, say("fine")], flags=flags) as (ed, _):
        await ed.open("a.py")
        method = APPLY if flags else ASK
        ed.answers[method] = late
        number, reply = await ed.start("ask", text="go")
        await ed.until(lambda: bool(ed.asked(method)))
        await ed.client.notify("$/cancelRequest", {"id": number})
        assert (await reply)["error"]["code"] == CANCELLED
        assert len(ed.asked("$/cancelRequest")) == len(ed.asked("llamagent/reviewClosed")) == 1
        go.set()
        assert (await ed.ask("again"))["answer"] == "fine"
        assert len(ed.asked(APPLY)) == len(flags) // 2
        assert ed.text("a.py") == (project / "a.py").read_text() == "one\ntwo\nthree\n"


# --- Beside the answer -----------------------------------------------------------------------------------------------


async def test_a_detached_ask_is_answered_at_once_and_runs_on(project: Path) -> None:
    async with desk(project, [say("a b c", hold_after=1)]) as (ed, server):
        started = await ed.ask("go", detach=True)
        assert set(started) == {"session", "turn"}
        await server.until(lambda: len(server.requests) == 1)
        server.release()
        await ed.until(lambda: bool(ed.of("turn.ended")))
        ended = ed.of("turn.ended")[-1]
        assert (ended["turn"], ended["answer"]) == (started["turn"], "a b c")


async def test_the_failure_of_a_detached_ask_is_shown_to_who_has_no_trace(project: Path) -> None:
    async with desk(project, [fail("unknown_model")] * 5, flags={}) as (ed, _):
        await ed.ask("go", detach=True)
        await ed.until(lambda: any(m["type"] == 1 for m in ed.asked("window/showMessage")))


async def test_a_failed_ask_is_an_error_with_its_kind(project: Path) -> None:
    async with desk(project, [fail("unknown_model")] * 5) as (ed, _):
        error = await ed.failing("ask", text="go")
    assert error["code"] == -32803
    assert error["data"]["kind"] == "model_not_found"
    assert "ollama pull" in error["message"]


async def test_a_detached_ask_that_is_taken_back_leaves_no_progress_behind(project: Path) -> None:
    async with desk(project, [ENDLESS]) as (ed, _):
        await streaming(ed)
        waiting = await ed.ask("later", detach=True)
        await ed.command("unqueue", id=waiting["turn"])
        await ed.command("cancel")
        assert ed.asked("llamagent/queued")[-1]["queue"] == []


async def test_an_ask_meanwhile_is_queued_and_can_be_taken_back(project: Path) -> None:
    async with desk(project, [ENDLESS]) as (ed, _):
        await streaming(ed)
        _, second = await ed.start("ask", text="later")
        await ed.until(lambda: bool(ed.asked("llamagent/queued")))
        (waiting,) = ed.asked("llamagent/queued")[-1]["queue"]
        assert waiting["text"] == "later"
        await ed.command("unqueue", id=waiting["id"])
        assert (await second)["result"]["stopReason"] == "cancelled"
        assert ed.asked("llamagent/queued")[-1]["queue"] == []


async def test_what_is_attached_is_what_the_person_sees(project: Path) -> None:
    async with desk(project, [say("ok")]) as (ed, server):
        await ed.open("a.py", "zero\none \U0001f600 two\nlast\n")
        where = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 10}}
        problem = {"range": where, "severity": 2, "message": "odd\nthing", "source": "lint"}
        context = [
            {"uri": ed.uri("a.py"), "range": where, "diagnostics": [problem]},
            {"text": "words of an unnamed buffer", "languageId": "text"},
        ]
        await ed.ask("look", context=context)
        (asked,) = [m["content"] for m in server.requests[0].json["messages"] if m["role"] == "user"][-1:]
    assert "\U0001f600 two" in asked
    assert "zero" not in asked
    assert "2: warning: odd thing (lint)" in asked
    assert "words of an unnamed buffer" in asked
    assert ed.of("turn.started")[0]["files"][0] == "a.py"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({}, "uri or a text"),
        ({"uri": "file:///etc/hostname"}, "outside"),
        ({"uri": "file:///etc/../etc/passwd"}, "outside"),
        ({"languageId": "text"}, "uri or a text"),
    ],
)
async def test_what_cannot_be_attached_is_said_and_not_read(project: Path, item: dict[str, Any], words: str) -> None:
    async with desk(project, [say("ok")]) as (ed, server):
        error = await ed.failing("ask", text="look", context=[item])
        assert error["data"]["kind"] == "bad_argument"
        assert words in error["message"]
        assert server.requests == []


# --- Settings --------------------------------------------------------------------------------------------------------


async def test_the_first_ask_waits_for_the_settings_that_the_editor_is_asked_for(project: Path) -> None:
    able = {"workspace": {"configuration": True}, "window": {}}
    with FakeOllama(replies=[say("right")]) as server:
        nobody = "http://127.0.0.1:9"
        async with editor(project, project.parent / "home", url=nobody, capabilities=able) as ed:
            ed.answers["workspace/configuration"] = lambda _: [{"url": server.url, "temperature": None}]
            assert (await ed.ask("go"))["answer"] == "right"
        assert ed.asked("workspace/configuration") == [{"items": [{"section": "llamagent"}]}]


async def test_settings_that_are_pushed_count_from_then_on(project: Path) -> None:
    with FakeOllama(replies=[say("right")]) as server:
        async with editor(project, project.parent / "home", url="http://127.0.0.1:9") as ed:
            pushed = {"settings": {"llamagent": {"url": server.url}}}
            await ed.client.notify("workspace/didChangeConfiguration", pushed)
            assert (await ed.ask("go"))["answer"] == "right"


@pytest.mark.parametrize("answer", [None, [], [None], ["x"], {"url": "x"}, [{}], [{"url": None}]])
async def test_an_odd_answer_to_the_question_for_settings_changes_nothing(project: Path, answer: Any) -> None:
    able = {"workspace": {"configuration": True}}
    async with desk(project, [say("right")], capabilities=able) as (ed, _):
        ed.answers["workspace/configuration"] = lambda _: answer
        assert (await ed.ask("go"))["answer"] == "right"


# --- Stock editors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["visual-studio-code", "neovim", "emacs"])
async def test_a_stock_editor_sees_a_whole_turn_in_standard_messages(project: Path, name: str) -> None:
    replies = [call("edit_file", path="a.py", old_text="two", new_text="TWO"), say("I made it louder.")]
    async with desk(project, replies, flags={}, capabilities=preset(name)) as (ed, _):
        await ed.open("a.py")
        ed.answers |= {
            ASK: lambda _: {"title": "Accept"},
            "window/workDoneProgress/create": lambda _: None,
            "workspace/configuration": lambda _: [None],
            "client/registerCapability": lambda _: None,
        }
        result = await ed.ask("make it louder")
        assert result["answer"] == "I made it louder."
        assert ed.text("a.py") == "one\nTWO\nthree\n"
        assert "a.py (+1 −1)" in ed.asked(ASK)[0]["message"]
        kinds = [params["value"]["kind"] for params in ed.asked("$/progress")]
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        assert "I made it louder." in [params["message"] for params in ed.asked("window/showMessage")]
        assert ed.asked("llamagent/trace") == []
