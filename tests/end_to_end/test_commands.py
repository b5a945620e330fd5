"""The terminal agent's commands from inside the editor: what each answers, its bounds, and what it says."""

from pathlib import Path
from typing import Any

import pytest

from llamagent_server.lsp.wire import COMMANDS
from tests.end_to_end.editor import editor
from tests.fakes import FakeModel, FakeOllama, FakeOpenAI, call, say


async def test_help_lists_every_command_as_it_is_typed(project: Path, home: Path) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            rows = (await ed.command("help"))["commands"]
    assert [row["name"] for row in rows] == [command.id for command in COMMANDS if command.served]
    assert all({"name", "title", "help", "arguments", "slash"} == row.keys() for row in rows)
    typed = {row["slash"].split(" ")[0] for row in rows}
    terminal_agents = (
        "help init config models model temp ctx skills skill context compact sessions resume delete allow clear"
    )
    assert {f"/{name}" for name in terminal_agents.split()} <= typed


@pytest.mark.parametrize(("value", "allowed"), [(2048, True), (131072, True), (2047, False), (131073, False)])
async def test_the_context_length_has_bounds_and_says_what_a_change_costs(
    project: Path, home: Path, value: int, allowed: bool
) -> None:
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            if not allowed:
                error = await ed.failing("set_num_ctx", value=value)
                assert error["data"]["kind"] == "bad_setting"
                assert "from 2048 to 131072" in error["message"]
                return
            changed = await ed.command("set_num_ctx", value=value)
            assert (changed["value"], changed["previous"]) == (value, 8192)
            assert "loaded anew" in changed["note"]
            assert "note" not in await ed.command("set_num_ctx", value=value)
            assert (await ed.command("context"))["numCtx"] == value
            await ed.ask("go")
    assert server.requests[-1].json["options"]["num_ctx"] == value


@pytest.mark.parametrize(("value", "allowed"), [(0, True), (2, True), (-0.1, False), (2.1, False)])
async def test_the_temperature_has_bounds(project: Path, home: Path, value: float, allowed: bool) -> None:
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            if not allowed:
                assert "from 0 to 2" in (await ed.failing("set_temperature", value=value))["message"]
                return
            assert await ed.command("set_temperature", value=value) == {"value": value, "previous": 0.2}
            await ed.ask("go")
    assert server.requests[-1].json["options"]["temperature"] == value


async def test_a_model_that_the_server_lacks_is_taken_and_said(project: Path, home: Path) -> None:
    with FakeOllama(models=[FakeModel(), FakeModel("plain:latest"), FakeModel("noware:7b")]) as server:
        async with editor(project, home, url=server.url) as ed:
            changed = await ed.command("set_model", value="nowhere:7b")
            typed = await ed.ask("/model nowhere:7b")
            assert "`/pull nowhere:7b` gets it. It has noware:7b, " in typed["answer"]
            assert changed["value"] == "nowhere:7b"
            assert "/pull nowhere:7b" in changed["note"] and "qwen3.5:4b" in changed["note"]
            assert "note" not in await ed.command("set_model", value="plain")
            proposed = (await ed.command("models"))["proposed"]
            assert proposed.keys() == {"name", "size", "present"}
    with FakeOpenAI() as other:
        async with editor(project, home, url=other.url, settings={"provider": "openai"}) as ed:
            assert "note" not in await ed.command("set_model", value="whatever")
            assert "proposed" not in await ed.command("models")


async def test_the_context_by_category_and_as_the_server_measured_it(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n" * 200)
    with FakeOllama(replies=[call("read_file", path="a.txt"), say("ok", prompt_tokens=1500)]) as server:
        async with editor(project, home, url=server.url) as ed:
            before = await ed.command("context")
            assert (before["estimated"], "measured" in before) == (True, False)
            await ed.ask("go")
            after = await ed.command("context")
    assert [part["name"] for part in after["parts"]] == ["system", "tools", "conversation", "tool results"]
    assert sum(part["tokens"] for part in after["parts"]) == after["tokens"]
    assert (after["measured"], after["tokens"] > 1500) == (1500, True)


async def test_settings_of_the_start_and_live_ones(project: Path, home: Path) -> None:
    """An editor that pushes only what changed takes nothing back; a line that is taken out no longer counts."""
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, settings={"temperature": 1, "max_steps": 7}) as ed:

            async def in_force() -> tuple[Any, Any, str]:
                rows = {row["key"]: row for row in (await ed.command("config"))["settings"]}
                return rows["temperature"]["value"], rows["max_steps"]["value"], rows["temperature"]["source"]

            async def push(**settings: Any) -> None:
                await ed.client.notify("workspace/didChangeConfiguration", {"settings": {"llamagent": settings}})

            assert await in_force() == (1, 7, "editor")
            await push(num_ctx=4096)
            assert await in_force() == (1, 7, "editor")
            await push(temperature=0.5, max_steps=None)
            assert await in_force() == (0.5, 7, "editor")
            await push()
            assert await in_force() == (0.2, 7, "default")


