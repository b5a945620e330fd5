"""The main road over real stdio: ask, tool calls, review, accept, command; and what the journal keeps of it."""

import asyncio
import itertools
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.core.records import replay
from tests.end_to_end.editor import editor
from tests.fakes import FakeModel, FakeOllama, FakeOpenAI, Refusal, call, say
from tests.fakes.script import Item

OLLAMA, OPENAI = "ollama", "openai"


def run_all(_: Any) -> dict[str, str]:
    return {"decision": "run"}


@pytest.mark.parametrize(("provider", "server_type"), [(OLLAMA, FakeOllama), (OPENAI, FakeOpenAI)])
async def test_a_turn_reads_edits_runs_and_answers(project: Path, home: Path, provider: str, server_type: Any) -> None:
    (project / "hello.py").write_text("print('Helo')\n")
    script = [
        call("read_file", path="hello.py"),
        call("edit_file", path="hello.py", old_text="Helo", new_text="Hello"),
        call("run_command", command="python hello.py"),
        say("It prints Hello now."),
    ]
    with server_type(replies=script) as server:
        async with editor(project, home, url=server.url, settings={"provider": provider}) as ed:
            ed.answers["llamagent/consent"] = run_all
            result = await ed.ask("fix the typo")
    assert result["answer"] == "It prints Hello now."
    assert (result["stopReason"], result["steps"]) == ("answered", 4)
    assert (project / "hello.py").read_text() == "print('Hello')\n"
    contents = [event["content"] for event in ed.of("tool.returned")]
    assert "print('Helo')" in contents[0]
    assert contents[1].startswith("Edited hello.py (+1 -1). The user accepted it.")
    assert contents[2].startswith("exit code 0\nHello")
    bodies = [request.json for request in server.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert json.dumps(later["messages"]).startswith(json.dumps(earlier["messages"])[:-1])
        assert {k: v for k, v in earlier.items() if k != "messages"} == {
            k: v for k, v in later.items() if k != "messages"
        }


async def test_fourteen_calls_and_an_answer_are_traced_without_a_gap_and_replay_the_same(
    project: Path, home: Path
) -> None:
    for number in range(14):
        (project / f"f{number}.py").write_text(f"x = {number}\n")
    script = [*[call("read_file", path=f"f{number}.py") for number in range(14)], say("done")]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            result = await ed.ask("read")
            stored = (await ed.command("trace", session=result["session"]))["events"]
    assert result["steps"] == 15
    assert [event["seq"] for event in ed.events] == list(range(len(ed.events)))
    step = ["model.requested", "model.replied", "harness.decided", "tool.started", "tool.returned", "context.gauge"]
    kinds = [event["kind"] for event in ed.events if event["kind"] != "model.delta"]
    assert kinds == ["turn.started", *step * 14, *step[:2], "context.gauge", "turn.ended"]
    assert stored == [event for event in ed.events if event["kind"] != "model.delta"]
    journal = project / ".llamagent/sessions" / f"{result['session']}.jsonl"
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    told = replay(records)
    sent = server.requests[-1].json["messages"]
    assert [type(m).__name__ for m in told.messages[:3]] == ["SystemMessage", "UserMessage", "AssistantMessage"]
    assert len(told.messages) == len(sent) + 1
    assert "sessions/" in (project / ".llamagent/.gitignore").read_text().splitlines()


async def test_an_unsaved_buffer_is_what_is_read_searched_and_edited(project: Path, home: Path) -> None:
    (project / "a.py").write_text("on_disk = 1\n")
    script = [
        call("read_file", path="a.py"),
        call("search_text", pattern="in_buffer"),
        call("edit_file", path="a.py", old_text="in_buffer = 2", new_text="in_buffer = 3"),
        say("ok"),
    ]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.py", "# typed\nin_buffer = 2\n")
            await ed.ask("go")
            assert ed.text("a.py") == "# typed\nin_buffer = 3\n"
    contents = [event["content"] for event in ed.of("tool.returned")]
    assert "in_buffer = 2" in contents[0]
    assert "on_disk" not in contents[0]
    assert "a.py" in contents[1]
    assert (project / "a.py").read_text() == "on_disk = 1\n"


async def test_reject_leaves_buffer_and_disk_and_tells_the_model(project: Path, home: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    with FakeOllama(replies=[call("write_file", path="a.py", content="x = 2\n"), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.py")
            ed.answers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": "keep it"}
            await ed.ask("go")
            assert ed.text("a.py") == "x = 1\n"
    assert (project / "a.py").read_text() == "x = 1\n"
    told = server.requests[1].json["messages"][-1]["content"]
    assert "rejected" in told
    assert '"keep it"' in told


@pytest.mark.parametrize("kept", ["x = 1\ny = 1\n", "x = 2\ny = 1\n"])
async def test_an_editor_that_says_applied_but_did_not_is_found_out(project: Path, home: Path, kept: str) -> None:
    (project / "a.py").write_text("x = 1\ny = 1\n")
    with FakeOllama(replies=[call("write_file", path="a.py", content="x = 2\ny = 2\n"), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.py")

            async def half(_: Any) -> dict[str, Any]:
                if kept != ed.text("a.py"):
                    await ed.change("a.py", kept)
                return {"applied": True}

            ed.answers["workspace/applyEdit"] = half
            await ed.ask("go")
    resolved = ed.of("edit.resolved")[0]
    told = server.requests[1].json["messages"][-1]["content"]
    if kept == "x = 1\ny = 1\n":
        assert resolved["outcome"] == "failed"
        assert "was not applied" in told
    else:
        assert resolved["outcome"] == "modified"
        assert "-x = 1\n+x = 2\n y = 1\n" in told


async def test_a_command_changes_an_open_clean_file_and_the_next_read_sees_the_disk(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("before\n")
    (project / "b.txt").write_text("before\n")
    write = f"{sys.executable} -c \"open('a.txt','w').write('after\\n'); open('b.txt','w').write('after\\n')\""
    script = [
        call("run_command", command=write),
        call("read_file", path="a.txt"),
        call("edit_file", path="b.txt", old_text="typed", new_text="changed"),
        say("ok"),
    ]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["llamagent/consent"] = run_all
            await ed.open("a.txt")
            await ed.open("b.txt")
            await ed.change("b.txt", "typed\n")
            await ed.ask("go")
            assert ed.text("b.txt") == "typed\n"
    contents = [event["content"] for event in ed.of("tool.returned")]
    assert "after" in contents[1]
    assert ed.asked("workspace/applyEdit") == []
    assert ed.of("tool.returned")[2]["ok"] is False
    assert (project / "b.txt").read_text() == "after\n"


async def test_other_requests_are_answered_and_changes_applied_while_a_reply_streams(project: Path, home: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    with FakeOllama(replies=[say("one two three four five six", hold_after=3), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.py")
            _, reply = await ed.start("ask", text="go")
            await ed.until(lambda: bool(ed.of("model.delta")))
            await ed.change("a.py", "x = 2\n")
            assert (await ed.command("sessions"))["sessions"][0]["current"] is True
            assert (await ed.command("context"))["numCtx"] == 8192
            assert not reply.done()
            server.release()
            assert (await reply)["result"]["answer"] == "one two three four five six"


@pytest.mark.parametrize("way", ["$/cancelRequest", "llamagent.cancel"])
async def test_a_cancel_in_mid_stream_reaches_the_server_and_the_next_ask_works(
    project: Path, home: Path, way: str
) -> None:
    with FakeOllama(replies=[say("a b c d e f g h", hold_after=5), say("here")]) as server:
        async with editor(project, home, url=server.url) as ed:
            number, reply = await ed.start("ask", text="go")
            await ed.until(lambda: bool(ed.of("model.delta")))
            if way == "$/cancelRequest":
                await ed.client.notify(way, {"id": number})
                assert (await reply)["error"]["code"] == -32800
            else:
                assert await ed.command("cancel") == {"cancelled": True}
                assert (await reply)["result"]["stopReason"] == "cancelled"
            await server.until(lambda: server.disconnects == 1)
            assert ed.of("turn.ended")[-1]["stopReason"] == "cancelled"
            assert (await ed.ask("again"))["answer"] == "here"
    roles = [message["role"] for message in server.requests[-1].json["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


async def test_a_cancel_takes_an_open_review_down_and_a_late_yes_does_nothing(project: Path, home: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    with FakeOllama(replies=[call("write_file", path="a.py", content="x = 2\n"), say("here")]) as server:
        async with editor(project, home, url=server.url) as ed:
            late = asyncio.Event()

            async def yes_too_late(_: Any) -> dict[str, Any]:
                await late.wait()
                return {"applied": True}

            ed.answers["workspace/applyEdit"] = yes_too_late
            _, reply = await ed.start("ask", text="go")
            await ed.until(lambda: bool(ed.asked("workspace/applyEdit")))
            await ed.command("cancel")
            assert (await reply)["result"]["stopReason"] == "cancelled"
            assert ed.asked("llamagent/reviewClosed") == [{"reviewId": ed.of("edit.proposed")[0]["reviewId"]}]
            assert len(ed.asked("$/cancelRequest")) == 1
            late.set()
            assert (await ed.ask("again"))["answer"] == "here"
    assert (project / "a.py").read_text() == "x = 1\n"
    returned = ed.of("tool.returned")
    assert len(returned) == 1
    assert returned[0]["ok"] is False


async def test_a_refused_command_does_not_run_whatever_the_answer_is(project: Path, home: Path) -> None:
    answers: list[Any] = [None, {"decision": "refuse", "reason": "no"}, {"decision": "yes"}, {}, "run", True, 1]
    script = [*[call("run_command", command=f"touch ran{i}") for i in range(len(answers))], say("ok")]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            pending = list(answers)
            ed.answers["llamagent/consent"] = lambda _: pending.pop(0)
            await ed.ask("go")
    assert list(project.glob("ran*")) == []
    assert all(event["ok"] is False for event in ed.of("tool.returned"))


async def test_no_model_server_is_said_with_what_to_do_and_the_conversation_goes_on(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("here")]) as server:
        async with editor(project, home, url="http://127.0.0.1:9") as ed:
            error = await ed.failing("ask", text="go")
            assert error["data"]["kind"] == "model_unreachable"
            assert "ollama serve" in error["message"] + error["data"].get("hint", "")
            await ed.client.notify("workspace/didChangeConfiguration", {"settings": {"llamagent": {"url": server.url}}})
            assert (await ed.ask("again"))["answer"] == "here"


async def test_a_session_is_listed_and_resumed_by_another_daemon(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one"), say("two")]) as server:
        async with editor(project, home, url=server.url) as ed:
            first = await ed.ask("my first question")
        async with editor(project, home, url=server.url) as ed:
            (row,) = (await ed.command("sessions"))["sessions"]
            assert (row["id"], row["title"], row["messages"]) == (first["session"], "my first question", 2)
            resumed = await ed.command("resume", ref=1)
            assert resumed == {"session": first["session"], "title": "my first question", "messages": 2}
            await ed.ask("and then?")
            events = (await ed.command("trace"))["events"]
    sent = server.requests[-1].json["messages"]
    assert [message["content"] for message in sent[1:]] == ["my first question", "one", "and then?"]
    assert events[0]["seq"] == 0
    assert [event["kind"] for event in events].count("turn.ended") == 2


async def test_the_list_and_a_resume_count_the_same_messages(project: Path, home: Path) -> None:
    with FakeOllama(replies=[call("list_files"), say("one"), say("a summary"), say("two")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("first")
            await ed.command("load_skill", name="fix-a-bug")
            await ed.command("compact")
            await ed.ask("second")
            (row,) = (await ed.command("sessions"))["sessions"]
            assert (await ed.command("resume", ref=1))["messages"] == row["messages"]
        async with editor(project, home, url=server.url) as ed:
            assert (await ed.command("resume", ref=1))["messages"] == row["messages"]


async def test_clear_forgets_and_new_keeps(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one"), say("two"), say("three")]) as server:
        async with editor(project, home, url=server.url) as ed:
            first = (await ed.ask("keep me"))["session"]
            second = (await ed.command("new"))["session"]
            await ed.ask("forget me")
            third = (await ed.command("clear"))["session"]
            assert len({first, second, third}) == 3
            rows = (await ed.command("sessions"))["sessions"]
            await ed.ask("and now?")
    assert [row["title"] for row in rows] == ["keep me"]
    assert [m["content"] for m in server.requests[-1].json["messages"][1:]] == ["and now?"]
    stored = "".join(path.read_text() for path in (project / ".llamagent/sessions").iterdir())
    assert "forget me" not in stored


async def test_a_change_of_model_for_the_session_goes_to_the_next_request(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one")], models=[FakeModel(), FakeModel("other:7b")]) as server:
        async with editor(project, home, url=server.url) as ed:
            changed = await ed.command("set_model", value="other:7b")
            assert changed == {"value": "other:7b", "previous": "qwen3.5:4b"}
            models = (await ed.command("models"))["models"]
            assert [row["name"] for row in models if row["current"]] == ["other:7b"]
            assert (await ed.failing("set_temperature", value=3))["data"]["kind"] == "bad_setting"
            await ed.ask("go")
    assert server.requests[-1].json["model"] == "other:7b"


async def test_allow_lets_plain_commands_run_without_asking_until_it_is_revoked(project: Path, home: Path) -> None:
    script = [call("run_command", command=c) for c in ("echo one", "echo one > f", "echo two")]
    with FakeOllama(replies=[*script, say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse"}
            assert await ed.command("allow", prefix="echo one") == {"allowed": ["echo one"]}
            await ed.ask("go")
            assert [question["command"] for question in ed.asked("llamagent/consent")] == ["echo one > f", "echo two"]
            assert await ed.command("allow", prefix="echo one", revoke=True) == {"allowed": []}
    assert [event["ok"] for event in ed.of("tool.returned")] == [True, False, False]


async def test_compact_sums_up_and_the_next_request_is_shorter(project: Path, home: Path) -> None:
    with FakeOllama(
        replies=[say(" ".join(f"answer {n}" for n in range(300))), say("We talked at length."), say("ok")]
    ) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("tell me everything")
            done = await ed.command("compact")
            assert done["summary"] == "We talked at length."
            assert done["tokensAfter"] < done["tokensBefore"]
            await ed.ask("and?")
    assert "We talked at length." in server.requests[-1].json["messages"][1]["content"]
    assert len(server.requests[-1].body) < len(server.requests[-2].body)


@pytest.mark.parametrize("reply", [Refusal(500, {"error": "boom"}), say(""), call("list_files")], ids=repr)
async def test_a_compaction_without_a_summary_leaves_the_conversation_as_it_is(
    project: Path, home: Path, reply: Item
) -> None:
    long = " ".join(f"answer {n}" for n in range(300))
    with FakeOllama(replies=[say(long), reply, say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("tell me everything")
            error = await ed.failing("compact")
            await ed.ask("and?")
    assert error["data"]["kind"] == "model_error"
    assert [m["content"] for m in server.requests[-1].json["messages"]][1:] == ["tell me everything", long, "and?"]


async def test_a_compaction_without_a_server_leaves_the_conversation_as_it_is(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("word " * 300)]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("tell me everything")
            before = await ed.command("context")
            server.stop()
            error = await ed.failing("ask", text="/compact")
            assert error["data"]["kind"] == "model_unreachable"
            assert await ed.command("context") == before


async def test_a_skill_is_listed_loaded_and_sent_along(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            names = [skill["name"] for skill in (await ed.command("skills"))["skills"]]
            loaded = await ed.command("load_skill", name=names[0])
            assert (loaded["name"], loaded["tokens"] > 20) == (names[0], True)
            error = await ed.failing("load_skill", name=names[0][:-1])
            assert (error["data"]["kind"], names[0] in str(error)) == ("unknown_skill", True)
            await ed.ask("go")
    roles = [message["role"] for message in server.requests[-1].json["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


async def test_refusing_with_stop_ends_the_turn(project: Path, home: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    edit = call("write_file", path="a.py", content="x = 2\n")
    with FakeOllama(replies=[edit, call("run_command", command="touch ran")]) as server:
        async with editor(project, home, url=server.url) as ed:
            ed.answers["workspace/applyEdit"] = lambda _: {"applied": False, "stop": True}
            ed.answers["llamagent/consent"] = lambda _: {"decision": "refuse", "stop": True}
            assert (await ed.ask("edit"))["stopReason"] == "refused"
            assert (await ed.ask("run"))["stopReason"] == "refused"
    assert len(server.requests) >= 2
    assert (project / "a.py").read_text() == "x = 1\n"
    assert not (project / "ran").exists()


async def test_an_editor_is_told_that_its_folder_is_the_home(project: Path, home: Path) -> None:
    there = {"HOME": str(project), "USERPROFILE": str(project)}
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url, flags={}, environment=there) as ed:
            await ed.until(lambda: any("is your home folder" in m["message"] for m in ed.asked("window/showMessage")))
        async with editor(project, home, url=server.url, environment=there) as ed:
            await ed.ask("hello")
            assert any("is your home folder" in event["text"] for event in ed.of("notice"))


@pytest.mark.parametrize("trusted", [True, None])
async def test_conversations_deleted_by_hand_stay_deleted(project: Path, home: Path, trusted: bool | None) -> None:
    """Also while a daemon has them open. Of a project that nobody trusted yet they are in the user's folder."""
    (project / "AGENTS.md").write_text("notes\n")
    with FakeOllama(replies=[say("ok"), say("ok")]) as server:
        async with editor(project, home, url=server.url, trusted=trusted) as ed:
            await ed.ask("first")
            kept = project / ".llamagent/sessions" if trusted else next((home / "sessions").iterdir())
            assert len(list(kept.glob("*.jsonl"))) == 1
            shutil.rmtree(kept)
            assert (await ed.command("sessions"))["sessions"] == []
            await ed.ask("second")
            assert any("It goes on in memory only." in event["text"] for event in ed.of("notice"))
        async with editor(project, home, url=server.url, trusted=trusted) as ed:
            assert (await ed.command("sessions"))["sessions"] == []
    assert list(project.rglob("*.jsonl")) == list(home.rglob("*.jsonl")) == []
