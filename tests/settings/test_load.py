"""Which source counts, what is said about what does not, and that the rest always counts."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.policy import may_run
from llamagent_server.setting_rules import File
from llamagent_server.settings import Provider, SandboxPolicy, SavePolicy, Settings
from llamagent_server.settings_load import Loaded, Scope, SettingsFile, Sources, host_url, load
from llamagent_server.toml_lines import key_lines

USER_CONFIG = "~/.llamagent/config.toml"
PROJECT_CONFIG = ".llamagent/config.toml"


def user(text: str, file: File = File.CONFIG) -> SettingsFile:
    return SettingsFile(f"~/.llamagent/{file}", file, Scope.USER, text)


def project(text: str, file: File = File.CONFIG) -> SettingsFile:
    return SettingsFile(f".llamagent/{file}", file, Scope.WORKSPACE, text)


def problems(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]


def test_nothing_said_gives_the_defaults() -> None:
    loaded = load(Sources())
    assert loaded.settings == Settings() and not loaded.problems
    assert set(loaded.origins.values()) == {"default"} and set(loaded.origins) == set(Settings.__dataclass_fields__)


def test_later_beats_earlier() -> None:
    layers: list[tuple[str, dict[str, object]]] = [
        (USER_CONFIG, {"files": (user('model = "a"'),)}),
        (PROJECT_CONFIG, {"files": (user('model = "a"'), project('model = "b"'))}),
        ("OLLAMA_MODEL", {"environ": {"OLLAMA_MODEL": "c"}}),
        ("editor", {"editor": {"model": "d"}}),
        ("command line", {"command_line": {"model": "e"}}),
        ("session", {"session": {"model": "f"}}),
    ]
    given_so_far: dict[str, object] = {}
    for number, (origin, sources) in enumerate(layers):
        given_so_far |= sources
        loaded = load(Sources(**given_so_far))  # type: ignore[arg-type]
        assert (loaded.settings.model, loaded.origins["model"]) == ("abcdef"[number], origin)


def test_values_become_what_settings_holds() -> None:
    text = (
        'provider = "openai"\nsandbox = "off"\nsave = "never"\nthink = "low"\ncommand_timeout = 5\napi_key_env = "KEY"'
    )
    settings = load(Sources(files=(user(text, File.SERVER),))).settings
    assert settings == Settings(
        provider=Provider.OPENAI,
        sandbox=SandboxPolicy.OFF,
        save=SavePolicy.NEVER,
        think="low",
        command_timeout=5.0,
        api_key_env="KEY",
    )
    assert isinstance(settings.provider, Provider) and isinstance(settings.sandbox, SandboxPolicy)


def test_null_from_the_editor_means_not_set() -> None:
    loaded = load(Sources(files=(user('model = "a"'),), editor={"model": None, "api_key_env": None}))
    assert loaded.settings.model == "a" and not loaded.problems


def test_a_bad_value_counts_as_not_set_and_the_weaker_source_stays() -> None:
    loaded = load(Sources(files=(user("num_ctx = 4096"),), editor={"num_ctx": 1, "model": "m"}))
    assert loaded.settings.num_ctx == 4096 and loaded.origins["num_ctx"] == USER_CONFIG
    assert loaded.settings.model == "m"
    assert problems(loaded) == ['editor: "num_ctx" must be a whole number from 2048 to 131072; it is ignored.']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('model = "a"\ntemprature = 1', '2: "temprature" is no setting. Did you mean "temperature" (in config.toml)?'),
        ("max-steps = 3", '1: "max-steps" is no setting. Did you mean "max_steps" (in server.toml)?'),
        ("\n\n# words\nnum_ctx = 7", '4: "num_ctx" must be a whole number from 2048 to 131072; it is ignored.'),
        ('temperature = "hot"', '1: "temperature" must be a number from 0 to 2; it is ignored.'),
        ("max_steps = 3", '1: "max_steps" belongs in server.toml beside this file; here it is ignored.'),
        ("[model]\nname = 1", '1: "model" must be a name in quotes, such as "qwen3.5:4b"; it is ignored.'),
        ('"num_ctx" = 0', '1: "num_ctx" must be a whole number from 2048 to 131072; it is ignored.'),
        ('model = """\nnum_ctx = 1\n"""\nnum_ctx = 1', "4: "),
        ("temperature.high = 1", '1: "temperature" must be'),
    ],
)
def test_a_problem_in_a_file_names_file_line_and_what_is_allowed(text: str, expected: str) -> None:
    loaded = load(Sources(files=(user(text),)))
    assert any(problem.startswith(f"{USER_CONFIG}, line {expected}") for problem in problems(loaded)), problems(loaded)


def test_allowed_commands_that_can_never_match_are_said_and_the_others_count() -> None:
    items = ["git status", "rm -rf; ls", "FOO=1 make", "echo $HOME", "git\tdiff"]
    loaded = load(Sources(files=(user(f"temperature = 1\nallowed_commands = {json.dumps(items)}"),)))
    assert loaded.settings.allowed_commands == tuple(items)
    assert problems(loaded) == [
        f'{USER_CONFIG}, line 2: "allowed_commands" takes plain words only, without quotes and without what a shell '
        'acts on; these never count: "rm -rf; ls", "FOO=1 make", "echo $HOME".'
    ]
    assert not any(may_run(item, loaded.settings.allowed_commands) for item in items[1:4])
    assert may_run("git status", loaded.settings.allowed_commands)
    assert may_run("git diff", loaded.settings.allowed_commands)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("model = ", 1),
        ('model = "a"\nnum_ctx 8192', 2),
        ('model = "a"\n\nmodel = "b"', 3),
        ('\nmodel = "a', 2),
        ('model = """a\nb\n', 2),
        ("num_ctx = " + "9" * 5000, 1),
        ("allowed_commands = " + "[" * 100_000, 1),
    ],
)
def test_bad_toml_names_the_line_and_the_other_files_count(text: str, line: int) -> None:
    loaded = load(Sources(files=(user(text), user("max_steps = 3", File.SERVER))))
    assert loaded.settings == Settings(max_steps=3)
    assert [(problem.source, problem.line) for problem in loaded.problems] == [(USER_CONFIG, line)]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (File.CONFIG, 'url = "http://evil.example"'),
        (File.SERVER, 'provider = "openai"'),
        (File.SERVER, 'api_key_env = "HOME"'),
        (File.SERVER, 'sandbox = "off"'),
        (File.SERVER, "allow_cloud = true"),
        (File.SERVER, 'ripgrep = "./rg"'),
        (File.CONFIG, 'ripgrep = "./rg"'),
        (File.SERVER, 'url = "http://evil.example"'),
        (File.SERVER, 'provider = "scripted"'),
    ],
)
def test_a_project_can_never_say_where_prompts_go_or_what_runs(file: File, text: str) -> None:
    loaded = load(Sources(files=(project(text, file),)))
    assert loaded.settings == Settings()
    assert len(loaded.problems) == 1 and "a project can never set" in str(loaded.problems[0])


