"""The gate against another implementation of LSP: the client of pytest-lsp, with what three editors declare."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from tests.fakes import FakeOllama, call, say
from tests.lsp.rawclient import PATIENCE, SERVE

PRESETS = ["visual-studio-code", "neovim", "emacs"]


@dataclass
class Desk:
    """The client, its one document, what it was asked in order, and whether its person says yes."""

    client: LanguageClient
    able: types.ClientCapabilities
    uri: str
    text: str
    says_yes: bool = True
    asked: list[Any] = field(default_factory=list)

    def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.asked.append(params)
        if self.says_yes:
            self.text = self.text.replace("two", "TWO")
            identifier = types.VersionedTextDocumentIdentifier(2, self.uri)
            change = types.TextDocumentContentChangeWholeDocument(self.text)
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        return types.ApplyWorkspaceEditResult(applied=self.says_yes)

    def choose(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem:
        self.asked.append(params)
        return types.MessageActionItem("Accept" if self.says_yes else "Reject")

    async def ask(self) -> Any:
        params = types.ExecuteCommandParams("llamagent.ask", [{"text": "make it louder"}])
        async with asyncio.timeout(PATIENCE):
            return await self.client.workspace_execute_command_async(params)


@pytest.fixture(params=[(name, review) for name in PRESETS for review in (False, True)], ids=str)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    name, review = request.param
    path = tmp_path / "a.py"
    path.write_text("one\ntwo\n")
    able = client_capabilities(name)
    able.experimental = {"llamagent": {"review": True}} if review else None
    client = make_test_lsp_client()
    made = Desk(client, able, path.as_uri(), path.read_text())
    client.feature(types.WORKSPACE_APPLY_EDIT)(partial(Desk.apply, made))
    client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(partial(Desk.choose, made))
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda _: None)
    edit = call("edit_file", path="a.py", old_text="two", new_text="TWO")
    with FakeOllama(replies=[edit, say("done")]) as server:
        client.set_configuration({"url": server.url}, section="llamagent")
        await client.start_io(*SERVE, env={**os.environ, "LLAMAGENT_HOME": str(tmp_path / "home")})
        await client.initialize_session(
            types.InitializeParams(
                able,
                process_id=os.getpid(),
                workspace_folders=[types.WorkspaceFolder(tmp_path.as_uri(), "proj")],
                initialization_options={"trusted": True},
            )
        )
        item = types.TextDocumentItem(made.uri, "python", 1, made.text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        yield made
        await client.shutdown_session()


async def test_a_preset_is_asked_and_sent_the_edit_in_its_form(desk: Desk) -> None:
    result = await desk.ask()
    assert (result["answer"], desk.text) == ("done", "one\nTWO\n")
    *questions, sent = desk.asked
    assert [type(question) for question in questions] == (
        [] if desk.able.experimental else [types.ShowMessageRequestParams]
    )
    assert desk.able.workspace and desk.able.workspace.workspace_edit
    declared = desk.able.workspace.workspace_edit
    if not declared.document_changes:
        assert list(sent.edit.changes) == [desk.uri]
        assert (sent.edit.document_changes, sent.edit.change_annotations) == (None, None)
        return
    (change,) = sent.edit.document_changes
    assert sent.edit.changes is None
    assert change.text_document == types.OptionalVersionedTextDocumentIdentifier(desk.uri, 1)
    annotated = declared.change_annotation_support is not None or desk.able.experimental is not None
    assert bool(sent.edit.change_annotations) == annotated


async def test_a_preset_that_rejects_keeps_its_text(desk: Desk) -> None:
    desk.says_yes = False
    result = await desk.ask()
    assert (result["answer"], desk.text) == ("done", "one\ntwo\n")
    was_sent = [type(params) for params in desk.asked] == [types.ApplyWorkspaceEditParams]
    assert was_sent == (desk.able.experimental is not None)
