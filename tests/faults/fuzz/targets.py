"""The targets: each takes any bytes, and raises where something is not as it must be."""

import asyncio
import json
import shlex
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from llamagent_server.agent.ports import ChatOptions, ChatRequest
from llamagent_server.core.events import Channel
from llamagent_server.core.messages import Reply
from llamagent_server.core.policy import may_run
from llamagent_server.core.records import message_record, replay
from llamagent_server.core.transcript import Transcript
from llamagent_server.errors import BadArgument, ModelError
from llamagent_server.lsp import wire
from llamagent_server.lsp.documents import Documents
from llamagent_server.lsp.framing import Frames, FramingLost, frame
from llamagent_server.providers.failures import Place
from llamagent_server.providers.ollama_wire import OllamaReading
from llamagent_server.providers.openai_wire import OpenAIReading
from llamagent_server.providers.toolcall_text import Recovered, recover
from llamagent_server.setting_rules import File
from llamagent_server.settings import BY_KEY
from llamagent_server.settings_load import Scope, SettingsFile, Sources, load
from llamagent_server.store import journal
from llamagent_server.store.foreign import read_foreign
from llamagent_server.store.summaries import summarise
from llamagent_server.workspace.confinement import Folder, PathProblem, Purpose, resolve
from tests.faults.fuzz.languages import LANGUAGES
from tests.faults.fuzz.pieces import Bytes, cut
from tests.lsp.loopback import Loopback
from tests.providers.test_toolcall_text import SPECS

Target = Callable[[bytes], None]
REQUEST = ChatRequest("m", (), SPECS, ChatOptions(num_ctx=8192, num_predict=2048, temperature=0.2))
PLACE = Place("http://x", "m", "the server", "start it", "get it", "allow it")
NAMES = {spec.name for spec in SPECS}
ALLOWED = ("git status", "pytest", "ls")


def framing(data: bytes) -> None:
    """The same bodies in whatever pieces the bytes come; what we frame ourselves is read."""
    source = Bytes(data)
    seed = source.byte()
    sent = source.words(LANGUAGES["framing"]).encode("utf-8", "surrogatepass")
    assert _bodies([sent]) == _bodies(cut(sent, seed))
    assert list(Frames().feed(frame(sent))) == [sent]


def _bodies(pieces: list[bytes]) -> tuple[list[bytes], bool]:
    frames, found = Frames(), []
    try:
        for piece in pieces:
            found += frames.feed(piece)
    except FramingLost:
        return found, True
    return found, False


def messages(data: bytes) -> None:
    """Each request is answered once at most, and nothing that comes in makes us deaf."""
    source = Bytes(data)
    bodies = source.words(LANGUAGES["messages"]).split("\x00")[:20]
    _loop().run_until_complete(_receive([body.encode("utf-8", "surrogatepass") for body in bodies]))


async def _receive(bodies: list[bytes]) -> None:
    loopback = Loopback()
    features: dict[str, Any] = loopback.protocol.fm.features
    features["workspace/executeCommand"] = _command
    features["textDocument/didOpen"] = lambda params: loopback.documents.open(params.text_document)
    features["textDocument/didChange"] = loopback.documents.change
    features["textDocument/didClose"] = lambda params: loopback.documents.close(params.text_document.uri)
    loopback.protocol.raw.add("workspace/executeCommand")
    for body in bodies:
        loopback.protocol.receive(body)
        await asyncio.sleep(0)
    while loopback.protocol._running:  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0)
    answered = [str(reply["id"]) for reply in loopback.replies if reply["id"] is not None]
    assert len(answered) <= len(bodies)
    loopback.call("textDocument/didOpen", {"textDocument": _item("file:///last")})
    assert str(loopback.documents.text("file:///last")) == "x"
    _documents_are_texts(loopback.documents)


def _command(params: Any) -> object:
    named = {command.id: command for command in wire.COMMANDS}
    command = named.get(str((params or {}).get("command")))
    arguments = (params or {}).get("arguments")
    if command is None or not isinstance(arguments, list) or not arguments:
        raise BadArgument("no such command")
    wire.parse(command.arguments, arguments[0])
    return None


def _item(uri: str) -> dict[str, Any]:
    return {"uri": uri, "languageId": "x", "version": 1, "text": "x"}


def _documents_are_texts(documents: Documents) -> None:
    assert all(isinstance(document.text, str) for document in documents.all())


def ollama(data: bytes) -> None:
    _stream(data, "ollama", lambda: OllamaReading(REQUEST, PLACE, allow_cloud=False), "application/x-ndjson")


def openai(data: bytes) -> None:
    _stream(data, "openai", lambda: OpenAIReading(REQUEST, PLACE), "text/event-stream")


def _stream(data: bytes, language: str, start: Callable[[], Any], content_type: str) -> None:
    """One reply or one error in words, the same in whatever pieces it comes; what was shown is what is kept."""
    source = Bytes(data)
    seed = source.byte()
    sent = source.words(LANGUAGES[language]).encode("utf-8", "surrogatepass")
    whole, _ = _read(start(), [sent], content_type)
    reply, shown = _read(start(), cut(sent, seed), content_type)
    assert whole == reply, (whole, reply)
    if isinstance(reply, Reply) and not reply.tool_calls and reply.problem is None:
        assert reply.content.strip() in shown or not shown.strip()
    json.dumps(repr(reply))