def test_scripted_only_from_the_command_line_where_its_url_is_a_path() -> None:
    loaded = load(Sources(command_line={"provider": "scripted", "url": "turn.jsonl"}))
    assert (loaded.settings.provider, loaded.settings.url) == (Provider.SCRIPTED, "turn.jsonl")
    for sources in (
        Sources(files=(user('provider = "scripted"', File.SERVER),)),
        Sources(editor={"provider": "scripted"}),
        Sources(session={"provider": "scripted"}),
    ):
        assert load(sources).settings.provider is Provider.OLLAMA
    assert load(Sources(command_line={"url": "turn.jsonl"})).settings.url == Settings().url


def test_the_embedded_provider_has_its_own_model_unless_one_is_named() -> None:
    chosen = {"provider": "embedded"}
    assert load(Sources(command_line=chosen)).settings.model == "SmolLM2-135M-Instruct"
    assert load(Sources(command_line=chosen, files=(user('model = "my.gguf"'),))).settings.model == "my.gguf"


@pytest.mark.parametrize(
    ("environ", "url", "origin"),
    [
        ({"OLLAMA_URL": "http://a:1"}, "http://a:1", "OLLAMA_URL"),
        ({"OLLAMA_HOST": "b"}, "http://b:11434", "OLLAMA_HOST"),
        ({"OLLAMA_URL": "http://a:1", "OLLAMA_HOST": "b"}, "http://a:1", "OLLAMA_URL"),
        ({"OLLAMA_URL": " ", "OLLAMA_HOST": "  "}, "http://localhost:11434", "default"),
    ],
)
def test_the_address_from_the_environment(environ: Mapping[str, str], url: str, origin: str) -> None:
    loaded = load(Sources(environ=environ))
    assert (loaded.settings.url, loaded.origins["url"]) == (url, origin)


def test_ollama_host_counts_only_where_no_url_is_set() -> None:
    loaded = load(Sources(files=(user('url = "http://mine:1"'),), environ={"OLLAMA_HOST": "other"}))
    assert loaded.settings.url == "http://mine:1"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:1234", "http://box:1234"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box:8443/ollama/", "https://box:8443/ollama"),
        ("box/ollama", "http://box:11434/ollama"),
        (' "box:1" ', "http://box:1"),
        ("'box'", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:1", "http://127.0.0.1:1"),
        ("::", "http://[::1]:11434"),
        ("[::]:1", "http://[::1]:1"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[fe80::1]:1", "http://[fe80::1]:1"),
        (":1234", "http://127.0.0.1:1234"),
        ("box:70000", "http://box:11434"),
        ("box:port", "http://box:11434"),
        ("box:", "http://box:11434"),
        ("http://box:port", "http://box:80"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert host_url(host) == url


def test_a_host_that_makes_no_address_is_said() -> None:
    loaded = load(Sources(environ={"OLLAMA_HOST": "ftp://[x"}))
    assert loaded.settings.url == Settings().url and [problem.source for problem in loaded.problems] == ["OLLAMA_HOST"]


@given(st.text(max_size=60), st.text(max_size=30))
def test_no_text_whatever_makes_loading_raise(toml: str, host: str) -> None:
    loaded = load(Sources(files=(user(toml), project(toml, File.SERVER)), environ={"OLLAMA_HOST": host}))
    assert isinstance(loaded.settings, Settings)


@given(
    st.dictionaries(
        st.sampled_from([*Settings.__dataclass_fields__, "other"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers()),
    )
)
def test_no_json_whatever_makes_loading_raise(values: dict[str, object]) -> None:
    for sources in (Sources(editor=values), Sources(command_line=values), Sources(session=values)):
        loaded = load(sources)
        said = {problem.key for problem in loaded.problems}
        assert all(
            (loaded.origins[key] == "default") == (key in said or values[key] is None)
            for key in values
            if key != "other"
        )


def test_the_lines_of_a_long_file_are_found_in_one_pass() -> None:
    text = 'model = """\nurl = # \n"""\n' + "".join(f"key{number} = [\n  1, # ]\n]\n" for number in range(20_000))
    lines = key_lines(text, ["model", "url", "key0", "key19999"])
    assert lines == {"model": 1, "key0": 4, "key19999": 4 + 3 * 19_999}
