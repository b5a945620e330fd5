"""pygls made strict: every request is answered exactly once, whatever comes in, and cancelling really cancels.

pygls gives the registry of features, the types and their converter. The order of messages, the tasks and the replies
are ours: none of pygls' built-in handlers is registered, and its dispatch is not used (docs/ARCHITECTURE.md says why).

phase     requests                                                notifications
new       initialize; others get ServerNotInitialized             exit
running   all; a second initialize gets InvalidRequest            all
shutdown  every one gets InvalidRequest                           exit
"""

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum
from itertools import count
from typing import Any, NoReturn, TypeVar, cast

from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.protocol import LanguageServerProtocol
from pygls.server import JsonRPCServer

from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument
from llamagent_server.lsp import visible
from llamagent_server.lsp.catalogue import Say
from llamagent_server.lsp.errors import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    PARSE_ERROR,
    REQUEST_FAILED,
    AskFailed,
    error_of,
    rpc_error,
)
from llamagent_server.lsp.framing import frame

T = TypeVar("T")
MessageId = int | str
Handler = Callable[[Any], Any]
Send = Callable[[bytes, bool], None]  # a frame, and whether it is only for show

MAX_RUNNING = 2000  # requests that are being answered; of those above it each is told so

_log = logging.getLogger(__name__)
_UNREADABLE = (BaseValidationError, ValueError, TypeError, KeyError, AttributeError, IndexError)


class Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    SHUTDOWN = "shutdown"


