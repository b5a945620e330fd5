"""What a command that was typed in a prompt answers: its result in lines that a person reads, in English."""

from collections.abc import Iterator
from datetime import datetime

from llamagent_server.agent import results
from llamagent_server.lsp.wire import COMMANDS
from llamagent_server.lsp.wire_slash import WORDS, Typed


def answer(typed: Typed, result: object) -> str:
    """The words for the `result` of the command that was `typed`."""
    return "\n".join(_lines(typed, result))


def _lines(typed: Typed, result: object) -> Iterator[str]:
    match result:
        case results.Cancelled(cancelled=cancelled):
            yield "The running turn is stopped." if cancelled else "Nothing is running."
        case results.Fresh():
            yield "A new conversation begins."
        case results.Compacted(summary=summary, tokens_before=before, tokens_after=after):
            yield f"The conversation was summed up: {before} tokens became {after}."
            yield f"\n{summary}"
        case results.ContextReport():
            yield from _context(result)
        case results.SessionRef(title=title, messages=messages, session=session):
            if typed.row.command == "delete_session":
                yield f"Deleted: {title or session} ({messages} messages)."
            else:
                yield f"Going on with: {title or session} ({messages} messages)."
        case results.Sessions(sessions=rows):
            yield from map(_session, rows, range(1, len(rows) + 1))
            if not rows:
                yield "No conversation is stored here."
        case results.Exported(text=text):
            yield text.rstrip("\n")
        case results.Undone(outcome=outcome, reason=reason):
            yield _UNDONE.get(outcome, f"The way back: {outcome}.")
            if reason:
                yield reason
        case results.Initialized(created=created, skipped=skipped):
            yield f"Made: {', '.join(created)}." if created else "Nothing was made."
            if skipped:
                yield f"Left as they are: {', '.join(skipped)}."
        case results.Skills() | results.SkillLoaded():
            yield from _skills(result)
        case _:
            yield from _settings(typed, result)


def _settings(typed: Typed, result: object) -> Iterator[str]:
    match result:
        case results.Models():
            yield from _models(result)
        case results.ModelPulled(name=name):
            yield f"{name} is there. /model {name} uses it."
        case results.Changed(value=value, previous=previous, note=note):
            yield f"{typed.row.setting} is now {_value(value)}, for this session; it was {_value(previous)}."
            if note:
                yield note
        case results.ConfigReport() if typed.row.setting is not None:
            yield from (_setting(row) for row in result.settings if row.key == typed.row.setting)
        case results.ConfigReport(settings=rows, problems=problems):
            yield from (f"- {_setting(row)}" for row in rows)
            yield from problems
        case results.Allowed(allowed=allowed):
            yield f"Commands that run without asking: {', '.join(allowed)}." if allowed else "Every command asks."
            if allowed:
                yield "What `/allow` adds holds until the editor is closed."
        case results.TrustReport(folder=folder, trusted=trusted):
            yield f"The folder {folder} is trusted." if trusted else f"The folder {folder} is not trusted."
        case _:
            yield from help_lines()


_UNDONE = {
    "accepted": "What the turn changed is undone.",
    "modified": "What the turn changed is undone, as you changed it.",
    "rejected": "Nothing was undone.",
    "failed": "It could not be undone.",
    "nothing": "There is nothing to undo.",
}


def help_lines() -> Iterator[str]:
    """Every command as it is typed, with what it does."""
    helps = {command.name: command.help for command in COMMANDS}
    for row in WORDS:
        yield f"- {row.form}: {row.help or helps[row.command]}"


def _context(result: results.ContextReport) -> Iterator[str]:
    if result.estimated:
        yield f"About {result.tokens} of {result.num_ctx} tokens are in use:"
    else:
        yield f"{result.tokens} of {result.num_ctx} tokens are in use:"
    for part in result.parts:
        yield f"- {part.name}: {part.tokens}"
    if result.measured is not None:
        yield f"The server counted {result.measured} in its last prompt."


def _session(row: results.SessionRow, number: int) -> str:
    marks = [f"{row.messages} messages", row.model, *(["current"] if row.current else [])]
    marks += ["damaged"] if row.damaged else []
    when = datetime.fromisoformat(row.updated).astimezone()  # the person's own time
    return f"{number}. {when:%Y-%m-%d %H:%M} {row.title or row.id} ({', '.join(marks)})"


def _skills(result: results.Skills | results.SkillLoaded) -> Iterator[str]:
    if isinstance(result, results.SkillLoaded):
        yield f"The skill {result.name} is loaded ({result.tokens} tokens): the model follows it from now on."
    else:
        yield from (f"- {row.name} ({row.source}): {row.description}" for row in result.skills)


def _models(result: results.Models) -> Iterator[str]:
    if not result.models:
        yield "The server has no models."
    for row in result.models:
        facts = [*(["current"] if row.current else []), *([f"{row.size / 1e9:.1f} GB"] if row.size else [])]
        facts += row.capabilities or ()
        yield f"- {row.name} ({', '.join(facts)})" if facts else f"- {row.name}"
    if result.proposed is not None and not result.proposed.present:
        yield f"{result.proposed.name} suits this machine. /pull {result.proposed.name} gets it."


def _setting(row: results.SettingInfo) -> str:
    return f"{row.key}: {_value(row.value)} ({row.source})"


def _value(value: object) -> str:
    match value:
        case None | "" | [] | ():
            return "none"
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
