"""What a person reads in their language: gettext catalogues (`locale/*.po`), looked up by the English sentence.

Sentences are written in English where they arise, in whatever room; what leaves for a person is translated here, at the
edge. A sentence that was put together stands in a catalogue with numbered places: `There is no command {0}.` In the
translation `{0:t}` is a place whose own text is translated too. What no catalogue has is left in English.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

Say = Callable[[str], str]

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "fr")
MOST_CHARS = 2000  # longer texts are nobody's sentence, and matching them costs
_PLACE = re.compile(r"\{(\d)(:t)?\}")
_SENTENCE_END = re.compile(r"(?<=[.?!]) ")
_QUOTED = re.compile(r'(msgid|msgstr)?\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class _Template:
    """`form` matches the English sentence, which has `piece` in it; `places` numbers its groups, `translation` still
    has its places."""

    english: str
    piece: str
    places: tuple[int, ...]
    translation: str

    @property
    def form(self) -> re.Pattern[str]:
        return _form(self.english)


@dataclass(frozen=True, slots=True)
class Catalogue:
    exact: Mapping[str, str]
    templates: tuple[_Template, ...]

    def say(self, english: str) -> str:
        """`english` in the catalogue's language: whole, or sentence by sentence."""
        if not self.exact or not english or len(english) > MOST_CHARS:
            return english
        if (known := self.exact.get(english)) is not None:
            return known
        if (all_of_it := self._all(english)) is not None:
            return all_of_it
        for gap in _SENTENCE_END.finditer(english):
            if (first := self._one(english[: gap.start()])) is not None:
                return f"{first} {self.say(english[gap.end() :])}"
        return english

    def _all(self, english: str) -> str | None:
        """Every sentence of `english`: a place in the first one must not swallow the next."""
        for gap in _SENTENCE_END.finditer(english):
            first = self._one(english[: gap.start()])
            rest = self._all(english[gap.end() :]) if first is not None else None
            if rest is not None:
                return f"{first} {rest}"
        return self._one(english)

    def _one(self, english: str) -> str | None:
        """An entry as it stands, which may be several sentences."""
        if (found := self.exact.get(english)) is not None:
            return found
        for template in self.templates:
            # Most are ruled out by their longest piece: hundreds of patterns are neither made nor tried.
            if template.piece in english and (match := template.form.fullmatch(english)) is not None:
                return self._filled(template, dict(zip(template.places, match.groups(), strict=True)))
        return None

    def _filled(self, template: _Template, values: Mapping[int, str]) -> str:
        def value(place: re.Match[str]) -> str:
            text = values.get(int(place[1]), place[0])
            return self._listed(text) if place[2] else text

        return _PLACE.sub(value, template.translation)

    def _listed(self, english: str) -> str:
        """`english`, else each of the things that it lists."""
        said = self.say(english)
        return said if said != english else ", ".join(map(self.say, english.split(", ")))


def language(locale: str | None) -> str:
    """Which of LANGUAGES is spoken for a locale such as `de-AT` or `fr_CA.UTF-8`; English for all others."""
    spoken = re.split(r"[-_.@]", (locale or ENGLISH).strip(), maxsplit=1)[0].lower()
    return spoken if spoken in LANGUAGES else ENGLISH


def catalogue(locale: str | None) -> Catalogue:
    return _catalogue(language(locale))


@cache
def _catalogue(spoken: str) -> Catalogue:
    return _made({} if spoken == ENGLISH else read_po(_po(spoken)))


def _made(known: Mapping[str, str]) -> Catalogue:
    templates = [_template(english, there) for english, there in known.items() if _PLACE.search(english)]
    # The more of a sentence is fixed, the less it can be taken for another one.
    templates.sort(key=lambda template: -len(_PLACE.sub("", template.english)))
    return Catalogue(known, tuple(templates))


def _po(spoken: str) -> str:
    # Here and not at the top: most people are spoken to in English, which is in no file.
    from importlib.resources import files

    return files("llamagent_server").joinpath(f"lsp/locale/{spoken}.po").read_text(encoding="utf-8")


def read_po(text: str) -> dict[str, str]:
    """The translations of a gettext catalogue, by what they translate. Plurals and contexts are not used."""
    found: dict[str, str] = {}
    english = ""
    for word, value in _entries(text):
        if word == "msgid":
            english = value
        elif english and value:
            found[english] = value
    return found


def _entries(text: str) -> Iterator[tuple[str, str]]:
    word, value = "", ""
    for line in text.splitlines():
        match = _QUOTED.fullmatch(line.strip())
        if match is None:
            continue
        if match[1]:
            if word:
                yield word, value
            word, value = match[1], ""
        value += json.loads(match[2])
    if word:
        yield word, value


def _template(english: str, translation: str) -> _Template:
    pieces = _PLACE.split(english)  # text, number, ":t" or None, text, ...
    return _Template(english, max(pieces[::3], key=len), tuple(map(int, pieces[1::3])), translation)


@cache
def _form(english: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(map(re.escape, _PLACE.split(english)[::3])), re.DOTALL)
