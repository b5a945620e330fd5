"""The scores as Markdown, and as JSON for programs."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from llamagent_server.evaluation.attempts import BROKE_OFF, Attempt
from llamagent_server.evaluation.scores import Score, scores

_HEADS = (
    "model",
    "solved",
    "95 % interval",
    "steps",
    "tokens in",
    "tokens out",
    "first token",
    "turn",
    "malformed",
    "recovered",
    "edits missed",
    "loops",
)


BROKEN_HEADS = ("model", "attempts", "reason")


def cells(score: Score) -> tuple[str, ...]:
    """A score in words, one for each head of the table."""
    return (
        score.model,
        f"{score.solved} of {score.attempts} ({score.share:.0%})",
        f"{score.low:.0%} to {score.high:.0%}",
        f"{score.steps:g}",
        f"{score.prompt_tokens:,.0f}",
        f"{score.completion_tokens:,.0f}",
        "-" if score.first_token is None else f"{score.first_token:.2f} s",
        f"{score.seconds:.1f} s",
        *(str(count) for count in (score.malformed, score.recovered, score.missed_edits, score.loops)),
    )


def heads() -> tuple[str, ...]:
    return _HEADS


def markdown(attempts: Sequence[Attempt], conditions: str) -> str:
    """The page a person reads or puts into an issue. `conditions` is one line."""
    attempts, broken = apart(attempts)
    found = scores(attempts)
    models = [score.model for score in found]
    tasks = sorted({attempt.case.task for attempt in attempts})
    lines = ["# Evaluation", "", conditions, ""]
    if broken:
        lines += ["## Broke off, not counted", "", *_table(BROKEN_HEADS, broken_rows(broken)), ""]
        if not attempts:
            return "\n".join(lines)
    lines += [*_table(_HEADS, [cells(score) for score in found]), ""]
    lines += ["Steps, times: medians of a turn. Tokens: means of a turn. The rest: sums.", "", "## Tasks", ""]
    lines += _table(("task", *models), [(task, *(tally(attempts, task, model) for model in models)) for task in tasks])
    lines += ["", "## Why the failures failed", ""]
    failures = [(one.case.model, one.case.task, str(one.case.run), one.reason) for one in attempts if not one.solved]
    lines += _table(("model", "task", "run", "reason"), failures) if failures else ["Nothing failed."]
    return "\n".join(lines) + "\n"


def apart(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """Those that count, and those that broke off."""
    return [one for one in attempts if not one.broke_off], [one for one in attempts if one.broke_off]


def broken_rows(broken: Sequence[Attempt]) -> list[tuple[str, ...]]:
    """One for each model and reason, for the heads BROKEN_HEADS."""
    alike = Counter((one.case.model, one.reason.removeprefix(BROKE_OFF).removeprefix(": ")) for one in broken)
    return [(model, str(count), reason) for (model, reason), count in alike.items()]


def tally(attempts: Sequence[Attempt], task: str, model: str) -> str:
    """How many of a model's runs of a task were solved, such as `2/3`; "" where none was made."""
    runs = [one.solved for one in attempts if one.case.task == task and one.case.model == model]
    return f"{sum(runs)}/{len(runs)}" if runs else ""


def as_json(attempts: Sequence[Attempt], conditions: str) -> dict[str, Any]:
    """Everything: the conditions, the scores (times in seconds, shares from 0 to 1), each attempt that counts, each
    that broke off."""
    attempts, broken = apart(attempts)
    rows = [
        {field: getattr(score, field) for field in (*Score.__dataclass_fields__, "share")} for score in scores(attempts)
    ]
    return {
        "conditions": conditions,
        "scores": rows,
        "attempts": [attempt.to_json() for attempt in attempts],
        "brokeOff": [attempt.to_json() for attempt in broken],
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"
