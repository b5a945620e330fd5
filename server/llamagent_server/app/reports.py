"""What the commands that only report answer, made of what the other rooms know."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from difflib import SequenceMatcher

from llamagent_server.agent import results
from llamagent_server.agent.ports import ModelInfo
from llamagent_server.core.messages import Json
from llamagent_server.errors import BadArgument
from llamagent_server.processes.memory import total_memory
from llamagent_server.providers.ollama import full_name
from llamagent_server.providers.suggestions import suggested
from llamagent_server.settings import SETTINGS, Provider
from llamagent_server.settings_load import Loaded
from llamagent_server.store.sessions import StoredSession


def config_report(loaded: Loaded, problems: tuple[str, ...]) -> results.ConfigReport:
    values = {field.name: getattr(loaded.settings, field.name) for field in fields(loaded.settings)}
    rows = tuple(
        results.SettingInfo(row.key, _plain(values[row.key]), loaded.origins[row.key], row.workspace_may_set)
        for row in SETTINGS
    )
    return results.ConfigReport(rows, problems)


def model_rows(listed: Sequence[ModelInfo], current: str) -> tuple[results.ModelRow, ...]:
    return tuple(
        results.ModelRow(
            model.name,
            model.name == current,
            model.size,
            None if model.capabilities is None else tuple(sorted(model.capabilities)),
            model.context_length,
        )
        for model in listed
    )


def proposed(provider: Provider, listed: Sequence[ModelInfo]) -> results.ProposedModel | None:
    """What suits this machine; only of Ollama is it known what can be had."""
    if provider is not Provider.OLLAMA:
        return None
    found = suggested(total_memory(), listed)
    return results.ProposedModel(found.name, found.size, found.present)


def context_note(provider: Provider, changed: results.Changed) -> str | None:
    """What another context length means."""
    if changed.value == changed.previous:
        return None
    if provider is Provider.OPENAI:
        return "The server itself decides how much context it has: this is what llamagent plans with."
    return "The model is loaded anew at the next request; more context takes more memory."


def model_note(provider: Provider, name: str, listed: Sequence[ModelInfo] | None) -> str | None:
    """Whether the server lacks the model (`listed` None: it does not say)."""
    if listed is None or provider is not Provider.OLLAMA:
        return None
    there = {model.name for model in listed}
    if full_name(name) in map(full_name, there):
        return None
    near = sorted(there, key=lambda other: (-SequenceMatcher(None, name, other).ratio(), other))
    return f"Ollama does not have {name}: `/pull {name}` gets it. It has {', '.join(near) or 'no model yet'}."


def session_rows(stored: Iterable[StoredSession], current: str | None) -> tuple[results.SessionRow, ...]:
    return tuple(
        results.SessionRow(
            row.id, row.title, row.updated, row.model, row.messages, current == row.id, row.damaged or None
        )
        for row in stored
    )


def meant(listed: Sequence[str], ref: int | str) -> str:
    """The id of the conversation that a person means by its number among the `listed` ids, from 1, or by its id. Raises
    BadArgument."""
    if isinstance(ref, str) and not ref.isdecimal():
        return ref
    number = int(str(ref)[:10])  # Python refuses to read thousands of digits
    if not listed:
        raise BadArgument("No conversation is stored here.")
    if not 1 <= number <= len(listed):
        raise BadArgument(f"There is no conversation number {number}: there are {len(listed)}.")
    return listed[number - 1]


def other(rows: Sequence[results.SessionRow]) -> str:
    """The id of the newest conversation that is not the current one. Raises BadArgument."""
    found = next((row.id for row in rows if not row.current), None)
    if found is None:
        raise BadArgument("No other conversation is stored here.")
    return found


def _plain(value: object) -> Json:
    match value:
        case tuple():
            return [_plain(item) for item in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
