"""Settings out of their sources: later beats earlier, everything valid counts, and what does not is said.

Sources, from the weakest: OLLAMA_HOST, the user's files, the trusted workspace's files, OLLAMA_URL and OLLAMA_MODEL,
the editor's settings, the command line, what was set for the session. The files come as text: store/ reads them.
"""

import ipaddress
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from llamagent_server.setting_rules import File, NotAllowed, Setting, Value
from llamagent_server.settings import (
    BY_KEY,
    EMBEDDED_MODEL,
    SETTINGS,
    Provider,
    SandboxPolicy,
    SavePolicy,
    Settings,
    nearest_key,
)
from llamagent_server.toml_lines import error_line, key_lines

DEFAULT = "default"
EDITOR = "editor"
COMMAND_LINE = "command line"
SESSION = "session"
_NAMED, _NAMED_CHARS = 5, 80  # of values, in what is said of them


class Scope(StrEnum):
    USER = "user"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One settings file as it was read. `shown` is its path as a person knows it: `~/.llamagent/config.toml`."""

    shown: str
    file: File
    scope: Scope
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not count, and why. `line` counts from 1, None where the source has no lines."""

    source: str
    message: str
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        return f"{self.source}{f', line {self.line}' if self.line is not None else ''}: {self.message}"


def _all_seen(_key: str, _value: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Sources:
    """`files`: the user's, then the workspace's if it is trusted. A None value in a mapping means: not set.

    `problems` were met while the files were read. `seen` says whether the person saw a value (of a list: an item) of
    the workspace's that allows something.
    """

    files: tuple[SettingsFile, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    editor: Mapping[str, object] = field(default_factory=dict)
    command_line: Mapping[str, object] = field(default_factory=dict)
    session: Mapping[str, object] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    seen: Callable[[str, str], bool] = _all_seen


@dataclass(frozen=True, slots=True)
class Loaded:
    """`origins` says for every key where its value comes from: "default", a file, a variable, "editor", ..."""

    settings: Settings
    origins: Mapping[str, str]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """One key with its value as it stands in a source."""

    source: str
    key: str
    value: object
    line: int | None = None

    def problem(self, message: str) -> Problem:
        return Problem(self.source, message, self.line, self.key)


def load(sources: Sources) -> Loaded:
    """The settings in force. Never raises: what is wrong is among the problems and counts as not set."""
    values: dict[str, Value] = {}
    origins = dict.fromkeys(BY_KEY, DEFAULT)
    problems = list(sources.problems)
    for outcome in _outcomes(sources):
        match outcome:
            case Problem():
                problems.append(outcome)
            case found, value:
                values[found.key] = value
                origins[found.key] = found.source
    return Loaded(_settings(values), origins, tuple(problems))


def _settings(values: Mapping[str, Value]) -> Settings:
    typed: dict[str, Any] = dict(values)
    for key, kind in (("provider", Provider), ("save", SavePolicy), ("sandbox", SandboxPolicy)):
        if key in typed:
            typed[key] = kind(typed[key])
    if "api_key_env" in typed:
        typed["api_key_env"] = typed["api_key_env"] or None
    if typed.get("provider") is Provider.EMBEDDED:
        typed.setdefault("model", EMBEDDED_MODEL)
    return replace(Settings(), **typed)


_Outcome = Problem | tuple[_Found, Value]


def _outcomes(sources: Sources) -> Iterator[_Outcome]:
    """From the weakest source to the strongest: problems, and values that count."""
    yield from _checked(_from_host(sources.environ))
    for file in sources.files:
        for outcome in _from_file(file):
            yield from _as_seen(file, outcome, sources.seen)
    yield from _checked(_from_environment(sources.environ))
    yield from _checked(_from_mapping(EDITOR, sources.editor))
    yield from _from_command_line(sources.command_line)
    yield from _checked(_from_mapping(SESSION, sources.session))


def _checked(found: Iterable[_Found]) -> Iterator[_Outcome]:
    for item in found:
        yield from _check(item)


def _check(found: _Found) -> Iterator[_Outcome]:
    setting = BY_KEY.get(found.key)
    if setting is None:
        yield found.problem(_unknown(found.key))
        return
    try:
        value = setting.parse(found.value)
    except NotAllowed as error:
        yield found.problem(f'"{found.key}" must be {error}; it is ignored.')
        return
    items = value if isinstance(value, tuple) and setting.counts is not None else ()
    if idle := [item for item in items if setting.counts is not None and not setting.counts(item)]:
        yield found.problem(
            f'"{found.key}" takes plain words only, without quotes and without what a shell acts on; these never '
            f"count: {_quoted(idle)}."
        )
    yield found, value


def _unknown(key: str) -> str:
    near = nearest_key(key)
    if near is not None:
        return f'"{key}" is no setting. Did you mean "{near}" (in {BY_KEY[near].file})?'
    return f'"{key}" is no setting. The settings are {", ".join(setting.key for setting in SETTINGS)}.'


# --- Files ---------------------------------------------------------------------------------------------------------


def check_file(file: SettingsFile) -> tuple[Problem, ...]:
    """What does not count in one file, whatever other sources say."""
    return tuple(outcome for outcome in _from_file(file) if isinstance(outcome, Problem))


def _from_file(file: SettingsFile) -> Iterator[_Outcome]:
    try:
        table = tomllib.loads(file.text)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers of thousands of digits
        message = f"this is no valid TOML, so the whole file is ignored: {error}."
        yield Problem(file.shown, message, error_line(error, file.text))
        return
    lines = key_lines(file.text, table)
    for key, value in table.items():
        found = _Found(file.shown, key, value, lines.get(key))
        refused = _refused(file, BY_KEY.get(key))
        if refused is None:
            yield from _check(found)
        else:
            yield found.problem(refused)


def allowing(file: SettingsFile) -> tuple[tuple[str, str], ...]:
    """The keys and values (of a list: each item) that count in a workspace's file only once its person saw them."""
    outcomes = (outcome for outcome in _from_file(file) if not isinstance(outcome, Problem))
    return tuple((found.key, item) for found, value in outcomes for item in _items(found.key, value))


def _items(key: str, value: Value) -> tuple[str, ...]:
    if not BY_KEY[key].allows:
        return ()
    return value if isinstance(value, tuple) else (str(value),)


def _as_seen(file: SettingsFile, outcome: _Outcome, seen: Callable[[str, str], bool]) -> Iterator[_Outcome]:
    """`outcome` with only those of its values that the person saw, and what is said of the others."""
    if file.scope is Scope.USER or isinstance(outcome, Problem):
        yield outcome
        return
    found, value = outcome
    new = [item for item in _items(found.key, value) if not seen(found.key, item)]
    if new:
        yield found.problem(
            f'new in "{found.key}" since you trusted this folder, so it does not count: {_quoted(new)}.'
        )
    if isinstance(value, tuple):
        yield found, tuple(item for item in value if item not in new)
    elif not new:
        yield outcome


def _quoted(items: Sequence[str]) -> str:
    return ", ".join(f'"{item[:_NAMED_CHARS]}"' for item in items[:_NAMED]) + (", ..." if items[_NAMED:] else "")


def _refused(file: SettingsFile, setting: Setting | None) -> str | None:
    """Why a key that exists may not stand in this file, None where it may."""
    if setting is None:
        return None
    if file.scope is Scope.WORKSPACE and not setting.workspace_may_set:
        return f'a project can never set "{setting.key}"; it is ignored. Set it in ~/.llamagent/{setting.file}.'
    if setting.file is not file.file:
        return f'"{setting.key}" belongs in {setting.file} beside this file; here it is ignored.'
    return None


# --- Environment, editor, command line -----------------------------------------------------------------------------


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Found]:
    for name, key in (("OLLAMA_URL", "url"), ("OLLAMA_MODEL", "model")):
        if value := environ.get(name, "").strip():
            yield _Found(name, key, value)


def _from_host(environ: Mapping[str, str]) -> Iterator[_Found]:
    if environ.get("OLLAMA_HOST", "").strip(" \"'"):
        yield _Found("OLLAMA_HOST", "url", host_url(environ["OLLAMA_HOST"]))


def host_url(text: str) -> str:
    """The address that a client dials for OLLAMA_HOST, as Ollama itself reads it (envconfig: host, port, scheme).

    Without a scheme the port is 11434 unless named; with one it is the scheme's. A port that cannot be is replaced by
    the default one, and an address to listen on at all interfaces by this machine's own.
    """
    text = text.strip(" \t\"'")
    scheme, has_scheme, rest = text.partition("://")
    if not has_scheme:
        scheme, rest = "http", text
    default_port = {"http": 80, "https": 443}.get(scheme, 11434) if has_scheme else 11434
    place, slash, path = rest.partition("/")
    host, port = _host_and_port(place, default_port)
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{slash}{path}".rstrip("/")


def _host_and_port(place: str, default_port: int) -> tuple[str, int]:
    try:
        host = str(ipaddress.ip_address(place.strip("[]")))
        port: int | None = None
    except ValueError:
        host, port = _split(place)
    if not host:
        host = "127.0.0.1"
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return own.get(host, host), default_port if port is None else port


def _split(place: str) -> tuple[str, int | None]:
    name, colon, digits = place.rpartition(":")
    if not colon:
        return place, None
    valid = digits.isascii() and digits.isdecimal() and len(digits) < 6 and int(digits) <= 65535
    return name.strip("[]"), int(digits) if valid else None


def _from_mapping(source: str, given: Mapping[str, object]) -> Iterator[_Found]:
    for key, value in given.items():
        if value is not None:
            yield _Found(source, key, value)


def _from_command_line(given: Mapping[str, object]) -> Iterator[_Outcome]:
    """The only place where the provider `scripted` may be chosen; its url is the path of a transcript."""
    scripted = given.get("provider") == Provider.SCRIPTED
    for found in _from_mapping(COMMAND_LINE, given):
        if scripted and found.key in ("provider", "url"):
            yield found, str(found.value)
        else:
            yield from _check(found)
