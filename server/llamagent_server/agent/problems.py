"""What the editor reports of a file right after an accepted edit, in few words for the model: new problems first."""

import asyncio
from collections.abc import Mapping, Sequence

from llamagent_server.agent.ports import Problem
from llamagent_server.agent.session import Session
from llamagent_server.core.diffs import matching, split_lines
from llamagent_server.core.proposals import FileChange

SECONDS = 2.0  # for the editor to answer
MOST = 5  # that are told of a file
WIDTH = 160  # characters of one


async def problems_after(session: Session, changes: Sequence[FileChange]) -> Mapping[str, str]:
    """For each URI of `changes`, which were accepted, what the model should know; no entry where there is nothing to
    tell. Problems that were told of a file before come last."""
    try:
        async with asyncio.timeout(SECONDS):
            found = await session.ports.editor.problems([change.uri for change in changes])
    except TimeoutError:
        return {}
    told = {change.uri: _told(session, change, found[change.uri]) for change in changes if change.uri in found}
    return {uri: words for uri, words in told.items() if words}


def _told(session: Session, change: FileChange, problems: Sequence[Problem]) -> str:
    before = session.problems.get(change.uri, frozenset())
    session.problems[change.uri] = frozenset(problem.text for problem in problems)
    if not problems:
        return f"The editor reports no more problems in {change.path}." if before else ""
    old, now = split_lines(change.before or ""), split_lines(change.after)
    kept = {number + 1 for _, number in matching(old, now)}
    # Where nothing was told of the file before, those in the edited lines are likely the new ones.
    ordered = sorted(problems, key=lambda p: (p.text in before, p.line in kept, p.severity != "error", p.line))
    new = sum(problem.text not in before for problem in problems)
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    of_which = f", {new or 'none'} of them new" if before and new < len(problems) else ""
    more = [f"[{len(ordered) - MOST} more]"] if len(ordered) > MOST else []
    return "\n".join([f"The editor reports {count} in {change.path}{of_which}:", *map(_line, ordered[:MOST]), *more])


def _line(problem: Problem) -> str:
    text = problem.text if len(problem.text) <= WIDTH else problem.text[: WIDTH - 1] + "…"
    return f"{problem.line}: {problem.severity}: {text}"
