"""What a person reads in their language, over real stdio: errors, notices, answers, help in files, progress."""

import json
import sys
from pathlib import Path

import pytest

from tests.end_to_end.editor import editor
from tests.end_to_end.test_settings_files import at, told
from tests.fakes import FakeOllama, Refusal, call, say

LOADING = Refusal(503, {"error": "model is still loading"})


@pytest.mark.parametrize(
    ("locale", "message", "hint"),
    [
        ("fr-CA", "Il n'y a pas de compétence 'nix'.", "Compétences : fix-a-bug, write-pytest-tests."),
        ("de_AT.UTF-8", "Den Skill 'nix' gibt es nicht.", "Skills sind: fix-a-bug, write-pytest-tests."),
        ("nl", "There is no skill 'nix'.", "Skills: fix-a-bug, write-pytest-tests."),
        (None, "There is no skill 'nix'.", "Skills: fix-a-bug, write-pytest-tests."),
    ],
)
async def test_an_error_and_its_hint(project: Path, home: Path, locale: str | None, message: str, hint: str) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, locale=locale) as ed:
            error = await ed.failing("load_skill", name="nix")
    assert error["message"] == f"{message} {hint}"
    assert (error["data"]["kind"], error["data"]["hint"]) == ("unknown_skill", hint)


@pytest.mark.parametrize(
    ("locale", "message"),
    [
        ("fr", "/export attend l’un de ceux-ci : markdown, json. /help donne la liste des commandes."),
        ("de", "Nach /export steht eines von diesen: markdown, json. /help zeigt die Befehle."),
    ],
)
async def test_a_choice_that_is_none_is_said(project: Path, home: Path, locale: str, message: str) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, locale=locale) as ed:
            error = await ed.failing("ask", text="/export html")
    assert error["message"] == message


async def test_a_server_that_is_not_there(project: Path, home: Path) -> None:
    async with editor(project, home, url="http://127.0.0.1:9", locale="fr") as ed:
        error = await ed.failing("ask", text="hello")
        (ended,) = ed.of("turn.ended")
    assert error["message"].startswith("Aucun serveur de modèles ne répond à http://127.0.0.1:9.")
    assert ended["error"] == error["message"]
    (stored,) = (project / ".llamagent/sessions").glob("*.jsonl")
    assert "No model server answers" in stored.read_text()  # what is kept stays English


async def test_a_turns_notices_decisions_and_end(project: Path, home: Path) -> None:
    (project / "a.txt").write_text("x\n")
    replies = [LOADING, call("read_file", path="a.txt"), say("The model's words. Nothing is running.")]
    with FakeOllama(replies=replies) as server:
        async with editor(project, home, url=server.url, locale="de", settings={"max_steps": 2}) as ed:
            result = await ed.ask("look at @nowhere.txt")
            notices = [event["text"] for event in ed.of("notice")]
            reasons = [event["reason"] for event in ed.of("harness.decided")]
            stored = (await ed.command("trace"))["events"]
    assert notices[0] == "@nowhere.txt wurde nicht gelesen: nowhere.txt: Diese Datei gibt es nicht."
    assert notices[1] == "Ollama lädt das Modell noch. Neuer Versuch in 1 s."
    assert reasons == ["es liest nur"]
    assert result["answer"] == "The model's words. Nothing is running."  # nobody translates the model
    assert notices == [event["text"] for event in stored if event["kind"] == "notice"]
    asked = str(server.requests[-1].json["messages"])
    assert "there is no such file" in asked and "Datei" not in asked  # the model has the English


async def test_progress_and_messages_of_an_editor_without_a_trace(project: Path, home: Path) -> None:
    with FakeOllama(replies=[LOADING, call("list_files"), call("list_files", path=".")]) as server:
        async with editor(project, home, url=server.url, locale="fr", flags={}, settings={"max_steps": 1}) as ed:
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            await ed.ask("go")
            progress = [params["value"].get("message") for params in ed.asked("$/progress")]
            shown = [params["message"] for params in ed.asked("window/showMessage")]
            logged = [params["message"] for params in ed.asked("window/logMessage")]
    assert "Étape 1 : Ollama charge encore le modèle. Nouvel essai dans 1 s." in progress
    assert shown == [
        "Ollama charge encore le modèle. Nouvel essai dans 1 s.",
        "Arrêté après 1 étapes (max_steps). Fait jusqu'ici : 0 modifications acceptées sur 0, 0 commandes exécutées. "
        "Redemandez pour continuer.",
    ]
    assert any("the turn ended" in line for line in logged)  # logs are for who mends things


