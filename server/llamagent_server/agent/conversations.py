"""The conversations of a connection: which are open, which is the current one, how one is begun and gone on with."""

from collections.abc import Callable
from dataclasses import dataclass

from llamagent_server.agent.ports import Store, TraceListener
from llamagent_server.agent.session import Ports, Session
from llamagent_server.agent.trace import Trace
from llamagent_server.agent.turns import Turn, Turns
from llamagent_server.core.records import replay, session_record
from llamagent_server.errors import Busy


@dataclass(frozen=True, slots=True)
class Conversation:
    """An open session with its turns. `title` and `problem` are what the store says of a resumed one."""

    session: Session
    turns: Turns
    title: str = ""
    problem: str | None = None

    @property
    def id(self) -> str:
        return self.session.id

    def idle(self) -> Session:
        """The session, for a change that no running turn may see. Raises Busy."""
        if not self.turns.idle:
            raise Busy("A turn is running in this conversation.", hint="Wait for its end or cancel it, then try again.")
        return self.session


class Conversations:
    """`store` is asked anew each time: trust may move it."""

    def __init__(
        self,
        ports: Ports,
        store: Callable[[], Store],
        listener: TraceListener,
        on_queue: Callable[[str, tuple[Turn, ...]], None],
    ) -> None:
        self._ports = ports
        self._store = store
        self._listener = listener
        self._on_queue = on_queue
        self._open: dict[str, Conversation] = {}
        self.current: Conversation | None = None

    @property
    def all(self) -> tuple[Conversation, ...]:
        return tuple(self._open.values())

    def get(self, session: str | None) -> Conversation:
        """The named conversation, else the current one, else a new one. Raises UnknownSession."""
        if session is None:
            return self.current or self.begin()
        return self._open.get(session) or self.resume(session)

    def begin(self) -> Conversation:
        created = self._ports.clock().isoformat(timespec="seconds").replace("+00:00", "Z")
        model = self._ports.settings().model
        journal = self._store().create(lambda session: session_record(session, created, model))
        session = Session(self._ports, journal, Trace(journal.session, journal, self._listener, self._ports.clock))
        return self._keep(Conversation(session, Turns(session, self._on_queue)))

    def resume(self, session: str) -> Conversation:
        """Go on with a stored conversation and make it the current one. Raises UnknownSession."""
        if (known := self._open.get(session)) is not None:
            self.current = known
            return known
        stored = self._store().open(session)
        told = replay(stored.records)
        trace = Trace(stored.journal.session, stored.journal, self._listener, self._ports.clock, last_seq=told.last_seq)
        resumed = Session(self._ports, stored.journal, trace, told)
        return self._keep(
            Conversation(resumed, Turns(resumed, self._on_queue), title=stored.title, problem=stored.problem)
        )

    def forget(self, session: str) -> None:
        """Close a conversation that is to be deleted. Raises Busy while it runs a turn."""
        known = self._open.get(session)
        if known is not None:
            known.idle()
            del self._open[session]
            if self.current is known:
                self.current = None

    async def close(self) -> None:
        for conversation in self.all:
            await conversation.turns.close()

    def _keep(self, conversation: Conversation) -> Conversation:
        self._open[conversation.id] = conversation
        self.current = conversation
        return conversation
