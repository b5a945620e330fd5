"""`llamagent-server demo`: the tiny model brought to this machine, with a yes and a bar, then the show."""

import asyncio
from collections.abc import Callable

from llamagent_server.errors import LlamagentError
from llamagent_server.providers.config import provider_config
from llamagent_server.providers.embedded import Embedded
from llamagent_server.providers.fetching import Progress
from llamagent_server.settings import EMBEDDED_MODEL, Provider, Settings
from llamagent_terminal.demo import Cast, Impossible, play
from llamagent_terminal.screen import Screen

NUM_CTX = 4096
_BAR_CELLS = 24
_SETTINGS = Settings(provider=Provider.EMBEDDED, model=EMBEDDED_MODEL, num_ctx=NUM_CTX, temperature=0.0)


def demo() -> int:
    """The exit code: 0 only when a right program was written and printed what it should."""
    flags = (f"--provider={_SETTINGS.provider}", f"--model={EMBEDDED_MODEL}", "--temperature=0", f"--num-ctx={NUM_CTX}")
    return play(Cast(EMBEDDED_MODEL, "135 million parameters", flags, _fetch, better="qwen3.5:4b"))


def _fetch(screen: Screen, agreed: Callable[[str], bool]) -> None:
    """Have the model here. Raises Impossible."""

    async def consent(what: str) -> bool:
        return agreed(what)

    model = Embedded(provider_config(_SETTINGS), lambda progress: _show(screen, progress))
    try:
        asyncio.run(model.prepare(consent))
    except LlamagentError as error:
        raise Impossible(str(error)) from error
    finally:
        screen.status("")


def _show(screen: Screen, progress: Progress) -> None:
    full, empty = ("█", "░") if screen.unicode else ("#", ".")
    cells = progress.percent * _BAR_CELLS // 100
    megabytes = f"{progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB"
    screen.status(f"  {full * cells}{empty * (_BAR_CELLS - cells)} {megabytes}")
