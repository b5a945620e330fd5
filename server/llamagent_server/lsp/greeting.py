"""The part of the wire that `initialize` needs. It stands apart so that its reply waits for no other imports."""

from collections.abc import Mapping
from dataclasses import dataclass

from llamagent_server.core.messages import Json

PROTOCOL_VERSION = 1
PREFIX = "llamagent."

# The commands that are built: what is advertised. `wire.COMMANDS` says what each one is.
SERVED = (
    "ask",
    "cancel",
    "compact",
    "load_skill",
    "skills",
    "new",
    "clear",
    "retry",
    "context",
    "config",
    "init",
    "models",
    "pull_model",
    "set_model",
    "set_temperature",
    "set_num_ctx",
    "allow",
    "sessions",
    "resume",
    "delete_session",
    "trace",
    "undo_turn",
    "export",
    "trust",
    "help",
    "unqueue",
    "complete",
    "ask_about",
)

# Kinds of code actions: what mends a problem, and what asks.
FIX_KIND = "quickfix"
EXPLAIN_KIND = "llamagent.explain"
ASK_KIND = "llamagent.ask"
ACTION_KINDS = (FIX_KIND, EXPLAIN_KIND, ASK_KIND)


@dataclass(frozen=True, slots=True)
class Flags:
    """What a client can do beyond LSP: `capabilities.experimental.llamagent`."""

    review: bool = False
    trace: bool = False
    save: bool = False
    consent: bool = False
    diagnostics: bool = False
    prompt: bool = False


@dataclass(frozen=True, slots=True)
class InitializationOptions:
    """`trusted`: whether the editor trusts the workspace; None leaves it to the user's trust file."""

    trusted: bool | None = None
    settings: Mapping[str, Json] | None = None
    token: str | None = None
