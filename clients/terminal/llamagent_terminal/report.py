"""The results of commands as a person reads them."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from llamagent_terminal.screen import Screen, Span, Style, cells, clipped
from llamagent_terminal.show import HARNESS, say
from llamagent_terminal.visible import prose

Result = Mapping[str, Any]
_LEAST_TITLE = 20  # columns


def show(screen: Screen, name: str, result: Result) -> None:
    """The result of `llamagent.<name>`."""
    shown = _REPORTS.get(name)
    if shown is not None:
        shown(screen, result)
    else:
        screen.line(Span(json.dumps(result, indent=2, ensure_ascii=False), Style.DIM))


def _fresh(screen: Screen, _result: Result) -> None:
    screen.line(Span("a new conversation", Style.DIM))


def _compacted(screen: Screen, result: Result) -> None:
    screen.line(f"{result['tokensBefore']:,} tokens became {result['tokensAfter']:,}:")
    screen.line(Span(result["summary"], Style.DIM))


def _context(screen: Screen, result: Result) -> None:
    about = "about " if result["estimated"] else ""
    screen.line(f"{about}{result['tokens']:,} of {result['numCtx']:,} tokens")
    if result.get("measured"):
        screen.line(Span(f"the server counted {result['measured']:,} in its last prompt", Style.DIM))
    for part in result["parts"]:
        share = part["tokens"] / max(result["numCtx"], 1)
        bar = ("█" if screen.unicode else "#") * round(share * 40)
        screen.line(f"  {part['name']:<14}{part['tokens']:>8,}  ", Span(bar, Style.MODEL))


def _config(screen: Screen, result: Result) -> None:
    for row in result["settings"]:
        value = json.dumps(row["value"], ensure_ascii=False)
        screen.line(f"  {row['key']:<20} {value:<28} ", Span(row["source"], Style.DIM))
    for problem in result["problems"]:
        screen.line(Span(f"  {problem}", Style.HARNESS))


def _sessions(screen: Screen, result: Result) -> None:
    if not result["sessions"]:
        screen.line("no stored conversations")
    for number, row in enumerate(result["sessions"], 1):
        marks = ", current" if row["current"] else ""
        marks += ", damaged" if row.get("damaged") else ""
        when = f"{datetime.fromisoformat(row['updated']).astimezone():%Y-%m-%d %H:%M}"
        facts = f"  {row['messages']} messages, {row['model']}{marks}"
        head = f"{number:>3}  {when}  "
        title = prose(row["title"] or row["id"])
        if (room := screen.columns - cells(head + facts) - 1) >= _LEAST_TITLE:
            screen.line(head + clipped(title, room), Span(facts, Style.DIM))
        else:
            screen.line(head + clipped(title, screen.columns - cells(head) - 1))
            screen.line(Span(f"   {facts}", Style.DIM))


def _resumed(screen: Screen, result: Result) -> None:
    screen.line(
        Span(f"going on with: {result['title'] or result['session']} ({result['messages']} messages)", Style.DIM)
    )


def _deleted(screen: Screen, result: Result) -> None:
    screen.line(Span(f"deleted: {result['title'] or result['session']}", Style.DIM))


def _skills(screen: Screen, result: Result) -> None:
    if not result["skills"]:
        screen.line("no skills")
    for row in result["skills"]:
        screen.line("  ", Span(row["name"], Style.BOLD), Span(f"  ({row['source']})", Style.DIM))
        for text in screen.wrapped(row["description"], 4):
            screen.line("    ", text)


def _skill_loaded(screen: Screen, result: Result) -> None:
    screen.line(Span(f"loaded {result['name']}: {result['tokens']:,} tokens", Style.DIM))


def _models(screen: Screen, result: Result) -> None:
    if not result["models"]:
        screen.line("the server has no models")
    for row in result["models"]:
        facts = [", ".join(row.get("capabilities") or ())]
        if row.get("size"):
            facts.append(f"{row['size'] / 1e9:.1f} GB")
        mark = "*" if row["current"] else " "
        screen.line(f" {mark} {row['name']:<28} ", Span("  ".join(fact for fact in facts if fact), Style.DIM))
    better = result.get("proposed")
    if better and not better["present"]:
        words = f"{better['name']} ({better['size'] / 1e9:.1f} GB) suits this machine: /pull {better['name']} gets it."
        say(screen, HARNESS, words)


def _changed(screen: Screen, result: Result) -> None:
    screen.line(Span(f"{result['previous']} -> {result['value']}, for this session", Style.DIM))
    if result.get("note"):
        say(screen, HARNESS, result["note"])


def _allowed(screen: Screen, result: Result) -> None:
    screen.line("runs without asking: " + (", ".join(result["allowed"]) or "nothing"))
    if result["allowed"]:
        screen.line(Span("what /allow adds holds until you leave; `allowed_commands` in config.toml stays", Style.DIM))


def _trusted(screen: Screen, result: Result) -> None:
    screen.line(Span(f"{result['folder']}: {'trusted' if result['trusted'] else 'not trusted'}", Style.DIM))


def _cancelled(screen: Screen, result: Result) -> None:
    screen.line(Span("stopped" if result["cancelled"] else "nothing is running", Style.DIM))


def _undone(screen: Screen, result: Result) -> None:
    why = result.get("reason")
    if result["outcome"] == "nothing":
        words = why or "nothing to take back"
    else:
        words = f"undo: {result['outcome']}" + (f", {why}" if why else "")
    screen.line(Span(words, Style.DIM))


def _initialised(screen: Screen, result: Result) -> None:
    for path in result["created"]:
        screen.line("created ", Span(path, Style.BOLD))
    if not result["created"]:
        screen.line(Span("nothing was made", Style.DIM))
    for path in result["skipped"]:
        screen.line(Span(f"left as it is: {path}", Style.DIM))


def _pulled(screen: Screen, result: Result) -> None:
    screen.line(Span(f"{result['name']} is there; /model {result['name']} uses it", Style.DIM))


def _exported(screen: Screen, result: Result) -> None:
    screen.line(result["text"].rstrip("\n"))


_REPORTS: dict[str, Callable[[Screen, Result], None]] = {
    "new": _fresh,
    "clear": _fresh,
    "compact": _compacted,
    "context": _context,
    "config": _config,
    "sessions": _sessions,
    "resume": _resumed,
    "delete_session": _deleted,
    "skills": _skills,
    "load_skill": _skill_loaded,
    "models": _models,
    "set_model": _changed,
    "set_temperature": _changed,
    "set_num_ctx": _changed,
    "allow": _allowed,
    "trust": _trusted,
    "cancel": _cancelled,
    "undo_turn": _undone,
    "init": _initialised,
    "pull_model": _pulled,
    "export": _exported,
}
