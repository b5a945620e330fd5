"""Whatever a client sends, every request is answered exactly once, and the daemon goes on."""

import asyncio
from typing import Any

import pytest

from llamagent_server.errors import Busy
from llamagent_server.lsp.errors import AskFailed
from llamagent_server.lsp.framing import frame
from llamagent_server.lsp.protocol import Phase
from tests.lsp.loopback import Loopback
from tests.lsp.rawclient import daemon

PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


# --- Malformed messages, over real pipes -----------------------------------------------------------------------------

BODIES: list[tuple[bytes, Any, int]] = [
    (b"{", None, PARSE),
    (b"", None, PARSE),
    (b"\xff\xfe{\x00}\x00", None, PARSE),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "shutdown", "params": {"a": NaN}}', None, PARSE),
    (b"[" * 100_000, None, PARSE),
    (b"[]", None, INVALID),
    (b'[{"jsonrpc": "2.0", "id": 7, "method": "shutdown"}]', None, INVALID),
    (b"3", None, INVALID),
    (b"null", None, INVALID),
    (b"{}", None, INVALID),
    (b'{"jsonrpc": "2.0"}', None, INVALID),
    (b'{"id": 7, "method": "shutdown"}', 7, INVALID),
    (b'{"jsonrpc": "1.0", "id": 7, "method": "shutdown"}', 7, INVALID),
    (b'{"jsonrpc": "2.0", "id": null, "method": "shutdown"}', None, INVALID),
    (b'{"jsonrpc": "2.0", "id": true, "method": "shutdown"}', None, INVALID),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', None, INVALID),
    (b'{"jsonrpc": "2.0", "id": 7, "method": 5}', 7, INVALID),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "shutdown", "params": 5}', 7, INVALID),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}', 7, NO_METHOD),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}', 7, INVALID),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "workspace/executeCommand"}', 7, BAD_PARAMS),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "workspace/executeCommand", "params": []}', 7, BAD_PARAMS),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "workspace/executeCommand", "params": ["a"]}', 7, BAD_PARAMS),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "workspace/executeCommand", "params": {"command": 5}}', 7, BAD_PARAMS),
]


async def test_malformed_messages_are_answered_and_survived() -> None:
    async with daemon() as client:
        await client.initialize()
        for body, message_id, code in BODIES:
            await client.send_bytes(frame(body))
            reply = await client.reply_to(message_id)
            assert reply["error"]["code"] == code, body[:80]
        assert "result" in await client.command("llamagent.help")
        assert [m for m in client.others if m.get("method") != "window/logMessage"] == []


async def test_malformed_notifications_and_replies_are_passed_over() -> None:
    async with daemon() as client:
        await client.initialize()
        for method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "$/cancelRequest"):
            for params in (None, {}, [], {"textDocument": 5}, {"id": {}}):
                await client.notify(method, params)
        await client.notify("no/such", {"a": 1})
        for reply in (
            {"id": 99},
            {"id": None, "result": 1},
            {"id": {}, "error": 5},
            {"id": "llamagent-1", "error": {}},
        ):
            await client.send({"jsonrpc": "2.0", **reply})
        assert "result" in await client.command("llamagent.help")
        assert client.others == []


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"command": "llamagent.aks"}, "llamagent.ask"),
        ({"command": "llamagent.nothing"}, "There is no command"),
        ({"command": "llamagent.ask"}, "text is missing"),
        ({"command": "llamagent.ask", "arguments": [{"text": "a", "sesion": "b"}]}, "sesion is not known"),
        ({"command": "llamagent.ask", "arguments": [{"text": 5}]}, "text must be a string"),
        ({"command": "llamagent.ask", "arguments": [{"text": "a"}, {}]}, "only argument"),
        ({"command": "llamagent.ask", "arguments": {"text": "a"}}, "only argument"),
        ({"command": "llamagent.help", "arguments": [5]}, "must be an object"),
    ],
)
async def test_bad_arguments_are_told_in_words(params: dict[str, Any], words: str) -> None:
    async with daemon() as client:
        await client.initialize()
        error = (await client.request("workspace/executeCommand", params))["error"]
    assert error["code"] == BAD_PARAMS
    assert error["data"]["kind"] == "bad_argument"
    assert words in error["message"]


