"""Plots as SVG, in the colours of the page that they stand in."""

from collections.abc import Sequence
from html import escape

from llamagent_server.evaluation.attempts import Attempt
from llamagent_server.evaluation.scores import Score

_WIDTH, _LEFT, _RIGHT, _ROW = 960, 250, 70, 34
_LABEL = 30  # characters
_PLOT = _WIDTH - _LEFT - _RIGHT
_MET = (("malformed", "--a"), ("recovered", "--b"), ("missed_edits", "--c"), ("loops", "--d"))


def shares(scores: Sequence[Score]) -> str:
    """One bar a model, with its confidence interval."""
    parts = [_grid(len(scores), [(step / 4, f"{step * 25} %") for step in range(5)])]
    for row, one in enumerate(scores):
        y = row * _ROW + 8
        middle = y + 9
        parts += [
            _label(one.model, y),
            _bar(_LEFT, y, one.share * _PLOT, "--good"),
            _line(_x(one.low), middle, _x(one.high), middle),
            _line(_x(one.low), middle - 5, _x(one.low), middle + 5),
            _line(_x(one.high), middle - 5, _x(one.high), middle + 5),
            f'<text x="{_WIDTH - 4}" y="{y + 13}" text-anchor="end">{one.solved}/{one.attempts}</text>',
        ]
    return _svg(parts, len(scores), "Share of solved attempts for each model")


def dots(attempts: Sequence[Attempt], models: Sequence[str]) -> str:
    """The seconds of each turn, a row a model."""
    most = max((attempt.measures.seconds for attempt in attempts), default=0.0) or 1.0
    top = _round_up(most)
    parts = [_grid(len(models), [(step / 4, f"{top * step / 4:g} s") for step in range(5)])]
    for row, model in enumerate(models):
        y = row * _ROW + 17
        parts.append(_label(model, y - 9))
        for one in attempts:
            if one.case.model == model:
                parts.append(_dot(_x(one.measures.seconds / top), y, one))
    return _svg(parts, len(models), "Seconds of each turn for each model")


def stacks(scores: Sequence[Score]) -> str:
    """What was malformed, recovered, missed, stopped: one stack a model."""
    most = max((sum(getattr(one, name) for name, _ in _MET) for one in scores), default=0) or 1
    parts = []
    for row, one in enumerate(scores):
        y, x = row * _ROW + 8, float(_LEFT)
        parts.append(_label(one.model, y))
        for name, colour in _MET:
            width = getattr(one, name) / most * _PLOT
            parts.append(_bar(x, y, width, colour))
            x += width
        total = sum(getattr(one, name) for name, _ in _MET)
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 13}">{total}</text>')
    key = "".join(
        f'<span><i style="background:var({colour})"></i>{name.replace("_", " ")}</span>' for name, colour in _MET
    )
    return f'<div class="key">{key}</div>' + _svg(parts, len(scores), "Faults met for each model", axis=False)


def _x(share: float) -> float:
    return _LEFT + min(share, 1.0) * _PLOT


def _label(text: str, y: float) -> str:
    """Of a long name the beginning and the end: there stand who made it, and what tells it from its like."""
    shown = text if len(text) <= _LABEL else f"{text[: _LABEL // 2 - 1]}…{text[-_LABEL // 2 :]}"
    return f'<text x="0" y="{y + 13}">{escape(shown)}<title>{escape(text)}</title></text>'


def _bar(x: float, y: float, width: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="18" fill="var({colour})" fill-opacity=".75"/>'


def _dot(x: float, y: float, attempt: Attempt) -> str:
    colour = "--good" if attempt.solved else "--bad"
    fill = f"var({colour})" if attempt.solved else "none"
    title = escape(f"{attempt.case.task}: {attempt.measures.seconds:.1f} s {attempt.reason}".strip())
    return (
        f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{fill}" fill-opacity=".6" stroke="var({colour})">'
        f"<title>{title}</title></circle>"
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}" stroke="var(--ink)" stroke-width="1.5"/>'


def _grid(rows: int, marks: Sequence[tuple[float, str]]) -> str:
    bottom = rows * _ROW
    return "".join(
        f'<line class="axis" x1="{_x(share):.1f}" y1="0" x2="{_x(share):.1f}" y2="{bottom}"/>'
        f'<text class="dim" x="{_x(share):.1f}" y="{bottom + 16}" text-anchor="middle">{words}</text>'
        for share, words in marks
    )


def _svg(parts: Sequence[str], rows: int, title: str, *, axis: bool = True) -> str:
    height = rows * _ROW + (24 if axis else 4)
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}">{"".join(parts)}</svg>'


def _round_up(value: float) -> float:
    """The next of some numbers times a power of ten whose quarters are short to write."""
    scale = 1.0
    while scale > value:
        scale /= 10
    while True:
        for step in (1, 1.2, 1.6, 2, 3, 4, 6, 8):
            if step * scale >= value:
                return step * scale
        scale *= 10
