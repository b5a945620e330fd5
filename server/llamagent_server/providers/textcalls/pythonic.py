"""Calls written as Python: `read_file(path="a.py", start=1)`, alone, in a list, or in `print(...)`."""

import re

from llamagent_server.core.messages import Json
from llamagent_server.providers.textcalls.objects import TextCall, Tools
from llamagent_server.providers.textcalls.values import Unreadable, Work, after_space, put, read_loose

_HEAD = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_PRINT = re.compile(r"print\s*\(\s*(?=[A-Za-z_][\w.]*\s*\()")


def read_pythonic(text: str, at: int, tools: Tools, work: Work) -> tuple[list[TextCall], int] | None:
    """The call at `at`, or the list of calls, and its end; None where none begins. Raises Unreadable."""
    if printed := _PRINT.match(text, at):
        call = _call(text, printed.end(), tools, work)
        return ([call[0]], _expect(text, call[1], ")")) if call else None
    if not text.startswith("[", at):
        call = _call(text, at, tools, work)
        return ([call[0]], call[1]) if call else None
    return _list(text, at, tools, work)


def _list(text: str, at: int, tools: Tools, work: Work) -> tuple[list[TextCall], int] | None:
    found: list[TextCall] = []
    at = after_space(text, at + 1)
    while (call := _call(text, at, tools, work)) is not None:
        found.append(call[0])
        at = after_space(text, call[1])
        if not text.startswith(",", at):
            return found, _expect(text, at, "]")
        at = after_space(text, at + 1)
    return (found, _expect(text, at, "]")) if found else None


def _call(text: str, at: int, tools: Tools, work: Work) -> tuple[TextCall, int] | None:
    head = _HEAD.match(text, at)
    if head is None:
        return None
    name = head[1].removesuffix(".call")
    found: dict[str, Json] = {}
    unnamed = iter(tools.order(name))
    at = after_space(text, head.end())
    while not text.startswith(")", at):
        if keyword := _KEYWORD.match(text, at):
            key, at, unnamed = keyword[1], keyword.end(), iter(())
        elif not (key := next(unnamed, "")):
            raise Unreadable("an argument in it has no name")
        value, at = read_loose(text, at, work, code=True)
        put(found, key, value)
        at = after_space(text, at)
        if text.startswith(",", at):
            at = after_space(text, at + 1)
        elif not text.startswith(")", at):
            raise Unreadable("its closing parenthesis is missing")
    match list(found.values()):
        case [dict() as arguments]:  # all of them as one object
            return TextCall(name, arguments), at + 1
        case _:
            return TextCall(name, found), at + 1


def _expect(text: str, at: int, mark: str) -> int:
    at = after_space(text, at)
    if not text.startswith(mark, at):
        raise Unreadable(f"its closing {mark} is missing")
    return at + 1