async def test_before_initialize_nothing_else_is_answered() -> None:
    async with daemon() as client:
        await client.notify("textDocument/didOpen", {})
        assert (await client.command("llamagent.help"))["error"]["code"] == -32002
        assert (await client.request("shutdown"))["error"]["code"] == -32002
        assert "result" in await client.initialize()


async def test_after_shutdown_requests_are_refused() -> None:
    async with daemon() as client:
        await client.initialize()
        await client.request("shutdown")
        assert (await client.command("llamagent.help"))["error"]["code"] == INVALID
        assert (await client.request("shutdown"))["error"]["code"] == INVALID


# --- Handlers --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def loop() -> Loopback:
    return Loopback()


async def until_replied(loop: Loopback, times: int = 1) -> list[Any]:
    async with asyncio.timeout(5):
        while len(loop.replies) < times:
            loop.arrived.clear()
            await loop.arrived.wait()
    return loop.replies


async def test_a_crash_is_told_without_the_machines_paths(loop: Loopback) -> None:
    async def crash(_: Any) -> Any:
        raise OSError("/home/secret/file")

    loop.protocol.fm.feature("x")(crash)
    loop.call("x", {}, 1)
    (reply,) = await until_replied(loop)
    assert reply["error"]["code"] == INTERNAL
    assert "secret" not in str(reply)


async def test_an_expected_failure_carries_its_kind(loop: Loopback) -> None:
    async def busy(_: Any) -> Any:
        raise Busy("A turn runs.", hint="Wait.", detail="turn-1")

    loop.protocol.fm.feature("x")(busy)
    loop.call("x", {}, 1)
    (reply,) = await until_replied(loop)
    data = {"kind": "busy", "hint": "Wait.", "detail": "turn-1"}
    assert reply["error"] == {"code": -32803, "message": "A turn runs. Wait.", "data": data}


@pytest.mark.parametrize(
    "result",
    [{1, 2}, b"x", object(), float("nan"), {"a": float("inf")}],
    ids=["set", "bytes", "object", "nan", "inf"],
)
async def test_a_result_that_json_cannot_say_is_an_error(loop: Loopback, result: Any) -> None:
    loop.protocol.fm.feature("x")(lambda _: result)
    loop.call("x", {}, 1)
    (reply,) = await until_replied(loop)
    assert reply["error"]["code"] == INTERNAL


async def test_bad_params_of_a_typed_request_are_told(loop: Loopback) -> None:
    loop.protocol.fm.feature("textDocument/hover")(lambda _: None)
    loop.call("textDocument/hover", {"textDocument": {"uri": "a"}, "position": {"line": -1, "character": "x"}}, 1)
    (reply,) = await until_replied(loop)
    assert reply["error"]["code"] == BAD_PARAMS


