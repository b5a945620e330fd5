"""The way back from a turn over real stdio: proposed through the gate, around what the person changed since."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import CAPABILITIES, editor
from tests.fakes import FakeOllama, call, say

BEFORE = "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"


def edits() -> list[Any]:
    return [
        call("edit_file", path="a.txt", old_text="two", new_text="TWO"),
        call("write_file", path="new.txt", content="made\n"),
        call("edit_file", path="a.txt", old_text="TWO", new_text="2"),
        say("done"),
    ]


async def test_a_turn_is_undone_as_one_review_after_a_restart_of_the_daemon(project: Path, home: Path) -> None:
    (project / "a.txt").write_bytes(b"\xef\xbb\xbf" + BEFORE.encode())
    with FakeOllama(replies=[*edits(), say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            asked = await ed.ask("change it")
            assert (project / "new.txt").exists()
        async with editor(project, home, url=server.url) as ed:
            await ed.command("resume", ref=1)
            done = await ed.command("undo_turn")
            assert done["outcome"] == "accepted"
            assert sorted(done["proposed"]) == sorted([ed.uri("a.txt"), ed.uri("new.txt")])
            assert len(ed.asked("workspace/applyEdit")) == 1
            assert (await ed.command("undo_turn"))["outcome"] == "nothing"
            again = await ed.command("undo_turn", session=asked["session"], turn=asked["turn"])
            assert again == {"proposed": [], "outcome": "nothing", "reason": "There is nothing to undo."}
            await ed.ask("and now?")
    assert (project / "a.txt").read_bytes() == b"\xef\xbb\xbf" + BEFORE.encode()
    assert not (project / "new.txt").exists()
    told = [m["content"] for m in server.requests[-1].json["messages"]]
    assert any("undone earlier changes" in words and "a.txt" in words for words in told)
    assert sorted(path.name for path in project.iterdir()) == [".llamagent", "a.txt"]


async def test_an_edit_that_was_accepted_right_before_a_cancel_is_told_and_can_be_undone(
    project: Path, home: Path
) -> None:
    """The editor says yes, and the cancel comes before what it changed has reached the daemon."""
    (project / "a.txt").write_text("one\ntwo\n")
    script = [call("edit_file", path="a.txt", old_text="two", new_text="2"), say("never"), say("ok")]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.txt")
            later: list[asyncio.Task[Any]] = []

            async def cancels(params: Any) -> None:
                await asyncio.sleep(0.2)
                await ed.command("cancel")
                await ed.accept(params)

            def accepts(params: Any) -> Any:
                later.append(asyncio.create_task(cancels(params)))
                return {"applied": True}

            ed.answers["workspace/applyEdit"] = accepts
            assert (await ed.ask("change it"))["stopReason"] == "cancelled"
            assert [event["outcome"] for event in ed.of("edit.resolved")] == ["accepted"]
            assert [event["ok"] for event in ed.of("tool.returned")] == [True]
            ed.answers["workspace/applyEdit"] = ed.accept
            assert (await ed.command("undo_turn"))["outcome"] == "accepted"
            assert ed.text("a.txt") == "one\ntwo\n"
            await ed.ask("and now?")
    told = [m["content"] for m in server.requests[-1].json["messages"]]
    assert "Edited a.txt (+1 -1). The user accepted it." in told


async def test_an_undo_that_was_accepted_right_before_its_request_was_cancelled_is_told(
    project: Path, home: Path
) -> None:
    (project / "a.txt").write_text("one\ntwo\n")
    script = [call("edit_file", path="a.txt", old_text="two", new_text="2"), say("done"), say("ok")]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.txt")
            await ed.ask("change it")
            later: list[asyncio.Task[Any]] = []

            async def cancels(params: Any) -> None:
                await asyncio.sleep(0.2)
                await ed.client.notify("$/cancelRequest", {"id": number})
                await ed.accept(params)

            def accepts(params: Any) -> Any:
                later.append(asyncio.create_task(cancels(params)))
                return {"applied": True}

            ed.answers["workspace/applyEdit"] = accepts
            number, reply = await ed.start("undo_turn")
            async with asyncio.timeout(10):
                await reply
            assert ed.text("a.txt") == "one\ntwo\n"
            await ed.ask("and now?")
            assert (await ed.command("undo_turn"))["outcome"] == "nothing"
    assert any("undone earlier changes" in m["content"] for m in server.requests[-1].json["messages"])


async def test_what_the_person_changed_since_stays(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\n")
    script = [call("edit_file", path="a.txt", old_text="two", new_text="2"), say("done")]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("a.txt")
            await ed.ask("change it")
            await ed.change("a.txt", "zero\none\n2\nthree\nfour\nfive\nSIX\n")
            assert (await ed.command("undo_turn"))["outcome"] == "accepted"
            assert ed.text("a.txt") == "zero\none\ntwo\nthree\nfour\nfive\nSIX\n"


async def test_a_conflict_is_said_and_not_proposed_and_the_other_file_is(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    (project / "b.txt").write_text("one\n")
    script = [
        call("edit_file", path="a.txt", old_text="two", new_text="2"),
        call("edit_file", path="b.txt", old_text="one", new_text="1"),
        say("done"),
    ]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("change it")
            (project / "a.txt").write_text("one\n2 and more\nthree\n")
            done = await ed.command("undo_turn")
    assert done["proposed"] == [ed.uri("b.txt")]
    assert done["reason"] == "a.txt was changed since, in the same lines, so it stays as it is."
    assert (project / "a.txt").read_text() == "one\n2 and more\nthree\n"
    assert (project / "b.txt").read_text() == "one\n"


async def test_a_created_file_that_was_changed_since_stays(project: Path, home: Path) -> None:
    with FakeOllama(replies=[call("write_file", path="new.txt", content="made\n"), say("done")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("make it")
            (project / "new.txt").write_text("mine\n")
            done = await ed.command("undo_turn")
    assert (done["outcome"], done["proposed"]) == ("failed", [])
    assert "created by it and changed since" in done["reason"]
    assert (project / "new.txt").read_text() == "mine\n"


async def test_an_editor_that_cannot_remove_files_is_told_to(project: Path, home: Path) -> None:
    workspace = {"applyEdit": True, "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}}
    able = CAPABILITIES | {"workspace": workspace}
    with FakeOllama(replies=[call("write_file", path="new.txt", content="made\n"), say("done")]) as server:
        async with editor(project, home, url=server.url, capabilities=able) as ed:
            await ed.ask("make it")
            done = await ed.command("undo_turn")
    assert done["outcome"] == "failed"
    assert "remove it yourself" in done["reason"]
    assert (project / "new.txt").read_text() == "made\n"


async def test_a_refused_undo_changes_nothing_and_can_be_asked_again(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n")
    with FakeOllama(replies=[call("edit_file", path="a.txt", old_text="one", new_text="1"), say("done")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("change it")
            ed.answers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": "keep it"}
            done = await ed.command("undo_turn")
            assert (done["outcome"], done["reason"]) == ("rejected", "keep it")
            assert (project / "a.txt").read_text() == "1\n"
            ed.answers["workspace/applyEdit"] = ed.accept
            assert (await ed.command("undo_turn"))["outcome"] == "accepted"
    assert (project / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("answer", ["Accept", "Reject", None])
async def test_an_editor_without_a_client_of_ours_is_asked_in_its_own_dialog(
    project: Path, home: Path, answer: str | None
) -> None:
    (project / "a.txt").write_text("one\n")
    script = [
        call("edit_file", path="a.txt", old_text="one", new_text="1"),
        call("write_file", path="n.txt", content="made\n"),
        say("done"),
    ]
    with FakeOllama(replies=script) as server:
        async with editor(project, home, url=server.url, flags={}) as ed:
            chosen: list[Any] = [{"title": "Accept"}]
            ed.answers["window/showMessageRequest"] = lambda _: chosen[0]
            await ed.ask("change it")
            chosen[0] = {"title": answer} if answer else None
            done = await ed.command("undo_turn")
            question = ed.asked("window/showMessageRequest")[-1]["message"]
    assert "a.txt (+1 −1)" in question
    assert "n.txt (+0 −1, the file is removed)" in question
    assert done["outcome"] == ("accepted" if answer == "Accept" else "rejected")
    assert (project / "a.txt").read_text() == ("one\n" if answer == "Accept" else "1\n")
    assert (project / "n.txt").exists() is (answer != "Accept")


async def test_no_undo_while_a_turn_runs(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one two three four", hold_after=2)]) as server:
        async with editor(project, home, url=server.url) as ed:
            _, reply = await ed.start("ask", text="go")
            await ed.until(lambda: bool(ed.of("model.delta")))
            for command in ("undo_turn", "retry"):
                assert (await ed.failing(command))["data"]["kind"] == "busy"
            server.release()
            await reply


async def test_an_ask_that_comes_right_behind_an_undo_waits_for_it(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n")
    edit = call("edit_file", path="a.txt", old_text="one", new_text="1")
    with FakeOllama(replies=[edit, say("done"), say("I see")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("change it")
            (_, undone), (_, asked) = await ed.start("undo_turn"), await ed.start("ask", text="and now?")
            await undone
            await asked
            assert sent(server)[-3].startswith("I have undone earlier changes of yours in a.txt.")
            assert sent(server)[-1] == "and now?"
    assert (project / "a.txt").read_text() == "one\n"


# --- Again ---------------------------------------------------------------------------------------------------------


def sent(server: FakeOllama) -> list[str]:
    return [message["content"] for message in server.requests[-1].json["messages"][1:]]


async def test_retry_is_a_new_turn_from_before_the_last_one(project: Path, home: Path) -> None:
    with FakeOllama(replies=[say("one"), say("two"), say("three"), say("four"), say("five")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("first")
            second = await ed.ask("second")
            again = await ed.command("retry")
            assert (again["answer"], again["session"]) == ("three", second["session"])
            assert again["turn"] != second["turn"]
            assert sent(server) == ["first", "one", "second"]
            await ed.command("retry", text="in other words")
            assert sent(server) == ["first", "one", "in other words"]
            (row,) = (await ed.command("sessions"))["sessions"]
            assert row["messages"] == 4
        async with editor(project, home, url=server.url) as ed:
            assert (await ed.command("resume", ref=1))["messages"] == 4
            await ed.ask("and then?")
            assert sent(server) == ["first", "one", "in other words", "four", "and then?"]
            events = (await ed.command("trace"))["events"]
    assert [event["text"] for event in events if event["kind"] == "turn.started"] == [
        "first",
        "second",
        "second",
        "in other words",
        "and then?",
    ]


async def test_retry_of_an_older_turn_leaves_the_later_ones_out_also_after_a_compaction(
    project: Path, home: Path
) -> None:
    with FakeOllama(replies=[say("one"), say("two"), say("summary"), say("three"), say("new")]) as server:
        async with editor(project, home, url=server.url) as ed:
            first = await ed.ask("first")
            await ed.ask("second")
            await ed.command("compact")
            await ed.ask("third")
        async with editor(project, home, url=server.url) as ed:
            await ed.command("retry", session=first["session"], turn=first["turn"], text="anew")
            assert sent(server) == ["anew"]
            (row,) = (await ed.command("sessions"))["sessions"]
    assert (row["title"], row["messages"]) == ("anew", 2)


async def test_retry_of_a_newer_turn_keeps_the_word_that_an_older_one_was_undone(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n")
    first = [call("edit_file", path="a.txt", old_text="one", new_text="1"), say("done")]
    told = [
        "I have undone earlier changes of yours in a.txt. Read a file again before you edit it.",
        "Understood: a.txt is as it was before.",
    ]
    with FakeOllama(replies=[*first, say("two"), say("three"), say("four"), say("five"), say("six")]) as server:
        async with editor(project, home, url=server.url) as ed:
            older = await ed.ask("change it")
            await ed.ask("second")
            assert (await ed.command("undo_turn", turn=older["turn"]))["outcome"] == "accepted"
            await ed.command("retry")
            assert sent(server)[-3:] == [*told, "second"]
            await ed.command("retry")
            assert sent(server)[-4:] == ["done", *told, "second"]
        async with editor(project, home, url=server.url) as ed:
            await ed.command("resume", ref=1)
            await ed.command("retry", text="again")
            assert sent(server)[-4:] == ["done", *told, "again"]
            await ed.command("retry", turn=older["turn"], text="anew")
            assert sent(server) == ["anew"]


async def test_retry_keeps_what_went_along_and_the_mode(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n")
    edit = call("write_file", path="a.txt", content="1\n")
    with FakeOllama(replies=[say("ok"), edit, say("no")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("look", context=[{"uri": ed.uri("a.txt")}], mode="read")
        async with editor(project, home, url=server.url) as ed:
            await ed.command("resume", ref=1)
            (project / "b.txt").write_text("two\n")
            await ed.command("retry", text="look well at @b.txt")
            assert sent(server)[0].startswith("look well at @b.txt\n\na.txt:\n```\none\n```\n\nb.txt:\n```\ntwo\n```")
            assert ed.of("turn.started")[-1]["files"] == ["a.txt", "b.txt"]
    assert (project / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("accepts", [True, False])
async def test_retry_with_undo_takes_back_the_edits_first(project: Path, home: Path, accepts: bool) -> None:
    (project / "a.txt").write_text("one\n")
    first = [call("edit_file", path="a.txt", old_text="one", new_text="1"), say("done")]
    second = [call("write_file", path="b.txt", content="more\n"), say("done")]
    with FakeOllama(replies=[*first, *second, say("third")]) as server:
        async with editor(project, home, url=server.url) as ed:
            asked = await ed.ask("change it")
            await ed.ask("more")
            if not accepts:
                ed.answers["workspace/applyEdit"] = lambda _: {"applied": False}
            done = await ed.command("retry", turn=asked["turn"], text="other words", undo=True)
            assert done["stopReason"] == ("answered" if accepts else "refused")
    assert (project / "a.txt").read_text() == ("one\n" if accepts else "1\n")
    assert (project / "b.txt").exists() is not accepts
    assert len(server.requests) == (5 if accepts else 4)
    if accepts:
        assert sent(server) == ["other words"]


async def test_retry_with_undo_stops_where_there_is_no_way_back(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("one\n")
    with FakeOllama(replies=[call("edit_file", path="a.txt", old_text="one", new_text="1"), say("done")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.ask("change it")
            (project / "a.txt").write_text("mine\n")
            error = await ed.failing("retry", undo=True)
    assert "same lines" in error["message"]
    assert len(server.requests) == 2


@pytest.mark.parametrize("arguments", [{}, {"turn": "turn-none"}, {"text": "  "}])
async def test_retry_of_what_is_not_there(project: Path, home: Path, arguments: dict[str, Any]) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url) as ed:
            assert (await ed.failing("retry", **arguments))["data"]["kind"] == "bad_argument"
            assert (await ed.command("undo_turn"))["outcome"] == "nothing"
