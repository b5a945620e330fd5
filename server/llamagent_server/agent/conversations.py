"""The conversations of a connection: which are open, which is the current one, how one is begun and gone on with."""

from collections.abc import Callable
from dataclasses import dataclass

from llamagent_server.agent.ports import Store, TraceListener
from llamagent_server.agent.session import Ports, Session
from llamagent_server.agent.trace import Trace
from llamagent_server.agent.turns import Turn, Turns
from llamagent_server.core.records import replay, session_record
from llamagent_server.errors import Busy

# Conversations that a connection has in memory; of more, the one that was not used for longest is closed if nothing
# runs in it. It is stored, and opened again when it is asked for.
MAX_OPEN = 50


@dataclass(frozen=True, slots=True)
class Conversation:
    """An open session with its turns. `title` is what the store says of a resumed one."""

    session: Session
    turns: Turns
    title: str = ""

    @property
    def id(self) -> str:
        return self.session.id

    def idle(self) -> Session:
        """The session, for a change that no running turn may see. Raises Busy."""
        if not self.turns.idle:
            raise Busy("A turn is running in this conversation.", hint="Wait for its end or cancel it, then try again.")
        return self.session


class Conversations:
    """`store` is asked anew each time: trust may move it. `tell` says to the person what is wrong with a stored one."""

    def __init__(
        self,
        ports: Ports,
        store: Callable[[], Store],
        listener: TraceListener,
        on_queue: Callable[[str, tuple[Turn, ...]], None],
        tell: Callable[[str], None],
    ) -> None:
        self._ports = ports
        self._tell = tell
        self._store = store
        self._listener = listener
        self._on_queue = on_queue
        self._open: dict[str, Conversation] = {}  # the one that was used last stands last
        self._copies: dict[str, str] = {}  # of conversations in use elsewhere: their id, and that of our copy
        self.current: Conversation | None = None

    @property
    def all(self) -> tuple[Conversation, ...]:
        return tuple(self._open.values())

    def get(self, session: str | None) -> Conversation:
        """The named conversation, else the current one, else a new one. Raises UnknownSession."""
        if session is None:
            return self.current or self.begin()
        known = self._open.get(self._copies.get(session, session))
        if known is None:
            known = self._stored(session)
            self._copies[session] = known.id
        return self._used(known)

    def to_ask_in(self, session: str | None) -> Conversation:
        """As `get`; what is asked in becomes the current one, what is only looked at does not."""
        self.current = self.get(session)
        return self.current

    def begin(self) -> Conversation:
        created = self._ports.clock().isoformat(timespec="seconds").replace("+00:00", "Z")
        model = self._ports.settings().model
        journal = self._store().create(lambda session: session_record(session, created, model))
        session = Session(self._ports, journal, Trace(journal.session, journal, self._listener, self._ports.clock))
        return self._keep(Conversation(session, Turns(session, self._on_queue)))

    def _stored(self, session: str) -> Conversation:
        stored = self._store().open(session)
        told = replay(stored.records)
        trace = Trace(stored.journal.session, stored.journal, self._listener, self._ports.clock, last_seq=told.last_seq)
        resumed = Session(self._ports, stored.journal, trace, told)
        if stored.problem is not None:
            self._tell(stored.problem)
        return Conversation(resumed, Turns(resumed, self._on_queue), title=stored.title)

    def forget(self, session: str) -> None:
        """Close a conversation that is to be deleted. Raises Busy while it runs a turn."""
        known = self._open.get(session)
        if known is not None:
            known.idle()
            self._close(known)

    async def close(self) -> None:
        for conversation in self.all:
            await conversation.turns.close()
            conversation.session.journal.close()

    def _keep(self, conversation: Conversation) -> Conversation:
        self.current = conversation
        return self._used(conversation)

    def _used(self, conversation: Conversation) -> Conversation:
        self._open.pop(conversation.id, None)
        self._open[conversation.id] = conversation
        if len(self._open) > MAX_OPEN:
            self._close_one(besides=(conversation, self.current))
        return conversation

    def _close_one(self, *, besides: tuple[Conversation | None, ...]) -> None:
        """What could not be stored stays: it is nowhere else."""
        for known in self.all:
            if known not in besides and known.turns.idle and known.session.journal.problem is None:
                self._close(known)
                return

    def _close(self, conversation: Conversation) -> None:
        conversation.session.journal.close()
        del self._open[conversation.id]
        if self.current is conversation:
            self.current = None
