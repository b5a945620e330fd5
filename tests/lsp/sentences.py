"""Every sentence that the source writes for a person, as the catalogues spell it: places in braces, numbered.

A sentence is a text of more than one word that begins like one and ends like one. Where a module speaks to the model,
to the log, or to who writes a client, its name stands below with the reason; single such texts stand by themselves.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llamagent_server
from llamagent_server.core.policy import EDITS, READS
from llamagent_server.lsp.wire import COMMANDS
from llamagent_server.lsp.wire_slash import WORDS
from llamagent_server.settings import SETTINGS
from llamagent_server.store.skill_headers import KEYS
from llamagent_server.store.skills import NEW

SERVER = Path(llamagent_server.__file__).parent

NOT_FOR_A_PERSON = {
    "evaluation": "a program of its own, in English",
    "cli.py": "the command line, in English",
    "doctor.py": "the command line, in English",
    "demo.py": "the command line, in English",
    "export.py": "the command line, in English",
    "model_offer.py": "the command line, in English",
    "tools": "results for the model",
    "workspace": "results for the model",
    "processes": "results for the model, and reasons in them",
    "skills": "for the model",
    "agent/compaction.py": "for the model",
    "agent/constrained.py": "for the model",
    "agent/examples.py": "for the model",
    "agent/nudges.py": "for the model, but for its hints",
    "agent/prompt.py": "for the model",
    "agent/stalling.py": "for the model, but for what a person is told of one",
    "agent/problems.py": "results for the model",
    "agent/arguments.py": "results for the model",
    "core/edits.py": "results for the model",
    "core/exporting.py": "the exported document, in English",
    "core/places.py": "results for the model",
    "providers/textcalls": "for the model",
    "providers/toolcall_text.py": "for the model",
    "providers/toolcalls.py": "for the model",
    "providers/recovery.py": "for the model",
    "providers/scripted.py": "for who writes a transcript",
    "lsp/protocol.py": "for who writes a client",
    "lsp/strict.py": "for who writes a client",
    "lsp/framing.py": "for who writes a client",
    "lsp/documents.py": "for who writes a client",
    "lsp/changes.py": "for who writes a client",
    "lsp/main.py": "the command line, in English",
    "lsp/serving.py": "the log",
    "lsp/transport.py": "the log",
    "store/project_files.py": "the files that `init` makes",
}
FOR_THE_MODEL = re.compile(
    r"old_text|new_text|Your reply|Read .* again|Do something else|\(The same output|^You made this same|call the tool"
    r"|The user (refused|rejected)|Not run:|There is no tool|This edit of|Together with|The edit of|I have |Understood:"
    r"|The editor reports|^Use \{0\}|Do without it|(?i:their words)|Note:|This call was not|^Follow this skill"
    r"|your answer"
)
_SENTENCE = re.compile(r"[A-Z{\"`/@].*[.?!…:]", re.DOTALL)
_ENDS = re.compile(r"(?<=[.?!]) |(?<=\{\d\}) (?=[A-Z])")
_NAMED = re.compile(r"\{[a-z_]+\}")


def texts(module: ast.Module) -> Iterator[str]:
    """Every text of a module but for docstrings, what goes to a log, and what says that the code is wrong."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
            skipped.update(spec for place in node.values for spec in ast.walk(place) if isinstance(spec, ast.JoinedStr))
        elif isinstance(node, ast.Call) and re.match(r"_log\.|(re\.|Type|Value|Runtime)", ast.unparse(node.func)):
            skipped.update(ast.walk(node))
    for node in ast.walk(module):
        if node in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{_}" for v in node.values)


def numbered(text: str) -> str:
    """`text` with its places, whatever their names, numbered in their order."""
    numbers = iter(range(10))
    return _NAMED.sub(lambda _: f"{{{next(numbers)}}}", text)


@cache
def sentences() -> frozenset[str]:
    found: set[str] = set()
    for path in SERVER.rglob("*.py"):
        name = path.relative_to(SERVER).as_posix()
        if any(name == other or name.startswith(f"{other}/") for other in NOT_FOR_A_PERSON):
            continue
        found.update(numbered(text.strip()) for text in texts(ast.parse(path.read_text(encoding="utf-8"))))
    return frozenset(text for text in found if _is_sentence(text))


