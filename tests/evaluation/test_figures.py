"""From a trace to measures, from attempts to scores, from scores to pages."""

import json
import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.evaluation.attempts import BROKE_OFF, Attempt, Case, Ledger
from llamagent_server.evaluation.measures import Measures, measure
from llamagent_server.evaluation.page import page
from llamagent_server.evaluation.progress import Progress
from llamagent_server.evaluation.report import as_json, markdown
from llamagent_server.evaluation.scores import interval, score, scores


def replied(first: float) -> dict[str, Any]:
    return {"kind": "model.replied", "latency": {"firstTokenSeconds": first, "totalSeconds": first + 1}}


def decided(decision: str, reason: str = "", call: str | None = None, form: str | None = None) -> dict[str, Any]:
    return {"kind": "harness.decided", "decision": decision, "reason": reason, "call": call, "form": form}


TRACE: list[dict[str, Any]] = [
    replied(2.0),
    decided("ask", call="c1", form="repaired"),
    decided("repair", "the model cannot be given tools"),  # no call of the model's was put right
    {"kind": "tool.started", "call": "c1", "name": "edit_file"},
    {"kind": "tool.returned", "call": "c1", "name": "edit_file", "ok": False},
    replied(0.5),
    decided("nudge", "Your reply was empty"),
    decided("nudge", "the same call as just before", call="c2"),
    decided("refuse", "There is no tool 'fly'.", call="c3", form="malformed"),
    {"kind": "tool.returned", "call": "c3", "name": "fly", "ok": False},
    decided("refuse", "read mode", call="c4", form="repaired"),
    {"kind": "tool.returned", "call": "c4", "name": "edit_file", "ok": False},  # refused: it was not tried
    decided("allow", call="c5"),
    {"kind": "tool.started", "call": "c5", "name": "read_file"},
    {"kind": "tool.returned", "call": "c5", "name": "read_file", "ok": False},
    {"kind": "edit.resolved", "outcome": "accepted"},
    {"kind": "edit.resolved", "outcome": "rejected"},
    replied(1.0),
    decided("stop", "going in circles", call="c6"),
    decided("stop", "the turn was stopped before this call", call="c7"),
    {
        "kind": "turn.ended",
        "stopReason": "answered",
        "steps": 3,
        "seconds": 9.5,
        "usage": {"promptTokens": 900, "completionTokens": 60},
    },
]


def attempt(model: str, task: str, *, solved: bool, run: int = 1, seconds: float = 1.0, reason: str = "") -> Attempt:
    return Attempt(Case(model, task, run, "d"), solved, reason, Measures(steps=2, seconds=seconds, first_token=0.5))


def test_a_trace_is_counted() -> None:
    assert measure(TRACE) == Measures(
        steps=3,
        prompt_tokens=900,
        completion_tokens=60,
        seconds=9.5,
        first_token=1.0,
        malformed=2,
        recovered=2,
        missed_edits=1,
        loops=1,
        changes=1,
        stop_reason="answered",
        answered=True,
    )
    assert not measure([*TRACE, {"kind": "model.requested"}]).answered
    assert measure([]) == Measures()


