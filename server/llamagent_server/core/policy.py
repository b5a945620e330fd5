"""What the harness decides about a call before anything happens: allow, ask the person, or refuse."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from llamagent_server.core.events import Decision
from llamagent_server.core.secrets import names_secret
from llamagent_server.setting_rules import ASSIGNMENT, PLAIN


class Mode(StrEnum):
    AGENT = "agent"
    READ = "read"  # edits and commands are refused; the tools sent stay the same


@dataclass(frozen=True, slots=True)
class Verdict:
    decision: Decision
    reason: str


READS = Verdict(Decision.ALLOW, "it only reads")
EDITS = Verdict(Decision.ASK, "an edit needs your yes")
READ_MODE = Verdict(
    Decision.REFUSE,
    "this is a read-only turn: edits and commands are refused. Describe the change in your answer instead.",
)
REFUSED_BEFORE = Verdict(
    Decision.REFUSE,
    "the user refused this command in this turn and is not asked again. Do without it, or say in your answer what the "
    "user should run.",
)

# Options known to write a file, or to execute or load something, in the programs that people allow.
_RISKY_LONG = frozenset(
    (
        "output out outfile output-file outdir exec execute exec-path exec-batch ext-diff textconv pager toolexec "
        "open-files-in-pager upload-pack receive-pack config config-file config-env rootdir confcutdir plugin plugins "
        "require import load load-plugins loader experimental-loader eval command init-file rcfile write in-place fix "
        "save update target directory file cov-report cov-config junitxml junit-xml junit-prefix log-file basetemp pre "
        "post pdb pdbcls trace debug pastebin run-command compress-program use-compress-program to-command "
        "checkpoint-action files-from delete fprint fprint0 fprintf fls execdir ok okdir override-ini "
        "resultlog result-log report-log script-shell prefix git-dir work-tree hostname-bin search-zip vettool "
        "modfile overlay install-types globals-setup snapshot-update updatesnapshot expression extcmd no-index "
        "python-executable shadow-file cache-dir cache-location cache-file html-report txt-report xml-report "
        "xslt-html-report xslt-txt-report cobertura-xml-report linecount-report linecoverage-report "
        "lineprecision-report any-exprs-report html add-noqa node-options shell userconfig globalconfig manifest-path "
        "target-dir artifact-dir lockfile-path declarationdir tsbuildinfofile generatetrace generatecpuprofile "
        "test-reporter test-reporter-destination results-directory init-script wrapper fplugin"
    ).split()
)
# A longer name that begins so is one too: --output-dir, --exec-prefix, --require-module.
_RISKY_STEMS = ("out", "exec", "plugin", "load", "require", "write", "config", "script", "save", "dump")
# Whole names of harmless options that would else be taken for the beginning of a risky one.
_HARMLESS_LONG = frozenset({"co", "files", "log", "pretty"})
_RISKY_SHORT: dict[str, str] = {
    "git": "cOox",
    "pytest": "pco",
    "python": "cm",
    "python3": "cm",
    "node": "epr",
    "ruby": "eri",
    "perl": "eiMm",
    "sort": "oT",
    "sed": "ief",
    "awk": "fi",
    "tar": "IFf",
    "curl": "oOKT",
    "wget": "OoiP",
    "make": "fCIE",
    "tree": "o",
    "rg": "z",
    "fd": "xX",
    "fdfind": "xX",
    "less": "oO",
    "env": "S",
    "go": "oC",
    "gofmt": "w",
    "goimports": "w",
    "prettier": "w",
    "shfmt": "w",
    "yq": "i",
    "clang-format": "i",
    "autopep8": "i",
    "yapf": "i",
    "gradle": "Ip",
    "mvn": "f",
    "cc": "o",
    "gcc": "o",
    "clang": "o",
    "rustc": "oC",
}
# Subcommands of git that run what they are given, or change what git runs later.
_GIT_RUNS = frozenset(
    "bisect config daemon difftool filter-branch for-each-repo hook instaweb maintenance mergetool send-email "
    "submodule".split()
)
_GIT_RUNS_WORD = (("bisect", "run"), ("submodule", "foreach"))
# The scripts of sed that only print, leave out or replace: others can write any file, and run programs.
_SED_READS = re.compile(r"[0-9]*(?:,\+?[0-9]+)?[pdq=]|/[^/]*/[pd]|s/[^/]*/[^/]*/[gpI0-9]*")
# Programs that write the last of two names.
_WRITES_SECOND = frozenset({"uniq", "xxd"})
# Elsewhere a word with @ before it may be a file of further options.
_AT_IS_NO_FILE = frozenset("git npm npx pnpm yarn bun deno".split())
# Programs that take NAME=VALUE words, and run what some of these say.
_TAKES_ASSIGNMENTS = frozenset({"make", "gmake", "env", "just"})


def may_run(command: str, allowed: Iterable[str]) -> bool:
    """Whether `command` runs without asking: plain words that start with an allowed prefix, word by word, and of which
    no later word is an option known to write a file or to execute or load something, and none names a file with keys.
    In doubt, no."""
    if not PLAIN.fullmatch(command):
        return False
    words = command.split(" ")
    words = [word for word in words if word]
    if not words or ASSIGNMENT.match(words[0]) or any(names_secret(word) for word in words):
        return False
    return any(_allows(words, prefix.split()) for prefix in allowed)


def _allows(words: list[str], prefix: list[str]) -> bool:
    if not prefix or words[: len(prefix)] != prefix:
        return False
    program, rest = _program(prefix), words[len(prefix) :]
    if _runs_operands(program, words, len(prefix)):
        return False
    return not any(_is_risky(program, word) for word in rest)


def _runs_operands(program: str, words: list[str], allowed: int) -> bool:
    """Whether the words that are no options say what to run or to write; the first `allowed` ones are the person's."""
    rest = words[allowed:]
    operands = [index for index, word in enumerate(words) if index and not word.startswith("-")]
    if program == "git":
        # Before its subcommand git takes another folder, whose settings say what it runs.
        if allowed == 1 and (any(word.startswith("-C") for word in rest) or _GIT_RUNS.intersection(rest)):
            return True
        return any(words[1] == command and run in rest for command, run in _GIT_RUNS_WORD if len(words) > 1)
    if program == "sed" and operands and operands[0] >= allowed:
        return _SED_READS.fullmatch(words[operands[0]]) is None
    return program in _WRITES_SECOND and len(operands) > 1 and operands[-1] >= allowed


def _program(prefix: list[str]) -> str:
    if len(prefix) >= 3 and prefix[0].startswith("python") and prefix[1] == "-m":
        return prefix[2]
    return prefix[0].rsplit("/", 1)[-1]


def _is_risky(program: str, word: str) -> bool:
    if program in _TAKES_ASSIGNMENTS and ASSIGNMENT.match(word):
        return True
    if word.startswith("@") and program not in _AT_IS_NO_FILE:
        return True
    if not word.startswith("-") or word == "--" or word == "-":
        return False
    name = word.lstrip("-").split("=", 1)[0].lower()
    if word.startswith("--"):
        return _is_risky_long(name)
    # Some programs spell long options with one dash: find -exec, go test -toolexec.
    return (len(name) > 1 and name in _RISKY_LONG) or any(
        letter in _RISKY_SHORT.get(program, "") for letter in word[1:]
    )


def _is_risky_long(name: str) -> bool:
    if name in _HARMLESS_LONG:
        return False
    # Programs accept any unambiguous beginning of a long option.
    return any(risky.startswith(name) for risky in _RISKY_LONG) or name.startswith(_RISKY_STEMS)
