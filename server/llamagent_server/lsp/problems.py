"""Diagnostics as editors send them, in our words."""

from collections.abc import Mapping

from llamagent_server.agent.ports import Problem
from llamagent_server.core.messages import Json

_SEVERITIES: Mapping[Json, str] = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def severity(diagnostic: Mapping[str, Json]) -> str:
    """Where the editor does not say it, it is an error (LSP 3.17, Diagnostic)."""
    return _SEVERITIES.get(diagnostic.get("severity"), "error")


def line_number(diagnostic: Mapping[str, Json]) -> int | None:
    """Counted from 1; None where the editor does not say it."""
    match diagnostic.get("range"):
        case {"start": {"line": int(line)}}:
            return line + 1
        case _:
            return None


def text(diagnostic: Mapping[str, Json]) -> str:
    """One line, such as `undefined name 'x' (pyflakes)`."""
    message = " ".join(str(diagnostic.get("message", "")).split())
    source = diagnostic.get("source")
    return message + (f" ({source})" if source else "")


def problem(diagnostic: Mapping[str, Json]) -> Problem | None:
    """An error or a warning in a known line; None for any other."""
    line, kind = line_number(diagnostic), severity(diagnostic)
    told = line is not None and kind in ("error", "warning") and diagnostic.get("message")
    return Problem(line, kind, text(diagnostic)) if line is not None and told else None
