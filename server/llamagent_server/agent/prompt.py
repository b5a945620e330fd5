"""The words that the model is given: the fixed system prompt, and the person's ask with what goes along."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

CUT = "\n[cut here; read_file gives the rest]"
LANGUAGES = {"de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch"}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A piece of the project that goes along with an ask.

    `label` is a path or a name; `first_line` is the 1-based number of the text's first line, None for a whole text;
    `diagnostics` are one line each, such as `12: error: undefined name 'x'`.
    """

    label: str
    text: str
    language: str = ""
    first_line: int | None = None
    diagnostics: tuple[str, ...] = ()


def system_prompt(*, project: str, notes: str = "", skills: Sequence[tuple[str, str]] = (), locale: str | None) -> str:
    """The system message of a conversation; never changes once the conversation has begun.

    `project` is one line on the folders, `notes` the text of a trusted AGENTS.md, `skills` their (name, description).
    """
    sections = [general()]
    language = LANGUAGES.get((locale or "").split("-")[0].split("_")[0].lower())
    if language:
        sections.append(f"Answer in {language}.")
    sections.append(project)
    if skills:
        listed = "\n".join(f"- {name}: {description}" for name, description in skills)
        sections.append(f"Skills (load_skill shows one):\n{listed}")
    if notes:
        sections.append(f"The user's notes on this project (AGENTS.md):\n{fenced('AGENTS.md', notes)}")
    return "\n\n".join(section for section in sections if section)


@cache
def general() -> str:
    """What every conversation begins with."""
    return files("llamagent_server").joinpath("prompts/system.md").read_text(encoding="utf-8").strip()


def ask_text(text: str, attachments: Sequence[Attachment], max_chars: int) -> str:
    """The person's words, followed by what they attached, together at most about `max_chars` characters."""
    rooms = _shares([len(attachment.text) for attachment in attachments], max(0, max_chars - len(text)))
    blocks = [_block(attachment, room) for attachment, room in zip(attachments, rooms, strict=True)]
    return "\n\n".join([text, *blocks])


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """`room` divided so that a large text does not crowd out small ones: what these leave goes to the others."""
    shares = [0] * len(sizes)
    smallest_first = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, index in enumerate(smallest_first):
        shares[index] = min(sizes[index], room // (len(sizes) - done))
        room -= shares[index]
    return shares


def _block(attachment: Attachment, room: int) -> str:
    lines = attachment.text.splitlines()
    where = attachment.label
    if attachment.first_line is not None and lines:
        where += f" lines {attachment.first_line}-{attachment.first_line + len(lines) - 1}"
    text = attachment.text
    if len(text) > room:
        text = text[:room].rsplit("\n", 1)[0] + CUT
    block = fenced(where, text)
    if attachment.diagnostics:
        block += "\nDiagnostics:\n" + "\n".join(attachment.diagnostics)
    return block


def fenced(label: str, text: str) -> str:
    """`text` as a block of data whose end it cannot forge."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{label}:\n{fence}\n{text.rstrip(chr(10))}\n{fence}"
