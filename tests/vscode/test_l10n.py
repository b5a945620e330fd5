"""Every word of the extension in English, French and German: none is missing, none left over, none left in English."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

EXTENSION = Path(__file__).parents[2] / "clients" / "vscode"
LANGUAGES = ("fr", "de")
# The same in that language: names, units, and words that it took over.
ALIKE = {
    "Arguments",
    "Code",
    "Diff",
    "Conversation",
    "Conversations",
    "{0} s",
    "{0} min {1} s",
    "{0} messages, {1}",
    "in {0}",
}


def bundle(name: str) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((EXTENSION / name).read_text("utf-8"))
    return loaded


def spoken() -> set[str]:
    """The texts of all calls of `t` in the sources."""
    found = set()
    for path in (EXTENSION / "src").rglob("*.ts"):
        source = path.read_text("utf-8")
        found |= {json.loads(text) for text in re.findall(r'\bt\(\s*("(?:[^"\\]|\\.)*")', source)}
    return found


def holes(text: str) -> list[str]:
    return sorted(re.findall(r"\{\d\}|\(command:[^)]*\)|`[^`]*`", text))


def test_every_call_is_given_a_literal() -> None:
    for path in (EXTENSION / "src").rglob("*.ts"):
        calls = re.findall(r"l10n\.t\(\s*([^\s])", path.read_text("utf-8"))
        assert set(calls) <= {'"'}, path


def test_the_english_bundle_has_what_the_sources_say_and_nothing_else() -> None:
    assert set(bundle("l10n/bundle.l10n.json")) == spoken()


def test_the_manifests_placeholders_are_all_there() -> None:
    manifest = (EXTENSION / "package.json").read_text("utf-8")
    assert set(re.findall(r'"%([\w.]+)%"', manifest)) == set(bundle("package.nls.json"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["l10n/bundle.l10n.{}json", "package.nls.{}json"])
def test_a_language_has_every_entry_in_its_own_words(name: str, language: str) -> None:
    english, translated = bundle(name.format("")), bundle(name.format(f"{language}."))
    assert set(translated) == set(english)
    for key, text in english.items():
        assert translated[key].strip(), key
        assert holes(translated[key]) == holes(text), key
        assert translated[key] != text or text in ALIKE, key


def test_the_manifest_shows_no_text_that_is_not_translated() -> None:
    manifest: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    contributes = manifest["contributes"]
    texts = [command["title"] for command in contributes["commands"]]
    texts += [row["markdownDescription"] for row in contributes["configuration"]["properties"].values()]
    texts += [step[part] for step in contributes["walkthroughs"][0]["steps"] for part in ("title", "description")]
    assert [text for text in texts if not re.fullmatch(r"%[\w.]+%", text)] == []