class StrictProtocol(LanguageServerProtocol):
    """`send` puts a frame on its way. Params of the methods in `raw` reach their handlers as plain JSON."""

    def __init__(self, server: JsonRPCServer, converter: Converter) -> None:
        super().__init__(server, converter)  # type: ignore[arg-type]
        self.phase = Phase.NEW
        self.raw: set[str] = set()
        self.send: Send | None = None
        self.say: Say = str  # what the person reads, in their language
        self._running: dict[MessageId, asyncio.Task[Any]] = {}
        self._working: set[asyncio.Task[Any]] = set()  # asynchronous handlers of notifications
        self._asked: dict[MessageId, asyncio.Future[object]] = {}
        self._ids = count(1)

    def _register_builtin_features(self) -> None:
        """None: each of pygls' own would take part in a dispatch that is not used."""

    # --- In --------------------------------------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """One message of the client. Asynchronous handlers begin in the loop's next round."""
        try:
            message = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as problem:
            self._send_error(None, rpc_error(PARSE_ERROR, f"The message is not JSON: {problem}"))
            return
        if not isinstance(message, dict):
            self._send_error(None, rpc_error(INVALID_REQUEST, "A message must be one JSON object."))
        elif "method" in message:
            self._receive_call(message)
        elif "id" in message:
            self._receive_reply(message)
        else:
            self._send_error(None, rpc_error(INVALID_REQUEST, "A message must have a method or an id."))

    def _receive_call(self, message: dict[str, Any]) -> None:
        method, is_request = message["method"], "id" in message
        problem = _malformed(message)
        if problem is not None:
            if is_request:
                self._send_error(_usable_id(message["id"]), rpc_error(INVALID_REQUEST, problem))
            else:
                _log.warning("ignored a notification: %s", problem)
        elif is_request:
            self._receive_request(message["id"], method, message.get("params"))
        else:
            self._receive_notification(method, message.get("params"))

    def _receive_request(self, message_id: MessageId, method: str, params: object) -> None:
        error = self._refusal(message_id, method)
        if error is not None:
            self._send_error(message_id, error)
            return
        try:
            decoded = self._decode(method, params)
        except BadArgument as problem:
            self._send_error(message_id, error_of(problem))
            return
        if method == types.INITIALIZE:
            self.phase = Phase.RUNNING
        task = asyncio.get_running_loop().create_task(_call(self.fm.features[method], decoded), name=method)
        self._running[message_id] = task
        task.add_done_callback(lambda done: self._reply(message_id, done))

    def _refusal(self, message_id: MessageId, method: str) -> dict[str, Json] | None:
        if self.phase is Phase.NEW and method != types.INITIALIZE:
            return rpc_error(NOT_INITIALIZED, "The server is not initialized yet.")
        if self.phase is Phase.SHUTDOWN:
            return rpc_error(INVALID_REQUEST, "The server has been shut down.")
        if self.phase is Phase.RUNNING and method == types.INITIALIZE:
            return rpc_error(INVALID_REQUEST, "The server is initialized already.")
        if message_id in self._running:
            return rpc_error(INVALID_REQUEST, f"A request with the id {message_id!r} is still running.")
        if len(self._running) >= MAX_RUNNING:
            return rpc_error(REQUEST_FAILED, f"{MAX_RUNNING} requests are being answered already: send fewer at once.")
        if method not in self.fm.features:
            return rpc_error(METHOD_NOT_FOUND, f"There is no method {method!r}.")
        return None

    def _receive_notification(self, method: str, params: object) -> None:
        if self.phase is not Phase.RUNNING and method != types.EXIT:
            return
        if method == types.CANCEL_REQUEST:
            self._cancel(params)
            return
        handler = self.fm.features.get(method)
        if handler is None:
            return
        try:
            outcome = handler(self._decode(method, params))
        except BadArgument as problem:
            _log.warning("ignored %s: %s", method, problem)
            return
        except Exception:  # noqa: BLE001 - a fault of ours in one message must not make us deaf
            _log.exception("%s failed", method)
            return
        if inspect.iscoroutine(outcome):
            task = asyncio.get_running_loop().create_task(outcome, name=method)
            self._working.add(task)
            task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            _log.error("%s failed", task.get_name(), exc_info=failure)

    def _decode(self, method: str, params: object) -> object:
        """Raises BadArgument."""
        if method in self.raw:
            if not isinstance(params, dict | None):
                raise BadArgument(f"Invalid params of {method}: one object is expected.")
            return params
        expected: Any = types.METHOD_TO_TYPES.get(method, (None, None, None))[2]
        if expected is None:
            return params
        try:
            return self._converter.structure({} if params is None else params, expected)
        except _UNREADABLE as problem:
            raise BadArgument(f"Invalid params of {method}: {_words(problem)}") from problem

    def _cancel(self, params: object) -> None:
        message_id = params.get("id") if isinstance(params, dict) else None
        task = self._running.get(message_id) if isinstance(message_id, int | str) else None
        if task is not None:
            task.cancel()

    # --- Out -------------------------------------------------------------------------------------------------------

    def _reply(self, message_id: MessageId, task: asyncio.Task[Any]) -> None:
        del self._running[message_id]
        failure = asyncio.CancelledError() if task.cancelled() else task.exception()
        if failure is not None:
            self._send_error(message_id, error_of(failure))
            return
        try:
            self._send_data({"jsonrpc": "2.0", "id": message_id, "result": task.result()})
        except (TypeError, ValueError, AttributeError, RecursionError) as problem:
            self._send_error(message_id, error_of(problem))

    def _send_error(self, message_id: MessageId | None, error: dict[str, Json]) -> None:
        # Here and not at the top: it knows all events, and the first reply need not wait for them.
        from llamagent_server.lsp import speech

        self._send_data({"jsonrpc": "2.0", "id": message_id, "error": _shown(speech.error(self.say, error))})

    def _send_data(self, data: Any, *, for_show: bool = False) -> None:
        """Raises TypeError, ValueError, AttributeError or RecursionError for what JSON cannot say."""
        text = json.dumps(data, default=self._serialize_message, allow_nan=False, separators=(",", ":"))
        if self.send is not None:
            self.send(frame(text.encode("ascii")), for_show)

    def tell(self, method: str, params: object, *, for_show: bool = False) -> None:
        """Send a notification. One that is only for show may be dropped when the client is slow."""
        shown = visible.in_dialogs(params)
        self._send_data({"jsonrpc": "2.0", "method": method, "params": shown}, for_show=for_show)

    async def ask(self, method: str, params: object, decode: Callable[[object], T]) -> T:
        """The client's answer, however long it takes. Raises AskFailed.

        Cancelling it sends `$/cancelRequest`; a reply that comes later is dropped.
        """
        if self.send is None:
            raise AskFailed("the connection is closed")
        message_id = f"llamagent-{next(self._ids)}"
        answer = self._asked[message_id] = asyncio.get_running_loop().create_future()
        shown = visible.in_dialogs(params)
        self._send_data({"jsonrpc": "2.0", "id": message_id, "method": method, "params": shown})
        try:
            result = await answer
        except asyncio.CancelledError:
            self.tell(types.CANCEL_REQUEST, {"id": message_id})
            raise
        finally:
            self._asked.pop(message_id, None)
        try:
            return decode(result)
        except (BadArgument, *_UNREADABLE) as problem:
            raise AskFailed(f"the client's answer to {method} could not be read: {_words(problem)}") from problem

    def decoder(self, expected: type[T]) -> Callable[[object], T]:
        """Reads an answer as one of the types of lsprotocol."""
        return lambda value: self._converter.structure(value, expected)

    def plain(self, value: object) -> Json:
        """A value of the types of lsprotocol as JSON."""
        return cast(Json, self._converter.unstructure(value))

    def _receive_reply(self, message: Mapping[str, Any]) -> None:
        message_id = _usable_id(message["id"])
        answer = None if message_id is None else self._asked.pop(message_id, None)
        if answer is None or answer.done():
            _log.info("a reply that nobody waits for: %r", message_id)
        elif message.get("error") is not None:
            answer.set_exception(AskFailed(_error_words(message["error"])))
        else:
            answer.set_result(message.get("result"))

    # --- The end ---------------------------------------------------------------------------------------------------

    async def stop_requests(self, seconds: float) -> None:
        """Cancel what runs, but for the caller, and wait for it at most `seconds`."""
        tasks = {*self._running.values(), *self._working} - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def disconnect(self) -> None:
        """Nothing more is sent, and no answer is awaited any more."""
        self.send = None
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(AskFailed("the connection was closed"))


def _shown(error: Mapping[str, Json]) -> dict[str, Json]:
    message = error.get("message")
    return {**error, "message": visible.prose(message)} if isinstance(message, str) else dict(error)


async def _call(handler: Handler, params: object) -> object:
    outcome = handler(params)
    return await outcome if isinstance(outcome, Awaitable) else outcome


def _malformed(message: Mapping[str, Any]) -> str | None:
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0".'
    if not isinstance(message["method"], str):
        return "method must be a string."
    if "id" in message and _usable_id(message["id"]) is None:
        return "id must be an integer or a string."
    if not isinstance(message.get("params"), dict | list | None):
        return "params must be an object or a list."
    return None


def _usable_id(value: object) -> MessageId | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _error_words(error: object) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message else "the client answered with an error"


def _words(problem: BaseException) -> str:
    if isinstance(problem, BaseValidationError):
        return "; ".join(_plain_words(transform_error(problem)))
    return str(problem) or type(problem).__name__


def _plain_words(lines: Iterable[str]) -> Iterable[str]:
    return (line.replace(" @ $.", " at ").replace(" @ $", "") for line in lines)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
