"""Scripted models that know a task's solution: one that does everything right, and one that writes its calls in the
sloppy forms of small models. What the second one solves is what the harness adds."""

import difflib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from llamagent_server.core.policy import Mode
from llamagent_server.errors import BadArgument
from llamagent_server.evaluation.tasks import ANSWER, Task

PERFECT, SLOPPY = "perfect", "sloppy"
MODELS = (PERFECT, SLOPPY)
_DONE = "Done: the change is made."


@dataclass(frozen=True, slots=True)
class Call:
    """`line`: where the text to find begins, from 1."""

    name: str
    arguments: Mapping[str, Any]
    line: int = 1


Reply = dict[str, Any]  # as the scripted provider plays it


def script(model: str, task: Task, seed: int) -> str:
    """The transcript that `model` plays for `task` (providers/scripted.py). Raises BadArgument without a solution."""
    if model not in MODELS:
        raise BadArgument(f"{model!r} is no scripted model; they are {' and '.join(MODELS)}.")
    if not (task.folder / "solution").is_dir():
        raise BadArgument(f"The task {task.name} has no solution/ that a scripted model could play.")
    chance = random.Random(f"{task.name} {seed}")
    replies = [
        reply for call in _calls(task) for reply in (_sloppy(call, chance) if model == SLOPPY else [_native(call)])
    ]
    return "".join(json.dumps(reply) + "\n" for reply in [*replies, {"content": _answer(task)}])


def _answer(task: Task) -> str:
    if task.mode is Mode.AGENT:
        return _DONE
    return (task.folder / "solution" / ANSWER).read_text("utf-8")


def _calls(task: Task) -> Iterator[Call]:
    """Look, then change, file by file."""
    yield Call("list_files", {})
    if task.mode is Mode.READ:
        return
    solution = task.folder / "solution"
    for path in sorted(path for path in solution.rglob("*") if path.is_file()):
        name, after = path.relative_to(solution).as_posix(), _text(path)
        before_file = task.files / name
        if not before_file.is_file():
            yield Call("write_file", {"path": name, "content": after})
            continue
        yield Call("read_file", {"path": name})
        yield from _edits(name, _text(before_file), after)


def _text(path: Path) -> str:
    """As the model sees it."""
    return path.read_bytes().decode("utf-8").replace("\r\n", "\n")


def _edits(name: str, before: str, after: str) -> Iterator[Call]:
    """One edit for each place that changed, each with enough lines around to be found once."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    changes = [
        code for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    now = before
    for _, first, last, new_first, new_last in reversed(changes):
        around = 0
        while True:
            start, end = max(0, first - around), min(len(old), last + around)
            wanted = "".join(old[start:end])
            if wanted.strip() and now.count(wanted) == 1:
                break
            if start == 0 and end == len(old):
                raise BadArgument(f"{name} has no place that could be named.")
            around += 1
        put = "".join([*old[start:first], *new[new_first:new_last], *old[last:end]])
        now = now.replace(wanted, put)
        yield Call("edit_file", {"path": name, "old_text": wanted, "new_text": put}, start + 1)


# --- How it is written ---------------------------------------------------------------------------------------------


def _native(call: Call) -> Reply:
    return {"tool_calls": [{"name": call.name, "arguments": dict(call.arguments)}]}


def _sloppy(call: Call, chance: random.Random) -> list[Reply]:
    """The replies of a small model that wants `call`."""
    faults = [fault for fault in _FAULTS if fault.fits(call)]
    return chance.choice(faults).make(call, chance)


@dataclass(frozen=True, slots=True)
class _Fault:
    fits: Callable[[Call], bool]
    make: Callable[[Call, random.Random], list[Reply]]


def _as_text(call: Call, chance: random.Random) -> list[Reply]:
    """The forms of wire.md's families that most small models fall back to."""
    inside = json.dumps({"name": call.name, "arguments": dict(call.arguments)})
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in call.arguments.items())
    forms = (
        f"<tool_call>\n{inside}\n</tool_call>",
        f"<tool_call>\n{inside}",
        f"I will do that now.\n\n```json\n{inside}\n```",
        f"<tool_call>\n<function={call.name}>\n{parameters}</function>\n</tool_call>",
        f"[TOOL_CALLS][{inside}]",
    )
    return [{"content": chance.choice(forms)}]


_NAMES = {
    "read_file": "read_local_file",
    "write_file": "create_file",
    "edit_file": "str_replace",
    "run_command": "bash",
}
_ARGUMENTS = {"path": "file_path", "old_text": "old_str", "new_text": "new_str", "command": "cmd"}


def _other_names(call: Call, _: random.Random) -> list[Reply]:
    arguments = {_ARGUMENTS.get(key, key): value for key, value in call.arguments.items()}
    return [_native(Call(_NAMES.get(call.name, call.name), arguments))]


def _as_string(call: Call, _: random.Random) -> list[Reply]:
    return [{"tool_calls": [{"name": call.name, "arguments": json.dumps(dict(call.arguments))}]}]


def _nothing_first(call: Call, _: random.Random) -> list[Reply]:
    """A swallowed call: an empty reply, then the call."""
    return [{"content": ""}, _native(call)]


def _outdented(call: Call, _: random.Random) -> list[Reply]:
    """The text to find without its indentation, as copied out of a quotation."""
    lines = [str(call.arguments[key]).split("\n") for key in ("old_text", "new_text")]
    width = min(_indent(line) for part in lines for line in part if line.strip())
    old, new = ("\n".join(line[width:] if line.strip() else line for line in part) for part in lines)
    return [_native(Call(call.name, {**call.arguments, "old_text": old, "new_text": new}))]


def _numbered(call: Call, chance: random.Random) -> list[Reply]:
    """The text to find with the numbers of its lines."""
    form = chance.choice(("{}: {}", "{:>6}\t{}"))
    lines = str(call.arguments["old_text"]).rstrip("\n").split("\n")
    old = "\n".join(form.format(number, line) for number, line in enumerate(lines, call.line))
    return [_native(replace(call, arguments={**call.arguments, "old_text": old + "\n"}))]


def _trailing(call: Call, _: random.Random) -> list[Reply]:
    """Blanks at the ends of lines, which the file does not have."""
    old = "".join(f"{line}  \n" for line in str(call.arguments["old_text"]).rstrip("\n").split("\n"))
    return [_native(Call(call.name, {**call.arguments, "old_text": old}))]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _any(_: Call) -> bool:
    return True


def _is_edit(call: Call) -> bool:
    return call.name == "edit_file"


def _is_indented_edit(call: Call) -> bool:
    texts = [str(call.arguments.get(key, "")).split("\n") for key in ("old_text", "new_text")]
    return _is_edit(call) and all(_indent(line) for part in texts for line in part if line.strip())


_FAULTS = (
    _Fault(_any, _as_text),
    _Fault(lambda call: call.name in _NAMES, _other_names),
    _Fault(lambda call: bool(call.arguments), _as_string),
    _Fault(_any, _nothing_first),
    _Fault(_is_indented_edit, _outdented),
    _Fault(_is_edit, _numbered),
    _Fault(_is_edit, _trailing),
)
