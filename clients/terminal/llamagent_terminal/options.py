"""What the person asked for on the command line."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Consent(StrEnum):
    """Who answers the questions about edits and commands."""

    ASK = "ask"
    YES = "yes"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Options:
    """`folder` is the workspace, with all links resolved, and `named` where the person said which; `daemon` is the
    command that starts one on stdio."""

    folder: Path
    daemon: tuple[str, ...]
    consent: Consent = Consent.ASK
    read_only: bool = False
    json: bool = False
    resume: bool = False
    trust: bool = False
    named: bool = False
