"""What grows has a bound, and says when it was reached."""

import asyncio
from typing import Any

import pytest

from llamagent_server.agent.conversations import MAX_OPEN
from llamagent_server.agent.turn import Ask
from llamagent_server.agent.turns import MAX_WAITING
from llamagent_server.errors import Busy
from llamagent_server.lsp.protocol import MAX_RUNNING
from tests.agent.doubles import Desk, Hang, reply
from tests.lsp.loopback import Loopback


async def test_a_queue_that_is_full_says_so_and_goes_on() -> None:
    hang = Hang()
    desk = Desk([hang, reply("done")])
    running = desk.ask("one")
    await hang.started.wait()
    waiting = [desk.conversation.turns.start(Ask(f"{number}", f"{number}")) for number in range(MAX_WAITING)]
    with pytest.raises(Busy, match="wait in this conversation already"):
        desk.ask("one too many")
    for turn in waiting[1:]:
        turn.cancel()
    running.cancel()
    assert (await waiting[0].result()).answer == "done"


async def test_of_many_conversations_the_one_not_used_for_longest_is_closed_and_opened_again() -> None:
    desk = Desk([reply("hi"), reply("again")])
    first = desk.conversation
    await desk.ask("hello").result()
    for _ in range(MAX_OPEN):
        desk.conversations.begin()
    assert len(desk.conversations.all) == MAX_OPEN
    assert desk.store.journals[first.id].closed
    opened = desk.conversations.get(first.id)
    assert opened is not first and opened.session.messages == first.session.messages


async def test_ten_thousand_requests_at_once_are_each_answered_once() -> None:
    loopback, go = Loopback(), asyncio.Event()

    async def slow(_: Any) -> str:
        await go.wait()
        return "ok"

    loopback.protocol.fm.features["workspace/executeCommand"] = slow
    loopback.protocol.raw.add("workspace/executeCommand")
    for number in range(10_000):
        loopback.call("workspace/executeCommand", {"command": "x"}, number)
    assert len(loopback.replies) == 10_000 - MAX_RUNNING
    assert "send fewer at once" in loopback.replies[0]["error"]["message"]
    running = [loopback.protocol._running[number] for number in range(MAX_RUNNING)]
    go.set()
    await asyncio.wait(running)
    loopback.call("workspace/executeCommand", {"command": "x"}, "after")
    await loopback.protocol._running["after"]
    await asyncio.sleep(0)
    assert sorted(str(reply["id"]) for reply in loopback.replies) == sorted([*map(str, range(10_000)), "after"])
    assert loopback.replies[-1]["result"] == "ok" and not loopback.protocol._running


async def test_answers_twice_and_to_nobody_and_cancels_of_nothing_change_nothing() -> None:
    loopback = Loopback(answers={"some/question": lambda _: "yes"})
    assert await loopback.protocol.ask("some/question", {}, lambda value: value) == "yes"
    for message_id in ("llamagent-0", "llamagent-1", "nobody", 99):
        loopback.reply({"id": message_id, "result": "no"})
        loopback.call("$/cancelRequest", {"id": message_id})
    assert await loopback.protocol.ask("some/question", {}, lambda value: value) == "yes"


async def test_a_message_of_fifty_megabytes_is_read_and_a_document_of_that_size_is_not_kept() -> None:
    loopback = Loopback()
    text = "x" * 50_000_000
    loopback.protocol.fm.features["textDocument/didOpen"] = lambda params: loopback.documents.open(params.text_document)
    loopback.call(
        "textDocument/didOpen",
        {"textDocument": {"uri": "file:///big", "languageId": "x", "version": 1, "text": text}},
    )
    document = loopback.documents.get("file:///big")
    assert document is not None and document.text == ""
    assert document.problem == "it is too large: more than 10 million characters"
    loopback.call(
        "textDocument/didOpen",
        {"textDocument": {"uri": "file:///next", "languageId": "x", "version": 1, "text": "next"}},
    )
    following = loopback.documents.get("file:///next")
    assert following is not None and following.text == "next"
