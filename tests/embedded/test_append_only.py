"""A turn of fifteen steps on the real engine: each request begins as the last one ended, so only what is new is read.

The engine reads the real requests of the loop; what it says to them is put aside for a script. Some thirty seconds.
"""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path

from llamagent_server.agent.ports import ChatRequest, Delta, ModelEvent
from llamagent_server.agent.road import Road
from llamagent_server.agent.roads import road_key
from llamagent_server.core.events import StopReason
from llamagent_server.core.messages import Reply, Usage
from llamagent_server.providers.embedded import Embedded
from llamagent_server.settings import Settings
from tests.agent.doubles import Desk, ScriptedModel
from tests.embedded.conftest import embedded

NUM_CTX = 4096
STEPS = 15


@dataclass
class Reading(ScriptedModel):
    """Has the engine read each request, and then says what the script says."""

    engine: Embedded
    usages: list[Usage] = field(default_factory=list)

    def __init__(self, engine: Embedded, says: list[str]) -> None:
        super().__init__(())
        self.engine, self.says, self.usages = engine, says, []

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        short = replace(request, options=replace(request.options, num_predict=2), schema=None)
        async for event in self.engine.chat(short):
            if isinstance(event, Reply):
                self.usages.append(event.usage)
                yield replace(event, content=self.says.pop(0), problem=None, finish=event.finish.STOP)
            elif not isinstance(event, Delta):
                yield event


def reads(number: int) -> str:
    return json.dumps({"tool": "read_file", "arguments": {"path": f"f{number}.py"}})


async def test_only_what_is_new_is_evaluated(gguf: Path) -> None:  # noqa: ARG001 - must be there first
    engine = embedded(num_ctx=NUM_CTX)
    texts = {f"f{number}.py": f"def f{number}(x):\n    return x + {number}\n" * 4 for number in range(STEPS)}
    desk = Desk(texts=texts, settings=Settings(num_ctx=NUM_CTX))
    desk.model = model = Reading(engine, [*map(reads, range(STEPS - 1)), json.dumps({"answer": "All read."})])
    desk.ports.roads[road_key(desk.ports, desk.settings)] = Road.SCHEMA
    try:
        result = await desk.ask("Read all the files.").result()
    finally:
        await engine.close()
    assert (result.stop_reason, result.steps) == (StopReason.ANSWERED, STEPS)
    prompts = [usage.prompt_tokens or 0 for usage in model.usages]
    evaluated = [(usage.prompt_tokens or 0) - (usage.cached_prompt_tokens or 0) for usage in model.usages]
    new = prompts[-1] - prompts[0]
    assert new > 1000
    assert sum(evaluated[1:]) <= 1.03 * new
