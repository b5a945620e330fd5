"""Everything that can go wrong in words that a person can act on.

LlamagentError
├── ModelError                 the model server's side
│   ├── ModelUnreachable         nobody answers at the URL, or the connection broke before an answer
│   ├── ModelNotFound            the server does not have that model
│   ├── ModelLacksTools          the model cannot be given tools (or thinking)
│   ├── ContextOverflow          the conversation does not fit the context window
│   └── ModelFailed              any other failure of the server or of the reply
│       ├── ModelLoading           the server is still loading the model
│       └── UnreadableCall         the model wrote a tool call that its server could not read
└── RequestError               what the person or the client asked for
    ├── BadSetting               a setting with an impossible value
    ├── BadArgument              a command with missing, unknown or ill-typed arguments
    ├── UnknownSkill, UnknownSession
    ├── Busy                     the session runs another turn
    └── Untrusted                the workspace was not trusted
"""

from enum import StrEnum


class ErrorKind(StrEnum):
    """`data.kind` of a JSON-RPC error (docs/PROTOCOL.md)."""

    MODEL_UNREACHABLE = "model_unreachable"
    MODEL_NOT_FOUND = "model_not_found"
    MODEL_ERROR = "model_error"
    MODEL_LACKS_TOOLS = "model_lacks_tools"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_SETTING = "bad_setting"
    BAD_ARGUMENT = "bad_argument"
    UNKNOWN_SKILL = "unknown_skill"
    UNKNOWN_SESSION = "unknown_session"
    BUSY = "busy"
    UNTRUSTED = "untrusted"


class LlamagentError(Exception):
    """An expected failure. `message` says what happened, `hint` what to do, `detail` is for the log."""

    kind: ErrorKind = ErrorKind.MODEL_ERROR

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class ModelError(LlamagentError):
    """The model server did not give a usable reply."""


class ModelUnreachable(ModelError):
    kind = ErrorKind.MODEL_UNREACHABLE


class ModelNotFound(ModelError):
    kind = ErrorKind.MODEL_NOT_FOUND


class ModelLacksTools(ModelError):
    kind = ErrorKind.MODEL_LACKS_TOOLS


class ContextOverflow(ModelError):
    """`prompt_tokens` is the server's own count of the refused prompt, None where it did not say."""

    kind = ErrorKind.CONTEXT_OVERFLOW

    def __init__(
        self, message: str, *, hint: str | None = None, detail: str | None = None, prompt_tokens: int | None = None
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.prompt_tokens = prompt_tokens


class ModelFailed(ModelError):
    """`retryable`: the same request may succeed when sent again (busy, loading, a reply that broke off)."""

    kind = ErrorKind.MODEL_ERROR

    def __init__(
        self, message: str, *, hint: str | None = None, detail: str | None = None, retryable: bool = False
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.retryable = retryable


class ModelLoading(ModelFailed):
    """A load may take minutes; then the same request succeeds."""


class UnreadableCall(ModelFailed):
    """The same request may succeed when sent again; another way to ask for calls is likelier to."""


class RequestError(LlamagentError):
    """The request cannot be done as it was asked."""

    kind = ErrorKind.BAD_ARGUMENT


class BadSetting(RequestError):
    kind = ErrorKind.BAD_SETTING


class BadArgument(RequestError):
    kind = ErrorKind.BAD_ARGUMENT


class UnknownSkill(RequestError):
    kind = ErrorKind.UNKNOWN_SKILL


class UnknownSession(RequestError):
    kind = ErrorKind.UNKNOWN_SESSION


class Busy(RequestError):
    kind = ErrorKind.BUSY


TRUST = "Trust the folder first, if you know what is in it."


class Untrusted(RequestError):
    """It belongs to a folder that the person does not trust."""

    kind = ErrorKind.UNTRUSTED