def _is_sentence(text: str) -> bool:
    words = re.sub(r"\{\d\}", "", text)
    plain = "\n" not in text and "\\" not in text and " " in text
    return (
        plain
        and bool(_SENTENCE.fullmatch(text))
        and bool(re.search("[a-z]{2}", words))
        and not FOR_THE_MODEL.search(text)
    )


def single(text: str) -> list[str]:
    """The sentences of a text, but for those that are nothing but places."""
    return [normal(one) for one in _ENDS.split(text) if re.search("[A-Za-z]{2}", re.sub(r"\{\w+\}", "", one))]


def normal(text: str) -> str:
    """`text` with its places numbered from 0, whatever they were called."""
    return numbered(re.sub(r"\{\w+(:t)?\}", "{_}", text))


# What is put together of parts that are no sentences: as a person reads it.
PUT_TOGETHER: dict[str, tuple[str, ...]] = {
    "The skill {0} {1}.": (f"The skill {{0}} {NEW}.",),
    "The file {0} of the skill {1} {2}.": (f"The file {{0}} of the skill {{1}} {NEW}.",),
    "The conversation{0} does not fit the context of {1}.": (
        "The conversation does not fit the context of {0}.",
        "The conversation ({0} tokens) does not fit the context of {1}.",
    ),
    "Allowed commands ask in this folder, which {0}.": (
        "Allowed commands ask in this folder, which is not trusted.",
        "Allowed commands ask in this folder, which is not trusted and decides what they run ({0}).",
    ),
    "{0} reported an error in its reply{1}.": ("{0} reported an error in its reply: {1}.",),
    "{0} failed with HTTP {1}{2}.": ("{0} failed with HTTP {1}.",),
    "What answers at {0} is not {1} (HTTP {2}{3}).": ("What answers at {0} is not {1} (HTTP {2}).",),
    "{0} {1}, so it stays as it is.": tuple(
        f"{{0}} {reason}, so it stays as it is."
        for reason in (
            "is not there any more",
            "was created by it and changed since",
            "is there again",
            "was changed since, in the same lines",
        )
    ),
    "{0}{1}. The header is not read.": (
        "This is no valid YAML: {0}.",
        "The header is longer than {0} characters.",
        "The header has too many brackets.",
        "The header has too many values.",
        "The header is nested too deeply.",
        "The header must have lines of the form `key: value`.",
        "A key must be one word.",
    ),
}
# What is no sentence by itself, or stands in a table.
PHRASES = (
    *(text for command in COMMANDS for text in (command.title, command.help)),
    *(row.help for row in WORDS if row.help),
    *(setting.help for setting in SETTINGS),
    *(text for key in KEYS for text in (key.help, key.allowed)),
    *(verdict.reason for verdict in (READS, EDITS)),
    "a command needs your yes",
    "the model says again and again what it will do, and does nothing",
    "the model asks again and again what you have answered",
    "the model goes round in circles ({0})",
    "the model made the same call ({0}) {1} times in a row",
    "the same call as {0}, with nothing changed between",
    "about {0} of {1} tokens are used",
    "you allowed this command for the session",
    "it is one of your allowed commands",
    "Waiting for the model, {0} s.",
    "Say it in other words, or try another model.",
    "Set `think` to false, raise num_ctx, or try another model.",
    "Choose a model with tools, such as qwen3.5:4b.",
    "recovered from a call that was written as text",
    "line numbers",
    "indentation",
    "blank lines around it",
    "the final newline",
    "it drops {0} lines of the file",
    "create {0}",
    "rewrite {0}",
    "edit {0}",
    "set up the project",
    "undo: {0}",
    "ignored the argument {0}, which {1} does not have",
    "read {0} {1} as {2}",
    "system",
    "tools",
    "conversation",
    "tool results",
    "{0} (current, {1})",
    "{0} ({1} messages, {2}, current)",
    "{0} ({1} messages, {2}, damaged)",
    "The model gave no usable summary.",
    "Try again, or choose another model.",
    "{0} (default)",
    "{0} (editor)",
    "{0} (session)",
    "{0} (command line)",
    "default",
    "editor",
    "session",
    "command line",
    "{0}, with nothing changed between",
    "{0}: each of its steps is constrained by a JSON schema instead",
    "{0} cannot be given tools",
    "{0} cannot be given tools: {1}",
    "{0} wrote nothing usable twice in a row",
    "remembered from {0}: {1}",
    "{0} is no folder",
    "{0} cannot be used ({1})",
    "{0} is a link, which is not followed",
    "{0}: {1} of {2} GB",
    "{0}: {1} of {2} MB",
)
