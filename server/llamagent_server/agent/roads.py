"""The road by which a model is asked for tool calls: chosen once, left for the other one, and remembered."""

from dataclasses import replace
from datetime import timedelta

from llamagent_server.agent.ports import ModelInfo
from llamagent_server.agent.road import Learned, Road, RoadKey
from llamagent_server.agent.session import Ports, Session
from llamagent_server.core.events import Decision, HarnessDecided, Level, Notice
from llamagent_server.errors import ModelError
from llamagent_server.settings import Settings

# A model that was judged too early is given another chance.
FORGET_AFTER = timedelta(days=30)


def road_key(ports: Ports, settings: Settings) -> RoadKey:
    return (ports.model().url, settings.model)


def road(session: Session, settings: Settings) -> Road:
    return session.ports.roads.get(road_key(session.ports, settings), Road.NATIVE)


def fitted(ports: Ports, settings: Settings) -> Settings:
    """`settings` with no more context than the server gives the model: what is beyond would be lost in silence."""
    window = ports.windows.get(road_key(ports, settings), settings.num_ctx)
    return replace(settings, num_ctx=window) if window < settings.num_ctx else settings


async def choose_road(session: Session, settings: Settings) -> None:
    """The server is asked once what the model can do, and one that cannot say is taken at its best; but what is
    remembered of the model counts more."""
    ports = session.ports
    key = road_key(ports, settings)
    if key in ports.roads:
        return
    try:
        info = await ports.model().describe(settings.model)
    except ModelError:
        return  # the request itself tells the person what is wrong, in better words
    _note_window(session, settings, info)
    if await _remembered(session, settings, key):
        return
    if info.capabilities is not None and "tools" not in info.capabilities:
        _take_schema_road(session, settings, f"{settings.model} cannot be given tools")
    else:
        ports.roads[key] = Road.NATIVE


def _note_window(session: Session, settings: Settings, info: ModelInfo) -> None:
    ports = session.ports
    # Ollama loads a model anew with what it is asked for, up to what it was trained for; others keep what they have.
    loaded = None if ports.model().provider == "ollama" else info.loaded_context
    known = [tokens for tokens in (info.context_length, loaded) if tokens]
    if known and min(known) < settings.num_ctx:
        ports.windows[road_key(ports, settings)] = window = min(known)
        words = (
            f"The server gives {settings.model} {window} tokens of context, and num_ctx is {settings.num_ctx}: "
            f"{window} count. Start the server with more, or choose another model, for longer work."
        )
        session.trace.emit(Notice(Level.WARNING, words))


async def learn_schema_road(session: Session, settings: Settings, why: str) -> None:
    """From here on the model is asked by a schema, in later connections too."""
    _take_schema_road(session, settings, why)
    identity = await session.ports.model().identity(settings.model)
    learned = Learned(identity, why.rstrip("."), session.ports.clock())
    await session.ports.memory.keep(road_key(session.ports, settings), learned)


async def _remembered(session: Session, settings: Settings, key: RoadKey) -> bool:
    """Whether the schema road was taken because of an earlier connection's experience, which still holds."""
    ports = session.ports
    learned = await ports.memory.recall(key)
    if learned is None:
        return False
    identity = await ports.model().identity(settings.model)
    changed = identity and learned.identity and identity != learned.identity
    if changed or ports.clock() - learned.since > FORGET_AFTER:
        await ports.memory.forget(key)
        because = "the model or its server has changed since" if changed else "that is long ago"
        words = (
            f"{settings.model} is asked for tool calls again: they failed on {learned.since:%Y-%m-%d}, but {because}"
        )
        session.trace.emit(HarnessDecided(Decision.REPAIR, words))
        return False
    _take_schema_road(session, settings, f"remembered from {learned.since:%Y-%m-%d}: {learned.why}")
    return True


def _take_schema_road(session: Session, settings: Settings, why: str) -> None:
    session.ports.roads[road_key(session.ports, settings)] = Road.SCHEMA
    session.meter.forget()
    words = f"{why.rstrip('.')}: each of its steps is constrained by a JSON schema instead"
    session.trace.emit(HarnessDecided(Decision.REPAIR, words))