def made(project: Path, path: str) -> str:
    (project / path).parent.mkdir(parents=True)
    (project / path).write_text("")
    return path


async def test_settings_files(project: Path, home: Path) -> None:
    path = made(project, ".llamagent/config.toml")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, locale="de") as ed:
            await ed.open(path)
            found = await told(ed, path, 'modle = "a"\ntemperature = 9\nurl = "http://x"\n')
            assert [words for _, _, words in found] == [
                "„modle“ ist keine Einstellung. Meinten Sie „model“ (in config.toml)?",
                "„temperature“: erlaubt ist eine Zahl von 0 bis 2; der Wert wird nicht beachtet.",
                "ein Projekt darf „url“ nie setzen; der Wert wird nicht beachtet. Setzen Sie es in "
                "~/.llamagent/config.toml.",
            ]
            (project / path).write_text("temperature = 9\n")
            (problem,) = (await ed.command("config"))["problems"]
            assert problem.startswith(
                ".llamagent/config.toml, Zeile 1: „temperature“: erlaubt ist eine Zahl von 0 bis 2;"
            )
            hover = (await at(ed, "textDocument/hover", path, 1, 2))["contents"]["value"]
            assert hover.split("\n\n")[:3] == [
                "**temperature**",
                "Wie frei das Modell seine Worte wählt: 0 ist am vorhersehbarsten.",
                "Erlaubt: eine Zahl von 0 bis 2. Standard: `0.2`.",
            ]


async def test_skills(project: Path, home: Path) -> None:
    skill = made(project, ".llamagent/skills/pdf/SKILL.md")
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, locale="de") as ed:
            await ed.open(skill)
            found = await told(ed, skill, "---\nname: pfd\ndescripton: x\n---\n")
            assert found[0][2].startswith("„description“ fehlt: Was der Skill tut")
            assert found[2][2] == "„descripton“ ist kein Schlüssel eines Skills. Meinten Sie „description“?"


async def test_typed_commands_and_help(project: Path, home: Path) -> None:
    with FakeOllama() as server:
        async with editor(project, home, url=server.url, locale="fr", flags={}) as ed:
            helped = (await ed.ask("/help"))["answer"]
            assert "- /model [NAME]: Utiliser désormais un autre modèle." in helped
            assert "[NAME]: Use" not in helped and "List the" not in helped
            rows = {row["name"]: row for row in (await ed.command("help"))["commands"]}
            assert rows["llamagent.retry"]["title"] == "Recommencer"
            assert (await ed.ask("/new"))["answer"] == "Une nouvelle conversation commence."
            assert (await ed.ask("/ctx 4096"))["answer"].splitlines() == [
                "num_ctx vaut maintenant 4096, pour cette session ; avant, 8192.",
                "Le modèle sera rechargé à la prochaine requête ; plus de contexte prend plus de mémoire.",
            ]
            error = await ed.failing("ask", text="/modle x")
            assert error["message"].startswith("Il n'y a pas de commande /modle. Vouliez-vous dire /model ?")


