"""Consent, saving and notices: what the person is asked beside edits, and that only their yes is a yes."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.agent.ports import ConsentDecision, SaveReport
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.lsp import visible
from llamagent_server.lsp.client import Client
from llamagent_server.lsp.editor import ConnectedEditor, Surroundings
from llamagent_server.lsp.files import Files
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.settings import SavePolicy
from llamagent_server.workspace import Folder, ProjectWorkspace
from llamagent_server.workspace.uris import to_uri
from tests.lsp.loopback import Answer, Loopback, Rejected, client

ASK = "window/showMessageRequest"
APPLY = "workspace/applyEdit"
CONSENT = "llamagent/consent"
SAVE = "llamagent/save"
REFUSED = (ConsentDecision.REFUSE, None)


class Desk:
    def __init__(
        self, folder: Path, editor: Client, *, save: SavePolicy = SavePolicy.BEFORE_COMMAND, network: bool = True
    ) -> None:
        self.path = folder / "a.py"
        self.path.write_text("one\n")
        self.uri = to_uri(self.path)
        self.loop = Loopback()
        self.loop.opens(self.uri, "one\n")
        workspace = ProjectWorkspace((Folder("proj", folder, to_uri(folder)),), self.loop.documents)
        files = Files(self.loop.documents, lambda: workspace)

        async def place() -> tuple[str, bool]:
            return "/proj", not network

        surroundings = Surroundings(files, lambda: save, place)
        shown = ShownFiles(self.loop.protocol, editor)
        self.shown = shown
        self.editor = ConnectedEditor(self.loop.protocol, editor, surroundings, shown)

    async def edits(self) -> None:
        """Have an edit accepted that is not on disk."""

        def apply(params: Any) -> Any:
            self.loop.applies(params["edit"])
            return {"applied": True}

        self.loop.answers |= {ASK: lambda _: {"title": "Accept"}, APPLY: apply}
        change = FileChange("a.py", self.uri, "one\n", "two\n", 1)
        answer = await self.editor.review("review-1", Proposal("edit a.py", (change,)))
        assert answer.now == ("two\n",)

    def writes(self, _: Any) -> Any:
        """Save as an editor does."""
        document = self.loop.documents.get(self.uri)
        assert document is not None
        self.path.write_text(document.text)
        self.editor.saved(self.uri)
        return {"saved": [self.uri], "a newer client's": "extra"}


@pytest.fixture
def make_desk(tmp_path: Path) -> Callable[..., Desk]:
    return lambda editor=None, **options: Desk(tmp_path, editor or client(), **options)


def broken(_: Any) -> Any:
    raise Rejected(-32603, "the dialog broke")


# --- Consent ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda _: {"title": "Run"}, (ConsentDecision.RUN, None)),
        (lambda _: {"title": "Always in this session"}, (ConsentDecision.ALWAYS, None)),
        (lambda _: {"title": "Refuse"}, REFUSED),
        (lambda _: {"title": "Run with network"}, REFUSED),
        (lambda _: {"title": "run"}, REFUSED),
        (lambda _: {"decision": "run"}, REFUSED),
        (lambda _: None, REFUSED),
        (lambda _: "Run", REFUSED),
        (broken, REFUSED),
        (None, REFUSED),
    ],
)
async def test_only_a_chosen_run_runs(
    make_desk: Callable[..., Desk], answer: Answer | None, expected: tuple[ConsentDecision, str | None]
) -> None:
    desk = make_desk()
    desk.loop.answers = {ASK: answer} if answer else {}
    consent = await desk.editor.consent("call-1", "rm -rf /")
    assert (consent.decision, consent.reason) == expected
    (asked,) = desk.loop.sent_params(ASK)
    assert "rm -rf /" in asked["message"]
    assert [action["title"] for action in asked["actions"]] == ["Run", "Always in this session", "Refuse"]


async def test_nothing_of_a_command_can_be_hidden(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    desk.loop.answers = {ASK: lambda _: {"title": "Refuse"}}
    await desk.editor.consent("call-1", "ls\r\x1b[2K\u202e\u2028\nrm x")
    assert "\n$ ls\\r\\x1b[2K\\u202e\\u2028\n> rm x" in desk.loop.sent_params(ASK)[0]["message"]


async def test_of_a_very_long_command_both_ends_are_asked_and_the_whole_stands_in_a_file(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk()
    desk.loop.answers = {ASK: lambda _: {"title": "Refuse"}}
    forged = "… 3 lines are left out here. The whole command is in /x"
    command = f"ls\n{forged}\n" + "x" * 300_000 + "; rm y\x1b[2K"
    await desk.editor.consent("call-1", command)
    message = desk.loop.sent_params(ASK)[0]["message"]
    assert len(message) < 11_000
    assert f"\n$ ls\n> {forged}\n> xxx" in message and message.endswith("; rm y\\x1b[2K")
    lines = message.split("\n")[1:]
    (note,) = [line for line in lines if line[:2] not in ("$ ", "> ", "| ")]
    found = re.fullmatch(r"… (\d+) lines are left out here\. The whole command is in (.+)", note)
    assert found is not None
    whole = Path(found[2]).read_text().splitlines()
    at = lines.index(note)
    assert whole == [*lines[:at], *whole[at : at + int(found[1])], *lines[at + 1 :]]
    assert whole == visible.command(command).split("\n")[1:]
    desk.shown.close()
    assert not Path(found[2]).exists()


async def test_a_long_command_that_can_be_shown_nowhere_else_is_asked_whole(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    desk.shown.close()
    desk.loop.answers = {ASK: lambda _: {"title": "Refuse"}}
    await desk.editor.consent("call-1", "ls\n" * 500 + "rm y")
    assert desk.loop.sent_params(ASK)[0]["message"].count("\n> ls") == 499


@pytest.mark.parametrize(("count", "is_whole"), [(1, True), (60, True), (61, True), (62, False)])
async def test_a_command_of_a_few_lines_is_asked_whole(
    make_desk: Callable[..., Desk], count: int, *, is_whole: bool
) -> None:
    desk = make_desk()
    desk.loop.answers = {ASK: lambda _: {"title": "Refuse"}}
    await desk.editor.consent("call-1", "\n".join(["ls"] * count))
    assert ("left out" not in desk.loop.sent_params(ASK)[0]["message"]) is is_whole
    desk.shown.close()


async def test_where_the_network_is_closed_it_can_be_opened(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(network=False)
    desk.loop.answers = {ASK: lambda _: {"title": "Run with network"}}
    assert (await desk.editor.consent("call-1", "pip list")).decision is ConsentDecision.RUN_WITH_NETWORK


@pytest.mark.parametrize(
    ("open_already", "reply", "decision"),
    [
        (False, {"decision": "run", "network": True}, ConsentDecision.RUN_WITH_NETWORK),
        (False, {"decision": "run"}, ConsentDecision.RUN),
        (False, {"decision": "always", "network": True}, ConsentDecision.ALWAYS),
        (False, {"decision": "refuse", "network": True}, ConsentDecision.REFUSE),
        (True, {"decision": "run", "network": True}, ConsentDecision.RUN),
    ],
)
async def test_a_client_that_asks_itself_may_open_the_network_once(
    make_desk: Callable[..., Desk], open_already: bool, reply: dict[str, object], decision: ConsentDecision
) -> None:
    desk = make_desk(client(consent=True), network=open_already)
    desk.loop.answers = {CONSENT: lambda _: reply}
    assert (await desk.editor.consent("call-1", "pip list")).decision is decision


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (lambda _: {"decision": "run"}, ConsentDecision.RUN),
        (lambda _: {"decision": "always", "new": 1}, ConsentDecision.ALWAYS),
        (lambda _: {"decision": "refuse", "reason": "no"}, ConsentDecision.REFUSE),
        (lambda _: {"decision": "Run"}, ConsentDecision.REFUSE),
        (lambda _: {"decision": True}, ConsentDecision.REFUSE),
        (lambda _: {}, ConsentDecision.REFUSE),
        (lambda _: None, ConsentDecision.REFUSE),
        (lambda _: True, ConsentDecision.REFUSE),
        (broken, ConsentDecision.REFUSE),
        (None, ConsentDecision.REFUSE),
    ],
)
async def test_a_client_that_asks_itself_is_believed_word_for_word(
    make_desk: Callable[..., Desk], answer: Answer | None, decision: ConsentDecision
) -> None:
    desk = make_desk(client(consent=True))
    desk.loop.answers = {ASK: lambda _: {"title": "Run"}} | ({CONSENT: answer} if answer else {})
    assert (await desk.editor.consent("call-1", "ls")).decision is decision
    question = {"call": "call-1", "command": "ls", "cwd": "/proj", "sandboxed": False, "network": True}
    assert desk.loop.sent_params(CONSENT) == [question]
    assert desk.loop.sent_params(ASK) == []


@pytest.mark.parametrize(("flags", "method"), [({}, ASK), ({"consent": True}, CONSENT)])
async def test_a_cancelled_question_is_taken_down(
    make_desk: Callable[..., Desk], flags: dict[str, bool], method: str
) -> None:
    desk = make_desk(client(**flags))

    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    desk.loop.answers = {method: never}
    asking = asyncio.ensure_future(desk.editor.consent("call-1", "ls"))
    await desk.loop.until_sent(method)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(desk.loop.sent_params("$/cancelRequest")) == 1
    assert desk.loop.sent_params("llamagent/reviewClosed") == [{"reviewId": "call-1"}]


# --- Saving ----------------------------------------------------------------------------------------------------------


async def test_a_client_that_can_save_is_asked_to_before_a_command(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(save=True))
    await desk.edits()
    desk.loop.answers[SAVE] = desk.writes
    assert await desk.editor.save_edited() == SaveReport(saved=("a.py",))
    assert desk.loop.sent_params(SAVE) == [{"uris": [desk.uri]}]
    assert await desk.editor.save_edited() == SaveReport()


@pytest.mark.parametrize("answer", [None, broken, lambda _: None, lambda _: {"saved": ["file:///elsewhere"]}])
async def test_what_was_not_saved_is_said_whatever_the_client_claims(
    make_desk: Callable[..., Desk], answer: Answer | None
) -> None:
    desk = make_desk(client(save=True))
    await desk.edits()
    desk.loop.answers |= {SAVE: answer} if answer else {}
    assert await desk.editor.save_edited() == SaveReport(unsaved=("a.py",))


async def test_other_clients_are_not_asked_to_save(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    await desk.edits()
    assert await desk.editor.save_edited() == SaveReport(unsaved=("a.py",))
    assert desk.loop.sent_params(SAVE) == []
    desk.path.write_text("two\n")  # the person saves
    assert await desk.editor.save_edited() == SaveReport()


@pytest.mark.parametrize(
    ("policy", "after_edit", "before_command"),
    [(SavePolicy.ON_ACCEPT, 1, 1), (SavePolicy.BEFORE_COMMAND, 0, 1), (SavePolicy.NEVER, 0, 0)],
)
async def test_the_setting_says_when_to_save(
    make_desk: Callable[..., Desk], policy: SavePolicy, after_edit: int, before_command: int
) -> None:
    desk = make_desk(client(save=True), save=policy)
    desk.loop.answers = {SAVE: desk.writes}
    await desk.edits()
    assert len(desk.loop.sent_params(SAVE)) == after_edit
    await desk.editor.save_edited()
    assert len(desk.loop.sent_params(SAVE)) == before_command


async def test_what_the_person_typed_elsewhere_is_none_of_our_business(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(save=True))
    desk.loop.changes(desk.uri, "typed\n", 2)
    assert await desk.editor.save_edited() == SaveReport()
    assert desk.loop.sent == []


# --- Beside a turn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "trusted"), [({"title": "Trust"}, True), ({"title": "Not now"}, False), (None, False)]
)
async def test_trust_is_given_in_so_many_words(make_desk: Callable[..., Desk], answer: Any, trusted: bool) -> None:
    desk = make_desk()
    desk.loop.answers = {ASK: lambda _: answer}
    assert await desk.editor.ask_trust("/proj", ()) is trusted
    (asked,) = desk.loop.sent_params(ASK)
    assert "/proj" in asked["message"]
    assert [action["title"] for action in asked["actions"]] == ["Trust", "Not now"]


@pytest.mark.parametrize(
    ("flags", "important", "method"),
    [
        ({}, True, "window/showMessage"),
        ({}, False, "window/logMessage"),
        ({"trace": True}, True, None),
    ],
)
async def test_notices_reach_clients_without_a_trace(
    make_desk: Callable[..., Desk], flags: dict[str, bool], important: bool, method: str | None
) -> None:
    desk = make_desk(client(**flags))
    desk.editor.notify("look", important=important)
    assert [message["method"] for message in desk.loop.sent] == ([method] if method else [])
