"""The languages: every sentence is in every catalogue, says something else than the English, and keeps its places."""

import re
from dataclasses import fields

import pytest

from llamagent_server.lsp.catalogue import LANGUAGES, _made, _po, catalogue, language, read_po
from llamagent_server.lsp.words import ENGLISH, Words, words
from llamagent_server.settings import SETTINGS
from tests.lsp.sentences import PHRASES, PUT_TOGETHER, normal, sentences, single

OTHERS = [spoken for spoken in LANGUAGES if spoken != "en"]
# The same word in both languages.
ALIKE: dict[str, set[str]] = {"de": set(), "fr": {"indentation", "conversation"}}


def places(text: str) -> list[str]:
    return sorted(set(re.findall(r"\{\w+(?=[}:])", text)))


@pytest.mark.parametrize("spoken", OTHERS)
def test_no_sentence_is_missing_or_left_in_english(spoken: str) -> None:
    entries = read_po(_po(spoken))
    known = {normal(english) for english in entries}
    words = {getattr(ENGLISH, field.name) for field in fields(Words)}
    assert sorted(words - entries.keys()) == []
    assert sorted(text for text in sentences() if not _is_known(text, known)) == []
    assert sorted(text for text in PHRASES if not _is_known(normal(text), known)) == []
    assert sorted(text for texts in PUT_TOGETHER.values() for text in texts if normal(text) not in known) == []
    say = catalogue(spoken).say
    assert [setting.key for setting in SETTINGS if say(setting.allowed) == setting.allowed] == []
    same = {english for english, there in entries.items() if english == there}
    assert same == ALIKE[spoken]


def _is_known(text: str, known: set[str]) -> bool:
    """As it stands, or sentence by sentence, or as what it becomes."""
    return text in known or text in PUT_TOGETHER or all(one in known for one in single(text))


def test_what_is_collected_is_there() -> None:
    """A filter that became too fine would find nothing missing."""
    found = sentences()
    assert len(found) > 300
    assert {"A turn is running in this conversation.", "There is no skill {0}.", "Try again in a moment."} <= found
    assert [text for text in PUT_TOGETHER if text not in found] == []


@pytest.mark.parametrize("spoken", OTHERS)
def test_a_translation_has_the_places_of_its_sentence(spoken: str) -> None:
    known = read_po(_po(spoken))
    assert [english for english, there in known.items() if places(english) != places(there)] == []


@pytest.mark.parametrize("spoken", OTHERS)
def test_each_entry_is_written_once_and_all_catalogues_have_the_same(spoken: str) -> None:
    text = _po(spoken)
    ids = re.findall(r"^msgid (.*)$", text, re.MULTILINE)
    assert len(ids) == len(set(ids))
    assert sorted(read_po(text)) == sorted(read_po(_po("de")))


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("de-AT", "de"),
        ("de_CH.UTF-8", "de"),
        ("fr_CA.UTF-8", "fr"),
        ("FR", "fr"),
        ("de@euro", "de"),
        ("en-GB", "en"),
        ("C", "en"),
        ("C.UTF-8", "en"),
        ("POSIX", "en"),
        ("pt-BR", "en"),
        ("deu", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_the_language_of_a_locale(locale: str | None, expected: str) -> None:
    assert language(locale) == expected


def test_words_are_translated_and_english_where_we_do_not_speak() -> None:
    assert words("de-AT").accept == "Annehmen"
    assert words("fr_CA.UTF-8").accept == "Accepter"
    assert words("nl").accept == words(None).accept == "Accept"


PO = r"""
msgid ""
msgstr "Language: xx\n"

msgid "There is no {0}."
msgstr "Nix {0}."

msgid "{0} of {1} are {2}."
msgstr "{2:t}: {1}/{0}."

msgid "good"
msgstr ""
"gu"
"t"

msgid "Try "
"again."
msgstr "Nochmal \"so\"."

msgid "empty"
msgstr ""
"""


@pytest.mark.parametrize(
    ("english", "expected"),
    [
        ("good", "gut"),
        ("There is no skill 'x'.", "Nix skill 'x'."),
        ("1 of 2 are good.", "gut: 2/1."),
        ("1 of 2 are bad.", "bad: 2/1."),
        ("There is no good.", "Nix good."),  # only what the catalogue says is translated inside
        ("There is no a.b c. Try again.", 'Nix a.b c. Nochmal "so".'),
        ("There is no x. Unknown words.", "Nix x. Unknown words."),
        ("Unknown words. Try again.", "Unknown words. Try again."),
        ("There is no {0:t} {1}.", "Nix {0:t} {1}."),
        ("empty", "empty"),
        ("", ""),
    ],
)
def test_what_a_catalogue_makes_of_a_sentence(english: str, expected: str) -> None:
    assert _made(read_po(PO)).say(english) == expected


def test_english_is_said_as_it_is() -> None:
    assert catalogue(None).say("Accept") == "Accept"
