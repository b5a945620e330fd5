"""A model that talks instead of working: it says what it will do and does nothing, or asks what was answered."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from llamagent_server.agent.session import Session
from llamagent_server.core.messages import AssistantMessage, Reply

ANNOUNCED = (
    "You said what you will do, but you called no tool, so nothing happened. Call the tool now; or, if all is done, "
    "say what was done."
)
ASKED_AGAIN = (
    "You asked the user this before, and they have answered: it is in their last message. Go on with that answer now: "
    "call a tool, or say in one sentence what you cannot do."
)
_SAME = 0.85  # of the words, for two sayings to be one
_LOOKED_BACK = 3  # sayings before this one
_COMPARED = 300  # words at the end of each: to compare thousands holds everything up
_SHORT = 600  # characters; what is longer is a plan, and may be all that was asked for

_DOES = (
    r"(?:look|read|check|search|open|inspect|examine|review|analy[sz]e|find|list|run|execute|test|call|use|edit|change|"
    r"modify|update|fix|write|create|add|remove|delete|rename|replace|implement|refactor|apply|make|start|begin|proceed|"
    r"continue|try|do)"
)
_SOON = r"(?:now |then |next |first |also |just |go ahead and |need to )*"
_ANNOUNCES = re.compile(
    rf"(?:(?:ok(?:ay)?|sure|now|next|first|then|so|great|alright)[,.!: ]+)*(?:"
    rf"(?:i will|i'll|i am going to|i'm going to|let me|let's|i need to|i should|going to) {_SOON}{_DOES}\b"
    rf"|i am {_SOON}(?:going|about) to \w+"
    r"|je vais (?:maintenant |d'abord |ensuite )?\w+(?:er|ir|re)\b"
    r"|ich werde (?:nun|jetzt|zuerst|als nächstes|zunächst)\b"
    r")",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_LISTED = re.compile(r"\s*(?:[-+*]|\d+[.)])\s")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Stall:
    """`nudge` is what the model is told; `words` why the turn ends when it goes on like that."""

    nudge: str
    words: str


def stall_in(session: Session, reply: Reply) -> Stall | None:
    """What is wrong with an answer that is none; the reply is not yet a part of the conversation."""
    if reply.tool_calls:
        return None
    if announces(reply.content):
        return Stall(ANNOUNCED, "the model says again and again what it will do, and does nothing")
    if asks(reply.content) and any(same(reply.content, said) for said in _said(session)):
        return Stall(ASKED_AGAIN, "the model asks again and again what you have answered")
    return None


def announces(text: str) -> bool:
    """Whether it ends with what the speaker is going to do, and is no plan."""
    if len(text) > _SHORT or _LISTED.match(text.strip().rpartition("\n")[2]):
        return False
    last = _last_sentence(text)
    return _ANNOUNCES.match(last) is not None and not last.endswith("?")


def asks(text: str) -> bool:
    """Whether it ends with a question."""
    return _last_sentence(text).endswith("?")


def same(one: str, other: str) -> bool:
    """Whether two sayings have nearly the same words in the same order, or end with the same question. Of long ones
    their ends count."""
    return _alike(one, other) or _alike(_last_sentence(one), _last_sentence(other))


def _alike(one: str, other: str) -> bool:
    words, others = (_WORD.findall(text.casefold())[-_COMPARED:] for text in (one, other))
    return bool(words) and SequenceMatcher(None, words, others, autojunk=False).ratio() >= _SAME


def _last_sentence(text: str) -> str:
    sentences = [sentence.strip(" *_`>-\t") for sentence in _SENTENCE.split(text.strip())]
    return next((sentence for sentence in reversed(sentences) if sentence), "")


def _said(session: Session) -> Iterator[str]:
    """What the model said last without calling a tool."""
    prose = [m.content for m in session.messages if isinstance(m, AssistantMessage) and not m.tool_calls]
    yield from prose[-_LOOKED_BACK:]
