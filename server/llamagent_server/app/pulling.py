"""`pull_model`: a model onto the person's Ollama after a yes that names its size, with progress and a way to stop."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing

from llamagent_server.agent.ports import Model, Tell
from llamagent_server.errors import BadArgument, ModelNotFound
from llamagent_server.providers.ollama import Ollama
from llamagent_server.providers.suggestions import known_size

Ask = Callable[[str], Awaitable[bool]]


async def pull(model: Model, name: str, ask: Ask, report: Tell) -> None:
    """Raises BadArgument, ModelError; ModelNotFound where the person did not say yes."""
    if not isinstance(model, Ollama):
        raise BadArgument(
            f"Only Ollama fetches models; the provider is {model.provider}.",
            hint="Get the model as its server wants it, or set provider to ollama.",
        )
    model.check_name(name)
    size = known_size(name)
    if size is None:
        await _agreed(ask, name, _what(name, "Ollama learns its size when it begins: you are asked again then", model))
        size = await _size(model, name, report)
        if not size:
            return  # it is there already, and up to date
    await _agreed(ask, name, _what(name, f"about {size / 1e9:.1f} GB", model))
    async with aclosing(model.pull(name)) as steps:
        async for step in steps:
            report(f"{name}: {step.words}", step.percent)


async def _size(model: Ollama, name: str, report: Tell) -> int:
    """What Ollama says that it will fetch, in bytes; then it is stopped. 0: it has the model already."""
    async with aclosing(model.pull(name)) as steps:
        async for step in steps:
            report(f"{name}: {step.status}", None)
            if step.total:
                return step.total
    return 0


def _what(name: str, size: str, model: Model) -> str:
    return f"{name} ({size}; by Ollama at {model.url}, from its library)"


async def _agreed(ask: Ask, name: str, what: str) -> None:
    if not await ask(what):
        raise ModelNotFound(f"{name} was not fetched: it needs your yes.", hint="Ask again and say yes.")
