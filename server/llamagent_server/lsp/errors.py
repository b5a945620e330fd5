"""Failures as JSON-RPC errors: their codes, and words that tell nothing of this machine."""

import asyncio
import logging

from lsprotocol.types import ErrorCodes, LSPErrorCodes
from pygls.exceptions import JsonRpcException

from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument, LlamagentError

PARSE_ERROR = ErrorCodes.ParseError.value
INVALID_REQUEST = ErrorCodes.InvalidRequest.value
METHOD_NOT_FOUND = ErrorCodes.MethodNotFound.value
INVALID_PARAMS = ErrorCodes.InvalidParams.value
INTERNAL_ERROR = ErrorCodes.InternalError.value
NOT_INITIALIZED = ErrorCodes.ServerNotInitialized.value
REQUEST_FAILED = LSPErrorCodes.RequestFailed.value
REQUEST_CANCELLED = LSPErrorCodes.RequestCancelled.value

_log = logging.getLogger(__name__)


class AskFailed(Exception):
    """The client answered a request of ours with an error, with something unreadable, or is gone."""


def rpc_error(code: int, message: str, data: Json = None) -> dict[str, Json]:
    """The `error` of a reply."""
    error: dict[str, Json] = {"code": code, "message": message}
    return error if data is None else error | {"data": data}


def error_of(failure: BaseException) -> dict[str, Json]:
    """The `error` that tells the client of `failure`. What we did not expect is logged whole and told in short."""
    match failure:
        case asyncio.CancelledError():
            return rpc_error(REQUEST_CANCELLED, "The request was cancelled.")
        case LlamagentError():
            code = INVALID_PARAMS if isinstance(failure, BadArgument) else REQUEST_FAILED
            data: dict[str, Json] = {"kind": failure.kind.value}
            data |= {key: value for key in ("hint", "detail") if (value := getattr(failure, key)) is not None}
            return rpc_error(code, str(failure), data)
        case JsonRpcException():
            return rpc_error(failure.code or INTERNAL_ERROR, str(failure.message), failure.data)
        case _:
            _log.error("a request failed", exc_info=failure)
            return rpc_error(INTERNAL_ERROR, f"Internal error ({type(failure).__name__}); see the server's log.")