async def test_what_is_put_together_of_parts(project: Path, home: Path) -> None:
    """Notes of an edit in the editor's own question, a decision with notes, and rows of lists."""
    (project / "a.py").write_text("def f():\n    x = 1   \n    return x\n")
    edit = {"path": "a.py", "old_text": "2: x = 1\n3: return x", "new_text": "return 1"}
    as_text = json.dumps({"name": "read_file", "arguments": {"path": "a.py", "start": "1", "odd": 1}})
    with FakeOllama(replies=[say(as_text), call("edit_file", **edit), say("ok")]) as server:
        async with editor(project, home, url=server.url, locale="fr", flags={"trace": True}) as ed:
            ed.answers["window/showMessageRequest"] = lambda question: question["actions"][0]
            await ed.ask("/init")
            await ed.ask("shorten it")
            told = [question["message"] for question in ed.asked("window/showMessageRequest")]
            labels = [asked["label"] for asked in ed.asked("workspace/applyEdit")]
            reasons = [event["reason"] for event in ed.of("harness.decided")]
            models = (await ed.ask("/models"))["answer"]
            context = (await ed.ask("/context"))["answer"]
            listed = (await ed.ask("/sessions"))["answer"]
            temperature = (await ed.ask("/temp"))["answer"]
            items = (await ed.command("complete", text="/comp", offset=5))["items"]
    assert "AGENTS.md (+7 −0), .llamagent/config.toml (+6 −0), " in told[0]
    assert "trouvé malgré des différences : numéros de lignes, espaces en fin de ligne, indentation)" in told[1]
    assert labels[0] == "préparer le projet"
    assert labels[1].startswith("modifier a.py (l’ancien texte a été trouvé malgré ")
    repaired = "cela ne fait que lire (start \"1\" lu comme 1; argument 'odd' ignoré, que read_file n'a pas)"
    assert reasons[0] == f"{repaired} (récupéré d'un appel écrit comme du texte)"
    assert "- qwen3.5:4b (actuel, 3.4 GB, " in models
    assert "- système: " in context and "- résultats d'outils: " in context
    assert listed.endswith(" (4 messages, qwen3.5:4b, actuelle)")
    assert temperature == "temperature: 0.2 (par défaut)"
    assert [item["detail"] for item in items] == ["Résumer la conversation pour faire de la place."]


async def test_why_a_turn_was_stopped(project: Path, home: Path) -> None:
    """As the event and as the result of the ask; what the model was answered is its own matter."""
    refusal = Refusal(400, {"error": "registry.ollama.ai/library/qwen3.5:4b does not support tools"})
    again = say(json.dumps({"tool": "list_files", "arguments": {}}))
    with FakeOllama(replies=[refusal, again, again, again]) as server:
        async with editor(project, home, url=server.url, locale="fr") as ed:
            result = await ed.ask("look")
            (ended,) = ed.of("turn.ended")
            said = {event["decision"]: event["reason"] for event in ed.of("harness.decided")}
    assert said["repair"].startswith("qwen3.5:4b n'accepte pas d'outils : ")
    assert said["repair"].endswith(" : chacune de ses étapes suit désormais un schéma JSON")
    assert said["stop"].endswith("(list_files) 3 fois de suite, sans que rien ait changé entre-temps")
    assert result["answer"] == ended["answer"]
    assert result["answer"].startswith(f"Arrêté : {said['stop']}. Dites ce qu'il doit faire")


@pytest.mark.skipif(sys.platform == "win32", reason="only on systems where anybody makes links")
async def test_problems_of_settings_and_a_folder_that_is_a_link(project: Path, home: Path) -> None:
    (project / ".llamagent").symlink_to(project.parent)
    home.mkdir()
    (home / "config.toml").write_text('temperature = 0.2\nmodle = "x"\n')
    reply = call("edit_file", path="no.py", old_text="a", new_text="b")
    link = f"{project / '.llamagent'} est un lien, qui n'est pas suivi"
    with FakeOllama(replies=[reply, say("ok")]) as server:
        async with editor(project, home, url=server.url, locale="fr", settings={"bogus": 1}) as ed:
            await ed.ask("change it")
            notices = [event["text"] for event in ed.of("notice")]
            problems = (await ed.command("config"))["problems"]
            error = await ed.failing("init")
    assert f".llamagent: les réglages du projet ne sont pas lus : {link}." in problems
    assert any(".toml, ligne 2 : « modle » n'est pas un réglage." in problem for problem in problems)
    assert any(problem.startswith("éditeur: « bogus » n'est pas un réglage.") for problem in problems)
    assert set(problems) <= set(notices)
    assert f"Les compétences du projet ne sont pas lues : {link}." in notices
    assert "Rien n'a été modifié : la modification essayée n'a pas été appliquée." in notices
    assert error["message"] == f"Le projet ne peut pas être préparé : {link}."
