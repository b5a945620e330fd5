"""What a person reads in questions and notices, in the languages that we speak."""

from dataclasses import dataclass

from llamagent_server.workspace.names import shown


@dataclass(frozen=True, slots=True)
class Words:
    """Titles of buttons, and sentences with named places."""

    accept: str
    reject: str
    show_diff: str
    run: str
    run_with_network: str
    always: str
    refuse: str
    trust: str
    not_now: str
    edit: str  # {files}
    command: str  # {command}, {cwd}
    trusting: str  # {folder}
    download: str  # {what}
    yes: str
    no: str
    working: str
    step: str  # {number}, {what}
    answer_in: str  # {path}


ENGLISH = Words(
    accept="Accept",
    reject="Reject",
    show_diff="Show diff",
    run="Run",
    run_with_network="Run with network",
    always="Always in this session",
    refuse="Refuse",
    trust="Trust",
    not_now="Not now",
    edit="llamagent proposes an edit: {files}",
    command="llamagent wants to run in {cwd}: {command}",
    trusting="Do you trust the folder {folder}? Only a trusted folder can bring its own llamagent settings, skills, "
    "instructions and saved conversations.",
    download="llamagent needs to download {what}. Download it?",
    yes="Download",
    no="Not now",
    working="llamagent works",
    step="Step {number}: {what}",
    answer_in="The whole answer is in {path}",
)

FRENCH = Words(
    accept="Accepter",
    reject="Rejeter",
    show_diff="Voir les différences",
    run="Exécuter",
    run_with_network="Exécuter avec le réseau",
    always="Toujours dans cette session",
    refuse="Refuser",
    trust="Faire confiance",
    not_now="Pas maintenant",
    edit="llamagent propose une modification : {files}",
    command="llamagent veut exécuter dans {cwd} : {command}",
    trusting="Faites-vous confiance au dossier {folder} ? Seul un dossier de confiance peut apporter ses propres "
    "réglages, compétences, instructions et conversations enregistrées pour llamagent.",
    download="llamagent doit télécharger {what}. Le télécharger ?",
    yes="Télécharger",
    no="Pas maintenant",
    working="llamagent travaille",
    step="Étape {number} : {what}",
    answer_in="La réponse entière est dans {path}",
)

GERMAN = Words(
    accept="Annehmen",
    reject="Ablehnen",
    show_diff="Unterschiede zeigen",
    run="Ausführen",
    run_with_network="Mit Netzwerk ausführen",
    always="Immer in dieser Sitzung",
    refuse="Nicht ausführen",
    trust="Vertrauen",
    not_now="Nicht jetzt",
    edit="llamagent schlägt eine Änderung vor: {files}",
    command="llamagent möchte in {cwd} ausführen: {command}",
    trusting="Vertrauen Sie dem Ordner {folder}? Nur ein Ordner, dem Sie vertrauen, kann eigene Einstellungen, Skills, "
    "Anweisungen und gespeicherte Gespräche für llamagent mitbringen.",
    download="llamagent muss {what} herunterladen. Herunterladen?",
    yes="Herunterladen",
    no="Nicht jetzt",
    working="llamagent arbeitet",
    step="Schritt {number}: {what}",
    answer_in="Die ganze Antwort steht in {path}",
)

_LANGUAGES = {"en": ENGLISH, "fr": FRENCH, "de": GERMAN}


def visible(text: str) -> str:
    """`text` with whatever could hide a part of it written as an escape: one must see what one says yes to."""
    return "\n".join(shown(line) for line in text.split("\n"))


def words(locale: str | None) -> Words:
    """The words for a locale such as `de-CH` or `fr_FR.UTF-8`; English where we do not speak it."""
    language = (locale or "en").replace("_", "-").split("-")[0].lower()
    return _LANGUAGES.get(language, ENGLISH)
