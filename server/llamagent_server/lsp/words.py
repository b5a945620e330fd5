"""What a person reads in questions, actions and notices of the edge: the English, which the catalogues translate."""

from dataclasses import dataclass, fields
from functools import cache

from llamagent_server.lsp.catalogue import catalogue, language


@dataclass(frozen=True, slots=True)
class Words:
    """Titles of buttons and actions, and sentences with named places."""

    accept: str = "Accept"
    reject: str = "Reject"
    show_diff: str = "Show diff"
    run: str = "Run"
    run_with_network: str = "Run with network"
    always: str = "Always in this session"
    refuse: str = "Refuse"
    trust: str = "Trust"
    not_now: str = "Not now"
    edit: str = "llamagent proposes an edit: {files}"
    command: str = "llamagent wants to run in {cwd}, {how}: {command}"
    left_out: str = "{count} lines are left out here. The whole command is in {path}"
    sandboxed: str = "in a sandbox without network"
    not_sandboxed: str = "without a sandbox"
    trusting: str = (
        "Do you trust the folder {folder}? Only a trusted folder can bring its own llamagent settings, skills, "
        "instructions and saved conversations."
    )
    trusting_again: str = (
        "New or changed since you trusted the folder {folder}: {what}. Do you trust it as it is now? Else it does not "
        "count."
    )
    secret: str = "{path} may hold keys or passwords. May the model see what is in it?"
    show_it: str = "Show it"
    download: str = "llamagent needs to download {what}. Download it?"
    yes: str = "Download"
    no: str = "Not now"
    downloading: str = "llamagent downloads a model"
    working: str = "llamagent works"
    step: str = "Step {number}: {what}"
    answer_in: str = "The whole answer is in {path}"
    # Code actions: their titles, and what the model is asked by them.
    fix: str = "Fix with llamagent"
    explain: str = "Explain with llamagent"
    ask_about: str = "Ask about this…"
    ask_comment: str = "Ask llamagent: {text}"
    fix_one: str = "Fix this problem."
    fix_some: str = "Fix these problems."
    explain_this: str = "Explain what this does. Change nothing."


ENGLISH = Words()


def words(locale: str | None) -> Words:
    """The words for a locale such as `de-CH` or `fr_FR.UTF-8`; English where we do not speak it."""
    return _words(language(locale))


@cache
def _words(spoken: str) -> Words:
    say = catalogue(spoken).say
    return Words(*(say(getattr(ENGLISH, field.name)) for field in fields(Words)))
