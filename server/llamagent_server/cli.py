"""argv -> one command of the table at the end, and nothing else. Each imports its world late: starts are measured."""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llamagent_server import __version__

if TYPE_CHECKING:
    from llamagent_server.core.messages import Json
    from llamagent_terminal.options import Options

USAGE_ERROR = 2
FAILED = 1
_WORKDIR = "LLAMAGENT_WORKDIR"
_OWN_FLAGS = ("-h", "--help", "--version")  # of no command

# Settings that the command line may set: flags, the setting's name, its type, its help.
_OVERRIDES: tuple[tuple[tuple[str, ...], str, type, str], ...] = (
    (("-m", "--model"), "model", str, "the model, such as qwen3.5:4b"),
    (("-t", "--temperature"), "temperature", float, "from 0 to 2"),
    (("--num-ctx",), "num_ctx", int, "the context window, in tokens"),
    (("--url",), "url", str, "the model server"),
    (("--provider",), "provider", str, "ollama, openai or embedded"),
)


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names (default: the process's) and return the exit code; 2 for a wrong one."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        parsed, unknown = _parser().parse_known_args(_with_command(given))
        if unknown:
            parsed.parser.error(_unknown(unknown))
    except SystemExit as ended:  # argparse has said what is wrong, or has shown the help
        return int(ended.code or 0)
    command: Command = parsed.row
    if (problem := _bad_override(parsed) or _no_folder(parsed)) is not None:
        return _wrong(problem)
    try:
        return command.run(parsed)
    except BrokenPipeError:  # whoever read our output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llamagent-server",
        description="A coding agent on a local model, as a language server: it proposes, you review.",
        epilog="Without a command it serves an editor over stdio. `llamagent-server COMMAND --help` says more.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"llamagent-server {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for row in COMMANDS:
        added = commands.add_parser(row.name, help=row.help, description=_sentence(row.help), allow_abbrev=False)
        row.arguments(added)
        added.set_defaults(row=row, parser=added)
    return parser


def _with_command(given: list[str]) -> list[str]:
    """Editors start `llamagent-server --stdio`: options without a command are those of `serve`."""
    named = given and (not given[0].startswith("-") or given[0] in _OWN_FLAGS)
    return given if named else ["serve", *given]


def _unknown(arguments: Sequence[str]) -> str:
    return f"unrecognized arguments: {' '.join(arguments)}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


# --- Arguments -----------------------------------------------------------------------------------------------------


def _add_overrides(parser: argparse.ArgumentParser, rest: str = "~/.llamagent and the project") -> None:
    group = parser.add_argument_group("settings", f"for this run; the rest comes from {rest}")
    for flags, name, kind, words in _OVERRIDES:
        group.add_argument(*flags, dest=name, type=kind, metavar=name.upper(), help=words)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="over stdin and stdout (the default)")
    where.add_argument("--tcp", type=_address, metavar="HOST:PORT", help="over TCP; needs --token-file")
    parser.add_argument("--token-file", type=Path, metavar="F", help="holds the word that clients must say")
    _add_log_file(parser)
    _add_overrides(parser)


def _add_conversation(parser: argparse.ArgumentParser) -> None:
    words = "go on with the newest conversation"
    parser.add_argument("-c", "--continue", dest="resume", action="store_true", help=words)
    parser.add_argument("--read", action="store_true", help="only look: edits and commands are refused")
    _add_folder(parser)
    brought = "settings, skills, instructions, conversations"
    parser.add_argument("--trust", action="store_true", help=f"trust what the folder brings: {brought}")
    _add_log_file(parser)
    _add_overrides(parser)


def _add_ask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", help="what to do; - or nothing: read it from stdin")
    answers = parser.add_mutually_exclusive_group()
    answers.add_argument("--yes", action="store_true", help="accept every edit and command without asking")
    answers.add_argument("--no", action="store_true", help="refuse every edit and command without asking")
    parser.add_argument("--json", action="store_true", help="print the trace, one event a line, then the result")
    _add_conversation(parser)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    _add_overrides(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="its id, or its number: 1 is the newest; none lists them"
    )
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="(default: markdown)")
    _add_folder(parser)


def _add_eval(parser: argparse.ArgumentParser) -> None:
    words = "a task, or a folder of tasks (default: the ones that come along)"
    parser.add_argument("tasks", nargs="?", type=_folder, metavar="TASKS", help=words)
    parser.add_argument("--models", type=_names, default=(), metavar="A,B", help="the models to compare")
    words = "also without each of the harness's recoveries, and without any: what they add"
    parser.add_argument("--ablate", action="store_true", help=words)
    words = "at most so many steps in each task, for a quick look"
    parser.add_argument("--steps", type=_count, metavar="N", help=words)
    parser.add_argument("--runs", type=_count, default=1, metavar="N", help="how often each task is tried (1)")
    parser.add_argument("--jobs", type=_count, default=1, metavar="N", help="how many at a time (1)")
    words = "where attempts are kept and reports written; an evaluation goes on from there (llamagent-eval)"
    parser.add_argument("--out", type=Path, default=Path("llamagent-eval"), metavar="D", help=words)
    _add_overrides(parser, "~/.llamagent")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    words = f"the project's folder (default: what {_WORKDIR} names, else this one)"
    parser.add_argument("--dir", "--workspace", type=_folder, metavar="D", help=words)


