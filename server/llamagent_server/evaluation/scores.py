"""What many attempts say about each model: how many were solved, how sure that is, what it cost. Pure."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llamagent_server.evaluation.attempts import Attempt
from llamagent_server.evaluation.measures import Measures

_Z = 1.959964  # 95 % of a normal distribution lie within as many deviations


@dataclass(frozen=True, slots=True)
class Score:
    """Of one model. `low` and `high` are the 95 % confidence interval of the share that it solves; times and steps are
    medians over the attempts, tokens means, the rest sums."""

    model: str
    attempts: int
    solved: int
    low: float
    high: float
    steps: float
    prompt_tokens: float
    completion_tokens: float
    first_token: float | None
    seconds: float
    malformed: int
    recovered: int
    missed_edits: int
    loops: int

    @property
    def share(self) -> float:
        return self.solved / self.attempts if self.attempts else 0.0


def interval(solved: int, attempts: int) -> tuple[float, float]:
    """Wilson's score interval for a share, at 95 %: right for few attempts and for shares near 0 and 1 too.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    if not attempts:
        return 0.0, 1.0
    share, z2 = solved / attempts, _Z * _Z
    middle = share + z2 / (2 * attempts)
    reach = _Z * math.sqrt(share * (1 - share) / attempts + z2 / (4 * attempts * attempts))
    scale = 1 + z2 / attempts
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def score(model: str, attempts: Sequence[Attempt]) -> Score:
    """The score of `model` over its `attempts`."""
    measures = [attempt.measures for attempt in attempts]
    solved = sum(attempt.solved for attempt in attempts)
    low, high = interval(solved, len(attempts))
    waits = [one.first_token for one in measures if one.first_token is not None]
    return Score(
        model=model,
        attempts=len(attempts),
        solved=solved,
        low=low,
        high=high,
        steps=_median(measures, lambda one: one.steps),
        prompt_tokens=_mean(measures, lambda one: one.prompt_tokens),
        completion_tokens=_mean(measures, lambda one: one.completion_tokens),
        first_token=statistics.median(waits) if waits else None,
        seconds=_median(measures, lambda one: one.seconds),
        malformed=sum(one.malformed for one in measures),
        recovered=sum(one.recovered for one in measures),
        missed_edits=sum(one.missed_edits for one in measures),
        loops=sum(one.loops for one in measures),
    )


def scores(attempts: Sequence[Attempt]) -> list[Score]:
    """One for each model, best first; equal ones as they came."""
    models = list(dict.fromkeys(attempt.case.model for attempt in attempts))
    found = [score(model, [one for one in attempts if one.case.model == model]) for model in models]
    return sorted(found, key=lambda one: (-one.share, one.seconds))


def _median(measures: Sequence[Measures], of: Callable[[Measures], float]) -> float:
    return float(statistics.median(map(of, measures))) if measures else 0.0


def _mean(measures: Sequence[Measures], of: Callable[[Measures], float]) -> float:
    return float(statistics.mean(map(of, measures))) if measures else 0.0