def _read(reading: Any, pieces: list[bytes], content_type: str) -> tuple[object, str]:
    shown = []
    try:
        for piece in pieces:
            shown += list(reading.feed(piece, content_type))
            if reading.done:
                break
        shown += list(reading.close())
        reply = reading.reply()
    except ModelError as error:
        return (type(error), error.message), ""
    told = "".join(delta.text for delta in shown if delta.channel in (Channel.CONTENT, Channel.THINKING))
    told.encode()  # no half of a character
    calls = [(call.name, dict(call.arguments), call.origin, call.problem) for call in reply.tool_calls]
    assert len({call.id for call in reply.tool_calls}) == len(calls)
    return (reply.content, reply.thinking, calls, reply.finish, reply.problem), told


def calls(data: bytes) -> None:
    """Only declared tools come out, and never out of a reply that was cut."""
    source = Bytes(data)
    was_cut = source.byte() % 4 == 0
    content = source.words(LANGUAGES["calls"])[:20_000]
    outcome = recover(content, "", SPECS, cut=was_cut)
    if isinstance(outcome, Recovered):
        assert not was_cut
        assert {call.name for call in outcome.calls} <= NAMES
        assert content.startswith(outcome.content.rstrip()) or outcome.content in content
        json.dumps([dict(call.arguments) for call in outcome.calls])


def settings(data: bytes) -> None:
    """A project sets nothing that it may not set; whatever is wrong is said, and what counts is of its type."""
    source = Bytes(data)
    file = list(File)[source.byte() % 2]
    text = source.words(LANGUAGES["settings"])
    for scope in Scope:
        loaded = load(Sources(files=(SettingsFile("f.toml", file, scope, text),), environ={"OLLAMA_HOST": text[:80]}))
        for problem in loaded.problems:
            str(problem).encode("utf-8", "replace")
        for key, origin in loaded.origins.items():
            assert origin != "f.toml" or scope is Scope.USER or BY_KEY[key].workspace_may_set, key
        hash(loaded.settings)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    load(Sources(editor=value if isinstance(value, dict) else {"url": value}))


def journals(data: bytes) -> None:
    """Any bytes are a conversation that can be gone on with, and what is written after them is read."""
    source = Bytes(data)
    stored = source.words(LANGUAGES["journal"]).encode("utf-8", "surrogatepass")
    read = journal.parse(stored)
    told = replay(read.records)
    Transcript(told.messages)  # raises where it is malformed
    again = replay([message_record(message) for message in told.messages])
    assert again.messages == told.messages
    summarise(stored)
    Transcript(replay(read_foreign(stored).records).messages)
    record = {"type": "message", "role": "user", "content": "after", "task": True}
    closed = stored if read.whole else stored + journal._CLOSE_TORN
    after = journal.parse(closed + journal.encode(record))
    assert after.records[-1] == record
    assert after.records[: len(read.records)] == read.records


def paths(data: bytes) -> None:
    """What a path leads to is in the workspace, with no link on the way."""
    source = Bytes(data)
    purpose = list(Purpose)[source.byte() % 3]
    root = _workspace()
    found = resolve(source.words(LANGUAGES["paths"]), purpose, (Folder("w", root, root.as_uri()),))
    if isinstance(found, PathProblem):
        found.message.encode()
        return
    assert found.real.is_relative_to(root), found
    assert not found.parts or found.real.parent.resolve().is_relative_to(root), found
    assert not found.exists or found.real.resolve() == found.real, found
    assert ".." not in found.parts


_holder = cache(tempfile.TemporaryDirectory)  # it goes with the process


@cache
def _workspace() -> Path:
    holder = Path(_holder(prefix="llamagent-fuzz-").name).resolve()
    root = holder / "w"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("x\n")
    (root / "sub" / "b").write_text("x\n")
    (root / ".git").mkdir()
    (holder / "secret").write_text("s\n")
    for name, to in (("link", "sub"), ("out", ".."), ("loop", "loop"), ("dangling", "../nowhere")):
        (root / name).symlink_to(to)
    return root


def commands(data: bytes) -> None:
    """What runs without asking is plain words for every shell, and begins with what was allowed."""
    command = Bytes(data).words(LANGUAGES["commands"])
    if may_run(command, ALLOWED):
        words = command.split()
        assert shlex.split(command) == words
        assert any(words[: len(prefix.split())] == prefix.split() for prefix in ALLOWED)
        assert not set(command) & set(";&|<>$`(){}*?[]!#~'\"\\\n\r\t\0^")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


TARGETS: dict[str, Target] = {
    "framing": framing,
    "messages": messages,
    "ollama": ollama,
    "openai": openai,
    "calls": calls,
    "settings": settings,
    "journal": journals,
    "paths": paths,
    "commands": commands,
}