@pytest.mark.parametrize(
    ("solved", "attempts", "low", "high"),
    # Worked by hand from the formula; 8 of 10 is the textbooks' example.
    [(8, 10, 0.490, 0.943), (0, 20, 0.0, 0.161), (20, 20, 0.839, 1.0), (1, 2, 0.095, 0.905), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(solved: int, attempts: int, low: float, high: float) -> None:
    assert interval(solved, attempts) == pytest.approx((low, high), abs=5e-4)


def test_scores_are_best_first_and_hold_every_attempt() -> None:
    tried = [
        attempt("weak", "a", solved=False),
        attempt("good", "a", solved=True, seconds=3.0),
        attempt("good", "b", solved=True, seconds=1.0),
        attempt("weak", "b", solved=True),
    ]
    found = scores(tried)
    assert [(one.model, one.solved, one.attempts) for one in found] == [("good", 2, 2), ("weak", 1, 2)]
    assert score("good", tried[1:3]).seconds == 2.0


def test_a_ledger_keeps_what_was_tried_and_loses_only_a_torn_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "attempts.jsonl")
    assert ledger.read() == []
    first, second = attempt("m", "a", solved=True), attempt("m", "b", solved=False, reason="why\nnot")
    ledger.add(first)
    with (tmp_path / "attempts.jsonl").open("a") as stream:
        stream.write('{"case": {"model": "m", "ta')
    ledger.add(second)
    assert ledger.read() == [first, second]


class Seen(HTMLParser):
    """Collects tags, and attributes that would load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "onload", "onerror")]


HOSTILE = '<script>alert(1)</script><img src="//evil">|x'


def test_the_page_shows_hostile_names_as_text_and_loads_nothing() -> None:
    tried = [attempt(HOSTILE, "a", solved=False, reason=HOSTILE), attempt("m", HOSTILE, solved=True)]
    seen = Seen()
    seen.feed(page(tried, HOSTILE))
    assert "script" not in seen.tags and "img" not in seen.tags and not seen.loads
    assert seen.tags.count("circle") == 2 and seen.tags.count("svg") == 3


def test_what_broke_off_is_shown_apart_and_counted_nowhere() -> None:
    off = f"{BROKE_OFF}: no server <b>"
    tried = [
        attempt("m", "a", solved=True),
        attempt("m", "b", solved=False, reason=off),
        attempt("m", "c", solved=False, reason=off),
        attempt("n", "a", solved=False, reason=off),
    ]
    text, html = markdown(tried, "line"), page(tried, "line")
    assert "| m | 1 of 1 (100%) |" in text and "| n |" not in text.partition("## Tasks")[2]
    assert "| m | 2 | no server <b> |\n| n | 1 | no server <b> |" in text
    assert "Nothing failed." in text and "Nothing failed." in html
    assert "<td>2</td><td>no server &lt;b&gt;</td>" in html and html.count("<circle") == 1
    value = as_json(tried, "line")
    assert (len(value["scores"]), len(value["attempts"]), len(value["brokeOff"])) == (1, 1, 3)


def test_where_all_broke_off_no_empty_table_is_shown() -> None:
    tried = [attempt("m", "a", solved=False, reason=f"{BROKE_OFF}: no server")]
    text, html = markdown(tried, "line"), page(tried, "line")
    assert "| m | 1 | no server |" in text and text.count("\n| --- |") == 1
    assert html.count("<h2>") == 1 and "<svg" not in html and "Nothing failed." not in text + html


def test_a_page_of_nothing_is_a_page() -> None:
    assert "Nothing failed." in page([], "0 attempts") and "Nothing failed." in markdown([], "0 attempts")


def test_markdown_has_a_row_a_model_a_row_a_task_and_every_failure() -> None:
    text = markdown([attempt("m", "a|b", solved=False, reason="no"), attempt("m", "c", solved=True)], "line")
    assert "| m | 1 of 2 (50%) | 9% to 91% |" in text
    assert "| a\\|b | 0/1 |" in text and "| c | 1/1 |" in text
    assert "| m | a\\|b | 1 | no |" in text


def test_the_json_holds_scores_and_attempts() -> None:
    value = json.loads(json.dumps(as_json([attempt("m", "a", solved=True)], "line")))
    assert value["scores"][0]["share"] == 1.0 and value["attempts"][0]["case"]["task"] == "a"


# --- How far it is


class _Window(StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_what_breaks_attempts_off_is_said_at_the_first_and_once() -> None:
    window = _Window()
    progress = Progress(window, 4, 0)
    for model, task in (("a", "one"), ("a", "two"), ("b", "one")):
        reason = f"{BROKE_OFF}: there is no model {model!r}"
        progress.told(Attempt(Case(model, task, 1, "d"), solved=False, reason=reason, measures=Measures()))
    progress.told(Attempt(Case("c", "one", 1, "d"), solved=False, reason="wrong", measures=Measures()))
    lines = re.split(r"\n|\r\x1b\[K", window.getvalue())
    assert [line for line in lines if line and not line.startswith("[")] == [
        "a one: the attempt broke off: there is no model 'a'",
        "b one: the attempt broke off: there is no model 'b'",
    ]
    assert lines[-1] == "[########################] 4/4, 0/1 solved  c one"