@pytest.mark.parametrize("prefix", ["git status; rm x", "a && b", "echo $(x)", "FOO=1 make", "ls > f", "a | b", " "])
async def test_what_could_never_run_unasked_is_not_allowed(project: Path, home: Path, prefix: str) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            assert "plain words" in (await ed.failing("allow", prefix=prefix))["message"]
            assert await ed.command("allow", prefix=prefix, revoke=True) == {"allowed": []}
            assert await ed.command("allow", prefix="python -m pytest") == {"allowed": ["python -m pytest"]}


# --- While a turn runs ---------------------------------------------------------------------------------------------


async def test_asks_meanwhile_are_queued_visible_and_can_be_taken_back(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one two three", hold_after=2), say("third")]) as server:
        async with editor(project, home, url=server.url) as ed:
            _, first = await ed.start("ask", text="first")
            await ed.until(lambda: bool(ed.of("model.delta")))
            _, second = await ed.start("ask", text="second")
            _, third = await ed.start("ask", text="third")
            await ed.until(lambda: len(ed.asked("llamagent/queued")) == 2)
            queue = ed.asked("llamagent/queued")[-1]["queue"]
            assert [ask["text"] for ask in queue] == ["second", "third"]
            assert await ed.command("unqueue", id=queue[0]["id"]) == {"cancelled": True}
            assert await ed.command("unqueue", id=queue[0]["id"]) == {"cancelled": False}
            assert (await second)["result"]["stopReason"] == "cancelled"
            server.release()
            assert (await first)["result"]["answer"] == "one two three"
            assert (await third)["result"]["answer"] == "third"
            assert ed.asked("llamagent/queued")[-1]["queue"] == []
    assert [m["content"] for m in server.requests[-1].json["messages"][1:]] == ["first", "one two three", "third"]


async def test_words_that_steer_join_the_next_step_and_too_many_are_refused_at_once(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one two three", hold_after=2), say("steered")]) as server:
        async with editor(project, home, url=server.url, settings={"num_ctx": 2048}) as ed:
            _, first = await ed.start("ask", text="first")
            await ed.until(lambda: bool(ed.of("model.delta")))
            error = await ed.failing("ask", text="much " * 3000, steer=True)
            assert error["data"]["kind"] == "context_overflow"
            _, second = await ed.start("ask", text="rather so", steer=True)
            await ed.command("sessions")  # answered after the ask before it was taken
            server.release()
            assert (await first)["result"]["answer"] == (await second)["result"]["answer"] == "steered"
            assert (await first)["result"]["turn"] == (await second)["result"]["turn"]
            assert [event["text"] for event in ed.of("turn.steered")] == ["rather so"]
            assert "## You\n\nrather so" in (await ed.command("export"))["text"]
    assert [m["content"] for m in server.requests[-1].json["messages"][1:]] == ["first", "one two three", "rather so"]


async def test_a_client_without_a_trace_reads_in_the_log_that_a_turn_waits_and_ends(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n")
    with FakeOllama(replies=[call("edit_file", path="a.txt", old_text="one", new_text="1"), say("ok")]) as server:
        async with editor(project, home, url=server.url, flags={}) as ed:
            await ed.ask("go")
            lines = [params["message"] for params in ed.asked("window/logMessage")]
    assert "[1] waits for your answer: a.txt" in lines
    assert any(line.startswith("the turn ended: answered, 2 steps, ") for line in lines)


async def test_what_cannot_be_meant_yet_is_said(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok"), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            assert (await ed.failing("resume", ref=1))["message"] == "No conversation is stored here."
            await ed.ask("go")
            await ed.command("clear")
            assert "nothing to export yet" in (await ed.failing("export"))["message"]
            assert "turn" not in (await ed.failing("delete_session", ref=1))["message"]
            await ed.ask("go")
            much = (await ed.failing("resume", ref="9" * 5000))["message"]
            assert much == "There is no conversation number 9999999999: there are 1."


async def test_the_current_conversation_is_the_one_asked_in_last_and_not_one_that_was_looked_at(
    project: Path, home: Path
) -> None:
    with FakeOllama(replies=[say("ok")] * 6) as server:
        async with editor(project, home, url=server.url) as ed:
            first = (await ed.ask("one"))["session"]
            await ed.command("new")
            second = (await ed.ask("two"))["session"]
            await ed.ask("one again", session=first)
            assert (await ed.ask("where?"))["session"] == first
        async with editor(project, home, url=server.url) as ed:
            third = (await ed.ask("three"))["session"]
            await ed.command("context", session=first)
            await ed.command("cancel", session=second)
            assert (await ed.ask("where?"))["session"] == third


async def test_resume_alone_goes_on_with_the_newest_that_is_not_current(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one"), say("two")]) as server:
        async with editor(project, home, url=server.url) as ed:
            first = (await ed.ask("first"))["session"]
            assert "No other conversation" in (await ed.failing("resume"))["message"]
            await ed.command("new")
            second = (await ed.ask("second"))["session"]
            assert (await ed.command("resume"))["session"] == first
            assert (await ed.command("resume"))["session"] == second
