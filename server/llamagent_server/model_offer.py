"""The doctor's offer: where the model is missing, Ollama fetches the one that fits this machine, after a yes."""

from collections.abc import Sequence

from llamagent_server.agent.ports import ModelInfo
from llamagent_server.app.pulling import pull
from llamagent_server.errors import LlamagentError
from llamagent_server.processes.memory import total_memory
from llamagent_server.providers.base import create_model
from llamagent_server.providers.ollama import full_name
from llamagent_server.providers.suggestions import Suggestion, suggested
from llamagent_server.settings import Provider, Settings
from llamagent_terminal import prompt, terminal
from llamagent_terminal.ask import asking_screen
from llamagent_terminal.screen import Screen, Span, Style


def memory_words(models: Sequence[ModelInfo]) -> str:
    """What this machine's memory is, and which model suits it."""
    memory = total_memory()
    fitting = suggested(memory, models)
    size = f"{memory / 1e9:.0f} GB" if memory else "an unknown amount"
    got = "which Ollama has" if fitting.present else f"a download of about {fitting.size / 1e9:.1f} GB"
    return f"This machine has {size} of memory; {fitting.name} suits it ({got})"


async def offer(settings: Settings, screen: Screen) -> bool:
    """Ask for the missing model, where there is somebody to ask; whether it was fetched. Raises nothing."""
    if settings.provider is not Provider.OLLAMA or not terminal.can_ask():
        return False
    model = create_model(settings)
    try:
        try:
            models = await model.list_models()
        except LlamagentError:
            return False  # the doctor has just said so
        if full_name(settings.model) in {full_name(known.name) for known in models}:
            return False
        name = _wanted(settings, suggested(total_memory(), models))
        await pull(model, name, lambda what: _agreed(screen, what), lambda words, _: screen.status(f"  {words}"))
    except LlamagentError as error:
        screen.status("")
        screen.line(Span(str(error), Style.DIM))
        return False
    finally:
        await model.close()
    screen.status("")
    todo = "" if name == settings.model else f'; set model = "{name}" in ~/.llamagent/config.toml'
    screen.line(Span("ok   ", Style.ADDED), f"{name} is fetched{todo}")
    return True


def _wanted(settings: Settings, fitting: Suggestion) -> str:
    """The model that the person named; where nobody named one, what suits the machine."""
    return fitting.name if settings.model == Settings().model else settings.model


async def _agreed(screen: Screen, what: str) -> bool:
    with terminal.raising_interrupts():
        answer = prompt.yes_or_no(asking_screen() or screen, f"Download {what}?", lambda: False)
    return answer is prompt.Answer.YES