def _no_folder(given: argparse.Namespace) -> str | None:
    """Settle which folder is meant where none was named; what is wrong with it, None where nothing is."""
    if "dir" not in given:
        return None
    given.named = given.dir is not None or bool(os.environ.get(_WORKDIR))
    if given.dir is None:
        named = os.environ.get(_WORKDIR) or "."
        given.dir = Path(named).resolve()
        if not given.dir.is_dir():
            return f"{_WORKDIR} names {named!r}, which is no folder"
    return None


def _add_log_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--log-file", type=Path, metavar="F", help="the daemon's log, also in this file")


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:9257")
    return host.strip("[]"), int(port)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("name at least one model")
    return names


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 1000")
    return int(text)


def _folder(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return path


# --- Commands ------------------------------------------------------------------------------------------------------


def _serve(given: argparse.Namespace) -> int:
    if given.tcp is None and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return _wrong(
            "an editor starts this, over pipes. In a terminal: llamagent-server chat, or llamagent-server --help"
        )
    gc.disable()  # what is imported stays: to look for garbage in it takes a fifth of the start
    from llamagent_server.lsp.main import ServeOptions, serve_stdio, serve_tcp

    gc.freeze()
    gc.enable()
    if given.tcp is None:
        return serve_stdio(ServeOptions(overrides=_overrides(given), log_file=given.log_file))
    if given.token_file is None:
        return _wrong("serve --tcp needs --token-file F: a file whose content clients must send as the token")
    host, port = given.tcp
    return serve_tcp(
        ServeOptions(
            overrides=_overrides(given), log_file=given.log_file, host=host, port=port, token_file=given.token_file
        )
    )


def _ask(given: argparse.Namespace) -> int:
    text = " ".join(given.text)
    if given.text in ([], ["-"]):
        if sys.stdin is None or sys.stdin.isatty():
            return _wrong('say what to do: llamagent-server ask "text"')
        text = sys.stdin.read()
    if not text.strip():
        return _wrong("there is nothing to ask: the text is empty")
    from llamagent_terminal.ask import ask

    return ask(text, _options(given))


def _chat(given: argparse.Namespace) -> int:
    from llamagent_terminal.chat import chat

    return chat(_options(given))


def _doctor(given: argparse.Namespace) -> int:
    from llamagent_server.doctor import doctor

    return doctor(_overrides(given), given.dir)


def _export(given: argparse.Namespace) -> int:
    from llamagent_server.export import export

    return export(given.session, given.format, given.dir)


def _demo(_given: argparse.Namespace) -> int:
    from llamagent_server.demo import demo

    return demo()


def _eval(given: argparse.Namespace) -> int:
    from llamagent_server.evaluation.command import Plan, evaluate
    from llamagent_server.evaluation.tasks import SHIPPED

    overrides = _overrides(given)
    tasks, out = given.tasks or SHIPPED, given.out.resolve()
    plan = Plan(tasks, given.models, given.runs, given.jobs, out, overrides, given.steps, ablate=given.ablate)
    return evaluate(plan)


def _options(given: argparse.Namespace) -> "Options":
    from llamagent_terminal.client import serve_command
    from llamagent_terminal.options import Consent, Options

    named = vars(given)
    return Options(
        folder=given.dir,
        daemon=serve_command(*_serve_flags(given)),
        consent=Consent.YES if named.get("yes") else Consent.NO if named.get("no") else Consent.ASK,
        read_only=given.read,
        json=named.get("json", False),
        resume=given.resume,
        trust=given.trust,
        named=given.named,
    )


def _overrides(given: argparse.Namespace) -> "dict[str, Json]":
    return {name: value for _, name, _, _ in _OVERRIDES if (value := getattr(given, name, None)) is not None}


def _bad_override(given: argparse.Namespace) -> str | None:
    """What is wrong with the settings on the command line, None where nothing is."""
    overrides = _overrides(given)
    if not overrides:
        return None
    from llamagent_server.errors import BadSetting
    from llamagent_server.settings import Provider, validate_one

    # A transcript to play is chosen here only, and its "url" is a path: no rule of the settings fits either.
    unchecked = ("provider", "url") if overrides.get("provider") == Provider.SCRIPTED else ()
    try:
        for key, value in overrides.items():
            if key not in unchecked:
                validate_one(key, value)
    except BadSetting as error:
        return str(error)
    return None


def _serve_flags(given: argparse.Namespace) -> tuple[str, ...]:
    """The overrides as flags for the daemon that the client starts."""
    flags = [f"{flag[-1]}={value}" for flag, name, _, _ in _OVERRIDES if (value := getattr(given, name)) is not None]
    return (*flags, *([f"--log-file={given.log_file}"] if given.log_file is not None else []))


def _wrong(words: str) -> int:
    sys.stderr.write(f"llamagent-server: {words}\n")
    return USAGE_ERROR


COMMANDS: tuple[Command, ...] = (
    Command("serve", "speak LSP with an editor", _add_serve, _serve),
    Command("ask", "let the model answer or do something, once", _add_ask, _ask),
    Command("chat", "talk with the model", _add_conversation, _chat),
    Command("demo", "see it work: a tiny model does a small job in a temporary folder", lambda _: None, _demo),
    Command("export", "write a stored conversation as Markdown or JSON", _add_export, _export),
    Command("doctor", "look for what is missing or wrong, and say what to do", _add_doctor, _doctor),
    Command("eval", "measure models on tasks: which solve how many, and at what cost", _add_eval, _eval),
)