async def test_cancelling_reaches_the_handler_and_waits_for_its_clean_up(loop: Loopback) -> None:
    log: list[str] = []
    cleaned = asyncio.Event()

    async def work(_: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await cleaned.wait()
            log.append("cleaned")

    loop.protocol.fm.feature("x")(work)
    loop.call("x", {}, 1)
    await asyncio.sleep(0)
    loop.call("$/cancelRequest", {"id": 1})
    loop.call("$/cancelRequest", {"id": 2})
    await asyncio.sleep(0.01)
    assert loop.replies == []
    cleaned.set()
    (reply,) = await until_replied(loop)
    assert (log, reply["error"]["code"]) == (["cleaned"], -32800)
    loop.call("$/cancelRequest", {"id": 1})
    await asyncio.sleep(0)
    assert len(loop.replies) == 1


async def test_a_request_that_is_cancelled_before_its_first_step_is_answered(loop: Loopback) -> None:
    async def work(_: Any) -> Any:
        raise AssertionError("it must not run")

    loop.protocol.fm.feature("x")(work)
    loop.call("x", {}, "one")
    loop.call("$/cancelRequest", {"id": "one"})
    (reply,) = await until_replied(loop)
    assert reply["error"]["code"] == -32800


async def test_an_id_that_is_in_use_is_refused(loop: Loopback) -> None:
    go = asyncio.Event()

    async def work(_: Any) -> Any:
        await go.wait()
        return "first"

    loop.protocol.fm.feature("x")(work)
    loop.call("x", {}, 1)
    loop.call("x", {}, 1)
    assert loop.replies[0]["error"]["code"] == INVALID
    go.set()
    replies = await until_replied(loop, 2)
    assert replies[1]["result"] == "first"


async def test_what_was_told_before_the_end_of_a_handler_arrives_before_its_reply(loop: Loopback) -> None:
    async def work(_: Any) -> Any:
        for number in range(50):
            loop.protocol.tell("n", {"number": number})

    loop.protocol.fm.feature("x")(work)
    loop.call("x", {}, 1)
    await until_replied(loop)
    assert [m.get("method") for m in loop.sent] == ["n"] * 50 + [None]


async def test_stopping_cancels_what_runs_and_leaves_nothing_unanswered(loop: Loopback) -> None:
    async def work(_: Any) -> Any:
        await asyncio.Event().wait()

    loop.protocol.fm.feature("x")(work)
    for message_id in (1, 2, 3):
        loop.call("x", {}, message_id)
    await asyncio.sleep(0)
    await loop.protocol.stop_requests(5)
    replies = await until_replied(loop, 3)
    assert {reply["error"]["code"] for reply in replies} == {-32800}
    assert loop.protocol._running == {}


# --- Asking the client -----------------------------------------------------------------------------------------------


async def test_an_error_reply_fails_the_one_who_asked(loop: Loopback) -> None:
    with pytest.raises(AskFailed, match="no such method"):
        await loop.protocol.ask("x", {}, lambda value: value)


async def test_an_answer_that_cannot_be_read_fails_the_one_who_asked(loop: Loopback) -> None:
    loop.answers = {"x": lambda _: None}
    with pytest.raises(AskFailed, match="could not be read"):
        await loop.protocol.ask("x", {}, lambda value: value["a"])  # type: ignore[index]


async def test_a_question_that_is_given_up_is_cancelled_and_its_late_answer_dropped(loop: Loopback) -> None:
    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    loop.answers = {"x": never}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await loop.protocol.ask("x", {}, lambda value: value)
    asked, cancelled = loop.sent
    assert cancelled["params"] == {"id": asked["id"]}
    loop.reply({"id": asked["id"], "result": 1})
    loop.reply({"id": asked["id"], "error": {"code": 1, "message": "late"}})
    assert loop.protocol._asked == {}


async def test_a_closed_connection_fails_who_asks_and_who_asked(loop: Loopback) -> None:
    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    loop.answers = {"x": never}
    asking = asyncio.ensure_future(loop.protocol.ask("x", {}, lambda value: value))
    await loop.until_sent("x")
    loop.protocol.disconnect()
    with pytest.raises(AskFailed, match="closed"):
        await asking
    with pytest.raises(AskFailed, match="closed"):
        await loop.protocol.ask("x", {}, lambda value: value)


async def test_nothing_is_kept_of_messages_that_were_handled(loop: Loopback) -> None:
    loop.protocol.fm.feature("x")(lambda _: None)
    loop.answers = {"y": lambda _: 1}
    for number in range(100):
        loop.call("x", {}, number)
        loop.call("x", {})
        await loop.protocol.ask("y", {}, lambda value: value)
    await until_replied(loop, 100)
    protocol = loop.protocol
    kept = [protocol._running, protocol._asked, protocol._working, protocol._request_futures, protocol._result_types]
    assert kept == [{}, {}, set(), {}, {}]
    assert protocol.phase is Phase.RUNNING


async def test_a_crash_in_one_notification_does_not_make_it_deaf(loop: Loopback) -> None:
    def crash(_: Any) -> None:
        raise RuntimeError("ours")

    loop.protocol.fm.feature("x")(crash)
    loop.protocol.fm.feature("y")(lambda _: "fine")
    loop.call("x", {})
    loop.call("y", {}, 1)
    (reply,) = await until_replied(loop)
    assert reply["result"] == "fine"


async def test_an_initialize_that_cannot_be_read_leaves_room_for_one_that_can() -> None:
    async with daemon() as client:
        assert (await client.request("initialize", ["a"]))["error"]["code"] == BAD_PARAMS
        assert "serverInfo" in (await client.initialize())["result"]
