"""What goes along with every request, counted by the real tokenizer: system prompt, tools and two skills."""

from pathlib import Path

from bench.prompt_tokens import LIMITS, figures
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.engine import EngineConfig, start_engine


def test_the_fixed_prompt_leaves_the_window_to_the_work(gguf: Path) -> None:
    engine = start_engine(EngineConfig(gguf, 512), Cancel())
    try:
        counted = {figure.name: figure.values[0] for figure in figures(engine)}
    finally:
        engine.end()
    assert 300 < counted["all, with tools"] <= LIMITS["all, with tools"] == 670
