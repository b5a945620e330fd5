"""The gate: nothing changes without a yes, in whatever way the editor answers, lies, hangs or dies."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pygls.protocol import default_converter
from pytest_lsp import client_capabilities

from llamagent_server.agent.ports import ReviewAnswer
from llamagent_server.agent.review import resolve
from llamagent_server.core.proposals import FileChange, Outcome, Proposal
from llamagent_server.lsp.client import Client
from llamagent_server.lsp.files import Files
from llamagent_server.lsp.questions import Questions
from llamagent_server.lsp.reviews import DIFF_LINE_CHARS, DIFF_LINES, Reviews
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.workspace import Folder, ProjectWorkspace
from llamagent_server.workspace.uris import to_uri
from tests.lsp.loopback import Loopback, Rejected, client, edits_by_uri

ASK = "window/showMessageRequest"
APPLY = "workspace/applyEdit"
BEFORE = "one\ntwo\nthree\n"
AFTER = "one\nTWO\nthree\n"


class Desk:
    """A project with one file, an editor, and the reviews between them."""

    def __init__(self, folder: Path, editor: Client, *, before: str | None = BEFORE, opened: bool = True) -> None:
        self.path = folder / "a.py"
        self.uri = to_uri(self.path)
        self.before = before
        if before is not None:
            self.path.write_text(before, encoding="utf-8", newline="")
        self.loop = Loopback(encoding=editor.encoding)
        if opened and before is not None:
            self.loop.opens(self.uri, before)
        root = Folder("proj", folder, to_uri(folder))
        self.workspace = ProjectWorkspace((root,), self.loop.documents)
        self.workspace.opened(self.uri)
        files = Files(self.loop.documents, lambda: self.workspace)
        self.shown = ShownFiles(self.loop.protocol, editor)
        self.reviews = Reviews(self.loop.protocol, editor, files, Questions(self.loop.protocol), self.shown)

    @property
    def on_screen(self) -> str | None:
        document = self.loop.documents.get(self.uri)
        return document.text if document else None

    def proposal(self, after: str = AFTER) -> Proposal:
        document = self.loop.documents.get(self.uri)
        version = document.version if document else None
        return Proposal("edit a.py", (FileChange("a.py", self.uri, self.before, after, version),))

    async def review(self, after: str = AFTER) -> tuple[ReviewAnswer, Outcome]:
        proposal = self.proposal(after)
        answer = await self.reviews.review("review-1", proposal)
        return answer, resolve(proposal, answer).outcome


@pytest.fixture
def make_desk(tmp_path: Path) -> Callable[..., Desk]:
    def make(editor: Client | None = None, **options: Any) -> Desk:
        return Desk(tmp_path, editor or client(), **options)

    return make


def preset(name: str, **flags: bool) -> Client:
    able = default_converter().unstructure(client_capabilities(name))
    return client(able, **flags)


def says(title: str) -> Callable[[Any], Any]:
    return lambda _: {"title": title}


def yes(desk: Desk) -> Callable[[Any], Any]:
    """An honest editor."""

    def apply(params: Any) -> Any:
        desk.loop.applies(params["edit"])
        return {"applied": True}

    return apply


# --- Who is asked, and in which form the edit is sent ----------------------------------------------------------------

PRESETS = ["visual-studio-code", "neovim", "neovim@v0.9.1", "emacs"]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("before", [BEFORE, None])
async def test_a_stock_editor_is_asked_and_then_sent_the_edit_in_its_form(
    make_desk: Callable[..., Desk], name: str, before: str | None
) -> None:
    editor = preset(name)
    desk = make_desk(editor, before=before)
    desk.loop.answers = {ASK: says("Accept"), APPLY: yes(desk)}
    answer, outcome = await desk.review()
    assert (outcome, desk.on_screen) == (Outcome.ACCEPTED, AFTER)
    assert answer.now == (AFTER,)
    assert [m["method"] for m in desk.loop.sent if "id" in m] == [ASK, APPLY]
    (sent,) = desk.loop.sent_params(APPLY)
    check_form(editor, sent["edit"], desk.uri, new=before is None, needs_confirmation=False)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("before", [BEFORE, None])
async def test_an_editor_that_reviews_is_sent_the_edit_at_once(
    make_desk: Callable[..., Desk], name: str, before: str | None
) -> None:
    editor = preset(name, review=True)
    desk = make_desk(editor, before=before)
    desk.loop.answers = {APPLY: yes(desk)}
    _, outcome = await desk.review()
    assert (outcome, desk.on_screen) == (Outcome.ACCEPTED, AFTER)
    assert [m["method"] for m in desk.loop.sent if "id" in m] == [APPLY]
    (sent,) = desk.loop.sent_params(APPLY)
    check_form(editor, sent["edit"], desk.uri, new=before is None, needs_confirmation=True)


def check_form(editor: Client, edit: dict[str, Any], uri: str, *, new: bool, needs_confirmation: bool) -> None:
    if not editor.document_changes:
        assert set(edit) == {"changes"}
        assert all(set(e) == {"range", "newText"} for e in edit["changes"][uri])
        return
    operations = edit["documentChanges"]
    assert "changes" not in edit
    assert [op["kind"] for op in operations if "kind" in op] == (["create"] if new and editor.creates_files else [])
    (document,) = [op for op in operations if "textDocument" in op]
    assert document["textDocument"] == {"uri": uri, "version": None if new else 1}
    if not (editor.annotates or editor.flags.review):
        assert "changeAnnotations" not in edit
        assert all("annotationId" not in e for e in document["edits"])
        return
    key = "llamagent:review-1"
    assert edit["changeAnnotations"] == {key: {"label": "edit a.py", "needsConfirmation": needs_confirmation}}
    assert all(e["annotationId"] == key for e in document["edits"])
    assert all(op["annotationId"] == key for op in operations if "kind" in op)


async def test_only_the_changed_words_are_sent(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(review=True))
    desk.loop.answers = {APPLY: yes(desk)}
    await desk.review("one\ntwo!\nthree\n")
    (edits,) = edits_by_uri(desk.loop.sent_params(APPLY)[0]["edit"]).values()
    assert edits == [{"range": {"start": pos(1, 3), "end": pos(1, 3)}, "newText": "!"}]


def pos(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


# --- Everything that is not a yes ------------------------------------------------------------------------------------


def hang_up(desk: Desk) -> Callable[[Any], Any]:
    async def gone(_: Any) -> Any:
        desk.loop.protocol.disconnect()

    return gone


def failing(_: Any) -> Any:
    raise Rejected(-32603, "the dialog broke")


NOES: dict[str, Callable[[Desk], Any]] = {
    "reject": lambda _: says("Reject"),
    "dismissed": lambda _: lambda _: None,
    "another title": lambda _: says("accept"),
    "no title": lambda _: lambda _: {},
    "true": lambda _: lambda _: True,
    "a string": lambda _: lambda _: "Accept",
    "an error": lambda _: failing,
    "not implemented": lambda _: None,
    "the pipe closes": hang_up,
}


@pytest.mark.parametrize("how", NOES)
async def test_whatever_is_not_accept_changes_nothing(make_desk: Callable[..., Desk], how: str) -> None:
    desk = make_desk()
    answer = NOES[how](desk)
    desk.loop.answers = {APPLY: yes(desk)} | ({ASK: answer} if answer else {})
    _, outcome = await desk.review()
    assert (outcome, desk.on_screen, desk.path.read_text()) == (Outcome.REJECTED, BEFORE, BEFORE)
    assert desk.loop.sent_params(APPLY) == []


@pytest.mark.parametrize(
    ("reply", "outcome", "reason"),
    [
        ({"applied": False, "failureReason": "not like this"}, Outcome.REJECTED, "not like this"),
        ({"applied": "true"}, Outcome.REJECTED, None),
        ({"applied": 1}, Outcome.REJECTED, None),
        ({}, Outcome.REJECTED, None),
        ({"applied": False, "failed": "yes"}, Outcome.REJECTED, None),
        (None, Outcome.FAILED, "could not be read"),
        ([], Outcome.FAILED, "could not be read"),
        ({"applied": False, "failed": True, "failureReason": "stale"}, Outcome.FAILED, "stale"),
        ({"applied": False, "failed": True}, Outcome.FAILED, "no reason"),
        ({"applied": False, "failed": {"file:///elsewhere": "stale"}}, Outcome.REJECTED, None),
    ],
)
async def test_only_a_plain_true_is_a_yes_and_only_what_says_so_is_no_rejection(
    make_desk: Callable[..., Desk], reply: Any, outcome: Outcome, reason: str | None
) -> None:
    desk = make_desk(client(review=True))
    desk.loop.answers = {APPLY: lambda _: reply}
    proposal = desk.proposal()
    answer = await desk.reviews.review("review-1", proposal)
    resolution = resolve(proposal, answer)
    assert (answer.applied, resolution.outcome, desk.on_screen) == (False, outcome, BEFORE)
    assert reason is None or (resolution.reason and reason in resolution.reason)


async def test_a_client_says_of_which_file_the_edit_failed_however_it_spells_the_uri(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk(client(review=True))
    spelled = desk.uri.replace("a.py", "%61.py")
    desk.loop.answers = {APPLY: lambda _: {"applied": False, "failed": {spelled: "stale: a.py is locked"}}}
    answer, outcome = await desk.review()
    assert (outcome, answer.failures) == (Outcome.FAILED, {desk.uri: "stale: a.py is locked"})


async def test_an_editor_that_does_not_apply_what_the_person_accepted_failed(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    desk.loop.answers = {ASK: says("Accept"), APPLY: lambda _: {"applied": False, "failureReason": "E21"}}
    answer, outcome = await desk.review()
    assert (outcome, answer.failures, desk.on_screen) == (Outcome.FAILED, {desk.uri: "E21"}, BEFORE)


async def test_an_editor_that_cannot_apply_edits_is_not_asked(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client({}))
    answer, outcome = await desk.review()
    assert outcome is Outcome.FAILED
    assert answer.reason and "cannot apply" in answer.reason
    assert desk.loop.sent == []


# --- What is really there --------------------------------------------------------------------------------------------


async def test_an_editor_that_says_yes_and_changes_nothing_is_found_out(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(review=True))
    desk.loop.answers = {APPLY: lambda _: {"applied": True}}
    answer, outcome = await desk.review()
    assert (answer.applied, outcome, answer.now) == (True, Outcome.FAILED, (BEFORE,))


async def test_an_editor_that_keeps_a_part_is_found_out(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(review=True))

    def half(_: Any) -> Any:
        desk.loop.changes(desk.uri, "one\nTWO\n", 2)
        return {"applied": True}

    desk.loop.answers = {APPLY: half}
    answer, outcome = await desk.review()
    assert (outcome, answer.now) == (Outcome.MODIFIED, ("one\nTWO\n",))


async def test_a_change_that_comes_after_the_answer_is_waited_for(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(review=True))

    def later(params: Any) -> Any:
        asyncio.get_running_loop().call_later(0.15, desk.loop.applies, params["edit"])
        return {"applied": True}

    desk.loop.answers = {APPLY: later}
    _, outcome = await desk.review()
    assert outcome is Outcome.ACCEPTED


async def test_an_error_after_half_of_the_edit_is_found_out(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()

    def half(_: Any) -> Any:
        asyncio.get_running_loop().call_later(0.1, desk.loop.changes, desk.uri, "one\nTWO\n", 2)
        return {"applied": False, "failureReason": "out of ink"}

    desk.loop.answers = {ASK: says("Accept"), APPLY: half}
    answer, outcome = await desk.review()
    assert (outcome, answer.now) == (Outcome.MODIFIED, ("one\nTWO\n",))


async def test_a_file_that_is_not_open_is_read_back_from_disk(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(review=True), opened=False)

    def write(_: Any) -> Any:
        desk.path.write_text(AFTER)
        return {"applied": True}

    desk.loop.answers = {APPLY: write}
    _, outcome = await desk.review()
    assert outcome is Outcome.ACCEPTED


# --- The text moves meanwhile ----------------------------------------------------------------------------------------


async def test_the_edit_is_made_for_the_text_as_it_is_after_the_yes(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()

    def typing(_: Any) -> Any:
        desk.loop.changes(desk.uri, "zero\n" + BEFORE, 7)
        return {"title": "Accept"}

    desk.loop.answers = {ASK: typing, APPLY: yes(desk)}
    answer, outcome = await desk.review()
    assert (outcome, desk.on_screen) == (Outcome.ACCEPTED, "zero\n" + AFTER)
    assert (answer.base, answer.expected) == (("zero\n" + BEFORE,), ("zero\n" + AFTER,))


async def test_an_edit_of_lines_that_the_person_changed_is_refused(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()

    def typing(_: Any) -> Any:
        desk.loop.changes(desk.uri, "one\ntwo and a half\nthree\n", 7)
        return {"title": "Accept"}

    desk.loop.answers = {ASK: typing, APPLY: yes(desk)}
    answer, outcome = await desk.review()
    assert (outcome, desk.on_screen) == (Outcome.FAILED, "one\ntwo and a half\nthree\n")
    assert answer.reason and "changed meanwhile" in answer.reason
    assert desk.loop.sent_params(APPLY) == []


async def test_a_new_file_that_exists_by_now_is_not_overwritten(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(preset("neovim"), before=None)

    def written(_: Any) -> Any:
        desk.path.write_text("precious\n")
        return {"title": "Accept"}

    desk.loop.answers = {ASK: written, APPLY: yes(desk)}
    answer, outcome = await desk.review()
    assert (outcome, desk.path.read_text()) == (Outcome.FAILED, "precious\n")
    assert answer.reason and "exists by now" in answer.reason


async def test_a_file_that_is_gone_by_now_is_not_made_again(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(opened=False)

    def removed(_: Any) -> Any:
        desk.path.unlink()
        return {"title": "Accept"}

    desk.loop.answers = {ASK: removed, APPLY: yes(desk)}
    answer, outcome = await desk.review()
    assert outcome is Outcome.FAILED
    assert answer.reason and "not there any more" in answer.reason


async def test_an_edit_for_the_disks_text_waits_until_the_editor_shows_that(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(client(review=True))
    newer = BEFORE + "from a command\n"
    await desk.workspace.read(desk.uri)  # it has been looked at as it was when it was opened
    write_newer(desk.path, newer)
    desk.before = newer
    desk.loop.answers = {APPLY: yes(desk)}
    reviewing = asyncio.ensure_future(desk.review(newer.replace("two", "TWO")))
    await asyncio.sleep(0.1)
    assert desk.loop.sent_params(APPLY) == []
    desk.loop.changes(desk.uri, newer, 2)
    _, outcome = await reviewing
    assert (outcome, desk.on_screen) == (Outcome.ACCEPTED, newer.replace("two", "TWO"))


async def test_an_edit_for_the_disks_text_is_refused_when_the_editor_goes_on_with_its_own(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk(client(review=True))
    await desk.workspace.read(desk.uri)  # it has been looked at as it was when it was opened
    write_newer(desk.path, BEFORE + "from a command\n")
    desk.before = BEFORE + "from a command\n"
    desk.loop.answers = {APPLY: yes(desk)}
    answer, outcome = await desk.review(AFTER + "from a command\n")
    assert (outcome, desk.on_screen) == (Outcome.FAILED, BEFORE)
    assert answer.reason and "reload it" in answer.reason


def write_newer(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 5))


# --- Cancelling, diffs, and several at once --------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [{}, {"review": True}])
async def test_a_cancelled_review_is_taken_down_and_a_late_yes_does_nothing(
    make_desk: Callable[..., Desk], flags: dict[str, bool]
) -> None:
    desk = make_desk(client(**flags))
    forever = asyncio.Event()

    async def never(_: Any) -> Any:
        await forever.wait()

    desk.loop.answers = {ASK: never, APPLY: never}
    method = APPLY if flags else ASK
    reviewing = asyncio.ensure_future(desk.review())
    await desk.loop.until_sent(method)
    reviewing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reviewing
    (asked,) = [m for m in desk.loop.sent if m.get("method") == method]
    assert desk.loop.sent_params("$/cancelRequest") == [{"id": asked["id"]}]
    assert desk.loop.sent_params("llamagent/reviewClosed") == [{"reviewId": "review-1"}]
    before = len(desk.loop.sent)
    desk.loop.reply({"id": asked["id"], "result": {"title": "Accept", "applied": True}})
    await asyncio.sleep(0)
    assert (len(desk.loop.sent), desk.on_screen) == (before, BEFORE)


async def test_the_diff_is_shown_as_a_file_outside_of_the_workspace(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(preset("visual-studio-code"))
    titles = iter(["Show diff", "Show diff", "Accept"])
    shown: list[Path] = []

    def show(params: Any) -> Any:
        shown.append(Path(params["uri"].removeprefix("file://")))
        assert "-two\n+TWO\n" in shown[-1].read_text()
        return {"success": True}

    desk.loop.answers = {
        ASK: lambda _: {"title": next(titles)},
        "window/showDocument": show,
        APPLY: yes(desk),
    }
    _, outcome = await desk.review()
    assert outcome is Outcome.ACCEPTED
    assert len(shown) == 2
    assert all(desk.path.parent not in path.parents for path in shown)
    desk.shown.close()
    assert not shown[0].exists()


@pytest.mark.parametrize("name", ["visual-studio-code", "emacs"])
async def test_the_diff_stands_in_the_question_where_no_file_can_be_shown(
    make_desk: Callable[..., Desk], name: str
) -> None:
    desk = make_desk(preset(name))
    titles = iter(["Show diff", "Reject"])
    desk.loop.answers = {ASK: lambda _: {"title": next(titles)}, "window/showDocument": lambda _: {"success": False}}
    _, outcome = await desk.review()
    assert outcome is Outcome.REJECTED
    first, second = desk.loop.sent_params(ASK)
    assert [a["title"] for a in first["actions"]] == ["Accept", "Reject", "Show diff"]
    assert "a.py (+1 −1)" in first["message"]
    assert "+TWO" in second["message"]
    assert [a["title"] for a in second["actions"]] == ["Accept", "Reject"]
    desk.shown.close()


async def test_a_diff_in_the_question_is_bounded_in_lines_and_in_their_length(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    titles = iter(["Show diff", "Reject"])
    desk.loop.answers = {ASK: lambda _: {"title": next(titles)}}
    await desk.review("x" * 300_000 + "\n" + "y\n" * 500)
    lines = desk.loop.sent_params(ASK)[1]["message"].split("\n")
    assert "+" + "x" * (DIFF_LINE_CHARS - 1) + f"… (+{300_001 - DIFF_LINE_CHARS})" in lines
    assert len(lines) == 1 + DIFF_LINES + 1 and lines[-1].startswith("… (+")
    desk.shown.close()


@pytest.mark.parametrize(
    ("locale", "titles"),
    [
        ("de-CH", ["Annehmen", "Ablehnen", "Unterschiede zeigen"]),
        ("fr_FR.UTF-8", ["Accepter", "Rejeter", "Voir les différences"]),
        ("ja", ["Accept", "Reject", "Show diff"]),
    ],
)
async def test_the_question_is_in_the_persons_language(
    make_desk: Callable[..., Desk], locale: str, titles: list[str]
) -> None:
    desk = make_desk(client(locale=locale))
    desk.loop.answers = {ASK: says(titles[0]), APPLY: yes(desk)}
    _, outcome = await desk.review()
    assert outcome is Outcome.ACCEPTED
    assert [a["title"] for a in desk.loop.sent_params(ASK)[0]["actions"]] == titles


async def test_questions_come_one_at_a_time(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    gates = [asyncio.Event(), asyncio.Event()]
    asked: list[int] = []

    async def ask(_: Any) -> Any:
        asked.append(len(asked))
        await gates[asked[-1]].wait()
        return {"title": "Reject"}

    desk.loop.answers = {ASK: ask}
    proposal = desk.proposal()
    first = asyncio.ensure_future(desk.reviews.review("one", proposal))
    second = asyncio.ensure_future(desk.reviews.review("two", replace(proposal, summary="another")))
    await desk.loop.until_sent(ASK)
    await asyncio.sleep(0.02)
    assert asked == [0]
    gates[0].set()
    await first
    await desk.loop.until_sent(ASK, 2)
    gates[1].set()
    await second
