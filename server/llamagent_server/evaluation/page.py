"""The scores as one HTML page with plots: no script, nothing loaded from anywhere."""

from collections.abc import Iterable, Sequence
from html import escape

from llamagent_server.evaluation.attempts import Attempt
from llamagent_server.evaluation.plots import dots, shares, stacks
from llamagent_server.evaluation.report import BROKEN_HEADS, apart, broken_rows, cells, heads, tally
from llamagent_server.evaluation.scores import Score, scores

_HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Evaluation</title>'
_SURE = (
    "The bar is the share of attempts that the check accepted; the line is where the true share lies with 95 % "
    "confidence."
)
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --dim: #667085; --line: #d9dee7; --paper: #ffffff; --soft: #f4f6f9;
  --good: #1a7f4b; --bad: #b3382c; --a: #2f6fde; --b: #c77d0a; --c: #8a4bd0; --d: #5f6b7c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --dim: #9aa4b5; --line: #333b49; --paper: #14181f;
  --soft: #1c222c; --good: #4cc38a; --bad: #f0776b; --a: #7aa9ff; --b: #e5a94a; --c: #c39bf5; --d: #93a0b4; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 78rem; padding: 2rem 1.5rem 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2.4rem 0 .6rem; }
p { color: var(--dim); margin: .2rem 0 1rem; max-width: 46rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
.scroll { overflow-x: auto; }
th, td { text-align: left; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--dim); font-weight: 500; vertical-align: bottom; } td.number { white-space: nowrap; }
td.name { min-width: 12rem; max-width: 16rem; overflow-wrap: anywhere; }
.grid th, .grid td { text-align: center; padding: .25rem .5rem; }
.grid th { min-width: 6rem; max-width: 11rem; overflow-wrap: anywhere; }
.grid th:first-child, .grid td:first-child { text-align: left; padding-left: 0; white-space: nowrap; }
.all { color: var(--good); font-weight: 600; } .none { color: var(--bad); } .some { color: var(--b); }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg .dim { fill: var(--dim); font-size: 12px; } svg .axis { stroke: var(--line); }
.key { display: flex; flex-wrap: wrap; gap: 1.2rem; color: var(--dim); margin: .3rem 0 .6rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .4rem; }
"""


def page(attempts: Sequence[Attempt], conditions: str) -> str:
    """A whole document. `conditions` is one line of text."""
    attempts, broken = apart(attempts)
    found = scores(attempts)
    models = [score.model for score in found]
    lost = [("Broke off", "Through no fault of a model's: not counted.", _broken(broken))] if broken else []
    told = (
        ("Solved", _SURE, shares(found)),
        ("Scores", "Steps and times are medians of a turn, tokens are means, the rest are sums.", _scores(found)),
        ("Time of a turn", "One dot an attempt: filled where it was solved.", dots(attempts, models)),
        ("What the harness met", "Over all attempts of a model.", stacks(found)),
        ("Tasks", "Solved of tried.", _grid(attempts, models)),
        ("Why the failures failed", "", _failures(attempts)),
    )
    sections = lost if lost and not attempts else [*lost, *told]
    body = "\n".join(_section(*section) for section in sections)
    head = f"{_HEAD}<style>{_STYLE}</style>"
    heading = f"<h1>Evaluation</h1>\n<p>{escape(conditions)}</p>"
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{heading}\n{body}\n</body>\n</html>\n'


def _section(title: str, words: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{f'<p>{words}</p>' if words else ''}\n{content}</section>"


def _scores(found: Sequence[Score]) -> str:
    return _table("", heads(), (_score(*cells(one)) for one in found))


def _score(model: str, *numbers: str) -> list[str]:
    return [_name(model), *(f'<td class="number">{escape(number)}</td>' for number in numbers)]


def _name(name: str) -> str:
    return f'<td class="name">{escape(name)}</td>'


def _grid(attempts: Sequence[Attempt], models: Sequence[str]) -> str:
    tasks = sorted({attempt.case.task for attempt in attempts})
    rows = ([f"<td>{escape(task)}</td>", *(_cell(tally(attempts, task, model)) for model in models)] for task in tasks)
    return _table("grid", ("task", *models), rows)


def _cell(text: str) -> str:
    solved, _, tried = text.partition("/")
    kind = "none" if solved == "0" else "all" if solved == tried else "some"
    return f'<td class="{kind if text else ""}">{text}</td>'


def _failures(attempts: Sequence[Attempt]) -> str:
    failed = [one for one in attempts if not one.solved]
    if not failed:
        return "<p>Nothing failed.</p>"
    runs: dict[tuple[str, str, str], list[str]] = {}  # of a model, a task and a reason
    for one in failed:
        runs.setdefault((one.case.model, one.case.task, one.reason), []).append(str(one.case.run))
    rows = (
        [_name(model), _name(task), *(f"<td>{escape(text)}</td>" for text in (", ".join(which), reason))]
        for (model, task, reason), which in runs.items()
    )
    return _table("", ("model", "task", "runs", "reason"), rows)


def _broken(broken: Sequence[Attempt]) -> str:
    rows = ([_name(model), f"<td>{count}</td>", f"<td>{escape(why)}</td>"] for model, count, why in broken_rows(broken))
    return _table("", BROKEN_HEADS, rows)


def _table(kind: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    return f'<div class="scroll"><table class="{kind}"><tr>{titles}</tr>\n{body}</table></div>'
