"""What each setting takes and what it refuses, in words that name what is allowed."""

import math

import pytest

from llamagent_server.errors import BadSetting
from llamagent_server.setting_rules import Value
from llamagent_server.settings import BY_KEY, SETTINGS, Settings, default, validate_one

NEVER_FROM_A_PROJECT = {"url", "provider", "api_key_env", "sandbox", "allow_cloud", "ripgrep"}
OF_THE_TERMINAL_AGENT = {"url", "model", "temperature", "num_ctx", "allowed_commands"}


def check(key: str, value: object, expected: Value) -> None:
    parsed = validate_one(key, value)
    assert parsed == expected and type(parsed) is type(expected)


def refused(key: str, value: object) -> BadSetting:
    with pytest.raises(BadSetting) as caught:
        validate_one(key, value)
    return caught.value


def test_every_field_of_settings_has_one_row_and_its_default_is_allowed() -> None:
    assert [setting.key for setting in SETTINGS] == list(Settings.__dataclass_fields__)
    for setting in SETTINGS:
        value = default(setting.key)
        if value is not None:
            assert validate_one(setting.key, value) == value


def test_what_a_project_can_never_set() -> None:
    assert {setting.key for setting in SETTINGS if not setting.workspace_may_set} == NEVER_FROM_A_PROJECT


def test_config_toml_holds_only_what_the_terminal_agent_knows() -> None:
    assert {setting.key for setting in SETTINGS if setting.file == "config.toml"} == OF_THE_TERMINAL_AGENT


def test_each_key_is_explained_in_one_sentence() -> None:
    for setting in SETTINGS:
        assert setting.title and setting.help.endswith(".") and "\n" not in setting.help and setting.allowed


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("temperature", 0, 0.0),
        ("temperature", 2, 2.0),
        ("num_ctx", 2048, 2048),
        ("num_ctx", 131072, 131072),
        ("num_ctx", 8192.0, 8192),
        ("max_steps", 1, 1),
        ("max_steps", 200, 200),
        ("command_timeout", 5, 5.0),
        ("think", True, True),
        ("think", "high", "high"),
        ("keep_alive", "1h30m", "1h30m"),
        ("keep_alive", "0", "0"),
        ("keep_alive", "-1m", "-1m"),
        ("url", "http://localhost:11434/", "http://localhost:11434"),
        ("url", " https://example.org/v1 ", "https://example.org/v1"),
        ("url", "http://[::1]:11434", "http://[::1]:11434"),
        ("model", "hf.co/org/model:Q4_K_M", "hf.co/org/model:Q4_K_M"),
        ("allowed_commands", [" pytest ", "git status"], ("pytest", "git status")),
        ("allowed_commands", [], ()),
        ("api_key_env", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("ripgrep", "", ""),
        ("ripgrep", "/usr/bin/rg", "/usr/bin/rg"),
        ("sandbox", "off", "off"),
        ("allow_cloud", False, False),
    ],
)
def test_allowed(key: str, value: object, expected: Value) -> None:
    check(key, value, expected)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", math.nan),
        ("temperature", True),
        ("temperature", "0.2"),
        ("temperature", 10**400),
        ("num_ctx", 2047),
        ("num_ctx", 131073),
        ("num_ctx", 8192.5),
        ("num_ctx", math.inf),
        ("num_ctx", None),
        ("max_steps", 0),
        ("max_steps", 201),
        ("max_tokens_per_turn", 0),
        ("max_tokens_per_turn", math.inf),
        ("command_timeout", 0),
        ("command_timeout", math.inf),
        ("request_timeout", -1),
        ("think", "hard"),
        ("think", 1),
        ("keep_alive", "10"),
        ("keep_alive", "10 minutes"),
        ("keep_alive", 600),
        ("url", "localhost:11434"),
        ("url", "ftp://localhost"),
        ("url", "http://"),
        ("url", "http://host:99999"),
        ("url", "http://host:0"),
        ("url", "http://[::1"),
        ("url", "http://a b"),
        ("url", "http://host/?key=1"),
        ("url", "http://host\n/x"),
        ("model", ""),
        ("model", "  "),
        ("model", "a\nb"),
        ("model", 4),
        ("allowed_commands", "pytest"),
        ("allowed_commands", ["pytest", 1]),
        ("allowed_commands", [""]),
        ("provider", "scripted"),
        ("provider", "Ollama"),
        ("sandbox", False),
        ("save", "always"),
        ("allow_cloud", "yes"),
        ("api_key_env", "sk-abcdef"),
    ],
)
def test_refused_and_the_words_say_what_is_allowed(key: str, value: object) -> None:
    error = refused(key, value)
    assert f'"{key}" must be ' in error.message
    assert BY_KEY[key].allowed in error.message


def test_words_for_a_number_name_its_bounds() -> None:
    assert str(refused("num_ctx", 1)) == '"num_ctx" must be a whole number from 2048 to 131072.'
    assert str(refused("temperature", 3)) == '"temperature" must be a number from 0 to 2.'
    assert str(refused("max_tokens_per_turn", 0)) == '"max_tokens_per_turn" must be a whole number, 1 or more.'


def test_a_key_pasted_in_place_of_its_variables_name_is_not_repeated() -> None:
    assert "sk-abcdef" not in str(refused("api_key_env", "sk-abcdef"))


def test_an_unknown_key_names_the_nearest() -> None:
    assert str(refused("temprature", 1)) == '"temprature" is no setting. Did you mean "temperature"?'
    assert refused("zzz", 1).hint is None
