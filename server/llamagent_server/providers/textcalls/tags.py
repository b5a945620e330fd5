"""Calls whose arguments stand between tags: Qwen's `<parameter=p>`, XML's `<parameter name="p">`, GLM's `<arg_key>`.

A value is raw text, and may hold the same tags. It ends at the closing tag that balances its own tags; where none
does, at the first place where the call goes on or ends: missing closing tags are forgiven, a value without any end is
not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llamagent_server.core.messages import Json
from llamagent_server.providers.textcalls.objects import TextCall, Tools, arguments_of, read_value
from llamagent_server.providers.textcalls.tokens import BOUNDARY, CLOSE, PREFIX
from llamagent_server.providers.textcalls.values import Unreadable, Work, after_space, put

_NAME = r"[\"']?(?P<name>[A-Za-z_][\w.\-]*)[\"']?"
_KEY = r"[\"']?(?P<key>[A-Za-z_][\w.\-]*)[\"']?"
_REST = r"[^<>]{0,80}>"  # further attributes
# How a call is opened, and how the next one may follow; group `name` is the tool's.
_FUNCTION = rf"<{PREFIX}function\s*=\s*{_NAME}\s*(?:>|(?=\{{))"
_INVOKE = rf"<{PREFIX}(?:invoke|function|tool_call|call)\s+name\s*=\s*{_NAME}{_REST}"
_GLM = r"(?P<name>[A-Za-z_][\w.\-]*)\s*(?=<arg_key>)"
OPENERS = re.sub(r"\?P<name>", "?:", f"{_FUNCTION}|{_INVOKE}")


@dataclass(frozen=True, slots=True)
class _Style:
    """How a family writes. `key` opens an argument (group `key`), `end` closes it, `over` closes the call; `tag` finds
    each of these; `goes_on` is what may stand after a value, `ends` what may stand after a call."""

    call: re.Pattern[str]
    key: re.Pattern[str]
    over: re.Pattern[str]
    tag: re.Pattern[str]
    goes_on: re.Pattern[str]
    ends: re.Pattern[str]


def _style(call: str, key: str, end: str, over: str) -> _Style:
    closers = rf"(?:\s*(?:{over}|{CLOSE}))*+"
    ends = rf"{closers}(?:{BOUNDARY.pattern}|\s*(?:{OPENERS}))"
    return _Style(
        call=re.compile(call),
        key=re.compile(rf"\s*{key}"),
        over=re.compile(rf"\s*(?:{over})"),
        tag=re.compile(rf"(?P<opens>{key})|(?P<ends>{end})|(?P<over>{over}|{CLOSE})"),
        goes_on=re.compile(rf"\s*(?:{re.sub('P<key>', ':', key)}|{ends})"),
        ends=re.compile(ends),
    )


_END = rf"</{PREFIX}param(?:eter)?>"
STYLES = (
    _style(_FUNCTION, rf"<{PREFIX}param(?:eter)?\s*=\s*{_KEY}\s*>", _END, rf"</{PREFIX}function>"),
    _style(
        _INVOKE,
        rf"<{PREFIX}param(?:eter)?\s+name\s*=\s*{_KEY}{_REST}",
        _END,
        rf"</{PREFIX}(?:invoke|function|tool_call|call)>",
    ),
    _style(_GLM, rf"<arg_key>\s*{_KEY}\s*(?:</arg_key>)?\s*<arg_value>", r"</arg_value>", r"</tool_call>"),
)


def read_tags(text: str, at: int, tools: Tools, work: Work) -> tuple[TextCall, int] | None:
    """The call that a tag at `at` opens, and its end; None where none does. Raises Unreadable."""
    for style in STYLES:
        if opening := style.call.match(text, at):
            return _call(text, opening, style, tools, work)
    return None


def _call(text: str, opening: re.Match[str], style: _Style, tools: Tools, work: Work) -> tuple[TextCall, int] | None:
    name, start = opening["name"], opening.end()
    inside = after_space(text, start)
    arguments: Mapping[str, Json]
    if text.startswith("{", inside):
        value, end = read_value(text, inside, tools, work, lambda found: _fits(name, found, tools))
        arguments = arguments_of(name, value, tools, work)
    else:
        arguments, end = _arguments(text, start, style, frozenset(tools.order(name)), work)
        if not arguments and not style.ends.match(text, end):
            return None
    over = style.over.match(text, end)
    return TextCall(name, arguments), over.end() if over else end


def _fits(name: str, value: Json, tools: Tools) -> bool:
    return isinstance(value, dict) and tools.fits(TextCall(name, value))


def _arguments(text: str, at: int, style: _Style, known: frozenset[str], work: Work) -> tuple[dict[str, Json], int]:
    """The arguments that begin at `at`, and where the last of them ends."""
    found: dict[str, Json] = {}
    while key := style.key.match(text, at):
        end, at = _value_end(text, key, style, known - found.keys(), work)
        put(found, key["key"], _without_line_ends(text[key.end() : end]))
    return found, at


def _value_end(text: str, key: re.Match[str], style: _Style, missing: frozenset[str], work: Work) -> tuple[int, int]:
    """Where the value of `key` ends and where the text goes on. `missing`: the arguments that were not given yet."""
    work.spend(1 + (len(text) - key.end()) // 500)
    found = _balanced(text, key.end(), style, work) or _first(text, key, style, missing, work)
    if found is None:
        raise Unreadable(f"the value of {key['key']!r} has no end")
    return found


def _balanced(text: str, at: int, style: _Style, work: Work) -> tuple[int, int] | None:
    depth = 0
    for tag in style.tag.finditer(text, at):
        work.spend()
        if tag["opens"]:
            depth += 1
        elif tag["ends"] and depth:
            depth -= 1
        elif tag["ends"] and style.goes_on.match(text, tag.end()):
            return tag.span()
    return None


def _first(text: str, key: re.Match[str], style: _Style, missing: frozenset[str], work: Work) -> tuple[int, int] | None:
    """The first place where the value may end; where the answer goes on after the call, the first closing tag."""
    closing: tuple[int, int] | None = None
    for tag in style.tag.finditer(text, key.end()):
        work.spend()
        if tag["opens"] and tag["key"] in missing - {key["key"]} and text[tag.start() - 1] == "\n":
            return tag.start(), tag.start()
        if tag["over"] and style.ends.match(text, tag.start()):
            return tag.start(), tag.start()
        if tag["ends"] and style.goes_on.match(text, tag.end()):
            return tag.span()
        if tag["ends"] and closing is None:
            closing = tag.span()
    return closing


def _without_line_ends(value: str) -> str:
    """One line end right after the opening tag and one right before the closing tag belong to the markup."""
    value = value[2:] if value.startswith("\r\n") else value.removeprefix("\n")
    return value[:-2] if value.endswith("\r\n") else value.removesuffix("\n")
