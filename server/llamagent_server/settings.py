"""The settings: their values, and the one table of their keys (docs/PROTOCOL.md, Settings). Reads nothing.

Where values come from, and which source beats which, is settings_load's matter.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from llamagent_server.errors import BadSetting
from llamagent_server.setting_rules import (
    DURATION_WORDS,
    MODEL_WORDS,
    PROGRAM_WORDS,
    URL_WORDS,
    VARIABLE_WORDS,
    File,
    NotAllowed,
    Setting,
    Type,
    Value,
    can_be_allowed,
    duration,
    one_line,
    program_path,
    variable_name,
    web_address,
)

EMBEDDED_MODEL = "SmolLM2-135M-Instruct"  # what the provider `embedded` runs when nobody named a model


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


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "provider",
        "Provider",
        "How the model is reached: an Ollama server, an OpenAI-compatible one, or a tiny model inside the daemon.",
        workspace_may_set=False,
        choices=("ollama", "openai", "embedded"),
    ),
    Setting(
        "url",
        "Server address",
        "The model server's address; nothing else is ever spoken to.",
        file=File.CONFIG,
        workspace_may_set=False,
        form=web_address,
        wording=URL_WORDS,
    ),
    Setting(
        "model",
        "Model",
        "The model to ask; it is never replaced by another that happens to be there.",
        file=File.CONFIG,
        allows=True,
        form=one_line,
        wording=MODEL_WORDS,
    ),
    Setting(
        "temperature",
        "Temperature",
        "How freely the model chooses its words: 0 is the most predictable.",
        type=Type.NUMBER,
        file=File.CONFIG,
        minimum=0,
        maximum=2,
    ),
    Setting(
        "num_ctx",
        "Context length",
        "How many tokens the model sees at once; more takes more memory, and a change loads the model anew.",
        type=Type.WHOLE,
        file=File.CONFIG,
        minimum=2048,
        maximum=131_072,
    ),
    Setting(
        "allowed_commands",
        "Allowed commands",
        'Commands that run without asking, by their first words: "pytest", "git status".',
        type=Type.LIST,
        file=File.CONFIG,
        allows=True,
        counts=can_be_allowed,
        wording='a list of texts, such as ["pytest", "git status"]',
    ),
    Setting(
        "max_steps",
        "Steps in a turn",
        "How many requests to the model one turn may take.",
        type=Type.WHOLE,
        minimum=1,
        maximum=200,
    ),
    Setting(
        "max_tokens_per_turn",
        "Tokens in a turn",
        "How many tokens one turn may read and write in all.",
        type=Type.WHOLE,
        minimum=1,
    ),
    Setting(
        "command_timeout",
        "Time for a command",
        "After how many seconds a command is stopped.",
        type=Type.NUMBER,
        minimum=0.1,
        maximum=86_400,
        unit="seconds",
    ),
    Setting(
        "request_timeout",
        "Patience with the server",
        "After how many seconds without a byte a request to the model is given up.",
        type=Type.NUMBER,
        minimum=0.1,
        maximum=86_400,
        unit="seconds",
    ),
    Setting(
        "think",
        "Thinking",
        "Whether a model that can think before it answers does so, and how hard.",
        type=Type.SWITCH,
        choices=("low", "medium", "high"),
    ),
    Setting(
        "keep_alive",
        "Keep the model loaded",
        "How long Ollama keeps the model in memory after a request.",
        form=duration,
        wording=DURATION_WORDS,
    ),
    Setting(
        "api_key_env",
        "Variable with the API key",
        "The environment variable that holds the key for an OpenAI-compatible server that wants one.",
        workspace_may_set=False,
        form=variable_name,
        wording=VARIABLE_WORDS,
    ),
    Setting(
        "sandbox",
        "Sandbox",
        "Whether commands run shut in: where that works, always (or not at all), or never.",
        workspace_may_set=False,
        choices=("auto", "on", "off"),
    ),
    Setting(
        "save",
        "Saving",
        "When the editor is asked to save documents with accepted edits.",
        choices=("on_accept", "before_command", "never"),
    ),
    Setting(
        "allow_cloud",
        "Cloud models",
        "Whether a model that the local server passes on to a company's machines may be used.",
        type=Type.SWITCH,
        workspace_may_set=False,
    ),
    Setting(
        "ripgrep",
        "ripgrep",
        "The path of the ripgrep program; empty: one is looked for.",
        workspace_may_set=False,
        form=program_path,
        wording=PROGRAM_WORDS,
    ),
)
BY_KEY: Mapping[str, Setting] = {setting.key: setting for setting in SETTINGS}


def default(key: str) -> Value:
    """What `key` is where nobody said anything."""
    value: Value = getattr(Settings(), key)
    return str(value) if isinstance(value, StrEnum) else value


def nearest_key(key: str) -> str | None:
    """The valid key that looks most like `key`, None where none does."""
    near = difflib.get_close_matches(key.lower().replace("-", "_"), BY_KEY, n=1)
    return near[0] if near else None


def validate_one(key: str, value: object) -> Value:
    """`value` as the setting `key` has it. Raises BadSetting in words for the person."""
    setting = BY_KEY.get(key)
    if setting is None:
        near = nearest_key(key)
        raise BadSetting(f'"{key}" is no setting.', hint=f'Did you mean "{near}"?' if near else None)
    try:
        return setting.parse(value)
    except NotAllowed as error:
        raise BadSetting(f'"{key}" must be {error}.') from None
