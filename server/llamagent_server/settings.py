"""The settings: one table of keys, and the layers that later beat earlier (docs/PROTOCOL.md, Settings)."""

from dataclasses import dataclass
from enum import StrEnum


class Provider(StrEnum):
    OLLAMA = "ollama"
    OPENAI = "openai"
    EMBEDDED = "embedded"
    SCRIPTED = "scripted"  # a transcript played back: for tests and demonstrations; set on the command line only


class SavePolicy(StrEnum):
    ON_ACCEPT = "on_accept"
    BEFORE_COMMAND = "before_command"
    NEVER = "never"


class SandboxPolicy(StrEnum):
    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Settings:
    """The values in force. Times in seconds, lengths in tokens; `ripgrep` is a path (empty = look for one)."""

    provider: Provider = Provider.OLLAMA
    url: str = "http://localhost:11434"
    model: str = "qwen3.5:4b"
    temperature: float = 0.2
    num_ctx: int = 8192
    allowed_commands: tuple[str, ...] = ()
    max_steps: int = 15
    max_tokens_per_turn: int = 200_000
    command_timeout: float = 30.0
    request_timeout: float = 600.0
    think: bool | str = False
    keep_alive: str = "10m"
    api_key_env: str | None = None
    sandbox: SandboxPolicy = SandboxPolicy.AUTO
    save: SavePolicy = SavePolicy.BEFORE_COMMAND
    allow_cloud: bool = False
    ripgrep: str = ""
