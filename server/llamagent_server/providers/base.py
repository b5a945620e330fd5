"""The model servers that can be spoken to: one row each.

The contract is `Model` in agent/ports.py. What every provider keeps, and tests/providers/ checks for all of them:
- `chat` gives Deltas, then exactly one Reply or Failure. It raises nothing but CancelledError.
- A Reply is complete: a stream without its closing line is a Failure (ModelFailed, retryable). One cut by the length
  limit carries no tool calls. An empty one is still a Reply; the loop judges it. One that says the same over and over
  is cut short: what is usable of it, as if the length limit had cut it, with a `problem`.
- Where tools were sent and the server made no calls, calls that end the reply as text are its calls (Origin.TEXT) and
  are taken out of the content; what looks like one but cannot be read is the reply's `problem`.
- Ids of tool calls are unique in the conversation. Arguments that do not parse give `ToolCall.problem` and are replayed
  as `{}`.
- Messages are sent as the same bytes in every later request.
- When the consumer is cancelled or closes the iterator, the connection is shut down at once.
- Nothing is held open between requests, and no thread outlives its request.
- Importing is cheap: `requests` is imported by the thread of the first request.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from llamagent_server.agent.ports import Model
from llamagent_server.providers.config import ProviderConfig, provider_config
from llamagent_server.providers.ollama import Ollama
from llamagent_server.providers.openai_chat import OpenAIChat
from llamagent_server.providers.scripted import Scripted
from llamagent_server.settings import Provider, Settings

Factory: TypeAlias = Callable[[ProviderConfig], Model]


def _embedded(config: ProviderConfig) -> Model:
    # Its engine is an optional extra, so the module is touched only by who asks for it.
    from llamagent_server.providers import embedded

    return embedded.create(config)


PROVIDERS: Mapping[Provider, Factory] = {
    Provider.OLLAMA: Ollama,
    Provider.OPENAI: OpenAIChat,
    Provider.EMBEDDED: _embedded,
    Provider.SCRIPTED: Scripted,
}


def create_model(settings: Settings) -> Model:
    """The model server that the settings name."""
    return PROVIDERS[settings.provider](provider_config(settings))
