"""The engine: brokers and a name server in one deterministic simulation with one clock, one seed and one journal.

engine = Engine(seed=7, now_ms=1_700_000_000_000)
engine.execute(engine.brokers[0], CreateTopic(TopicConfig("orders", 4, 4)))
engine.scheduler.advance_to(engine.scheduler.now_ms + 10_000)
"""

from collections.abc import Callable, Mapping, Sequence

from .client.client_watch import SILENT, ClientWatch
from .client.deliveries import Deliveries
from .cluster.broker import Broker
from .cluster.name_server import NameServer
from .cluster.replica import Replica
from .config import MASTER_ID, BrokerConfig, EmulationConfig, NamesrvConfig
from .faults.defects import Defects
from .gate.call import Call, Channel, Node, Outcome, is_through_proxy
from .gate.effects import Effect
from .gate.gate import Gate
from .gate.journal import Journal
from .history.events import BrokerEventKind
from .history.history import History
from .kernel.errors import EngineError
from .kernel.random_streams import RandomStreams
from .kernel.scheduler import Scheduler
from .kernel.timer_kind import TimerKind
from .kernel.value_class import frozen_value
from .operations.base import Operation, Result
from .snapshot.durable_state import BrokerState, EngineState


def raise_bug(bug: BaseException) -> None:
    """Re-raise a bug of the emulator itself; the default for `report_bug`."""
    raise bug


@frozen_value
class Callbacks:
    """Functions of an engine's owner that the engine calls."""

    ahead_ms: Callable[[], int] = lambda: 0
    """Returns the engine's time minus the clients' clock (ms, negative: behind)."""
    on_configured: Callable[[], None] = lambda: None
    """Called after configuration keys of a broker have changed."""
    on_missing_topic: Callable[[Call, str], None] = lambda call, topic: None
    """Called with each request for the route of a topic that does not exist."""
    watch: ClientWatch = SILENT
    """Called with acts of clients that may be mistakes of their users."""


@frozen_value
class EngineListeners:
    """Functions of a component that an engine calls from `Engine.listen` on."""

    pools_changed: Callable[[], None]
    """Called after request pools of a broker may have become active or inactive."""
    leases_extended: Callable[[int], None]
    """Called with the `ms` of `extend_client_leases`, for clients that the component itself expires."""
    broker_stopped: Callable[[Broker], None]
    """Called with each broker that stops."""
    run_ended: Callable[[], None]
    """Called after each stop, crash or restart of a broker. Requests that the broker had not completed are lost."""


class DirectChannel:
    """The channel of operations submitted directly by the owner of the engine. It keeps the effects pushed to it."""

    def __init__(self, channel_id: str = "direct", remote_address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.channel_id = channel_id
        self.remote_address = remote_address
        self.active = True
        self.effects: list[Effect] = []

    def push(self, effect: Effect) -> None:
        """Append an effect to `effects`."""
        self.effects.append(effect)


class DirectCall:
    """A call that stores its outcome. `outcome` is None while the operation is parked. `number`: as in `Call`."""

    label = "direct"

    def __init__(self, channel: Channel, number: int | None = None) -> None:
        self.channel = channel
        self.number = number
        self.active = True
        self.outcome: Outcome | None = None

    def reply(self, outcome: Outcome) -> None:
        """Store the outcome."""
        self.outcome = outcome


def _with_state(
    configs: Sequence[BrokerConfig], states: Sequence[BrokerState]
) -> list[tuple[BrokerConfig, BrokerState | None]]:
    """Pair each broker's configuration with the state that it starts from (None: an empty broker)."""
    if not states:
        return [(config, None) for config in configs or [BrokerConfig()]]
    return list(zip(configs or [state.config for state in states], states, strict=True))


class Engine:
    """Brokers (default: one master with upstream's defaults) and the name server that lists them.

    `now_ms` is the start time (ms since the epoch, default 0). `seed` determines every random choice (default 0).
    `report_bug` is called with exceptions that are bugs of the emulator itself.

    With a `state` the engine starts from that snapshot and takes ownership of it. All its brokers run.
    Arguments that are not passed keep the snapshot's values. `brokers`, if passed, are configurations of the
    snapshot's brokers, in the same order.
    """

    def __init__(
        self,
        *,
        brokers: Sequence[BrokerConfig] = (),
        namesrv: NamesrvConfig | None = None,
        emulation: EmulationConfig | None = None,
        seed: int | None = None,
        now_ms: int | None = None,
        report_bug: Callable[[BaseException], None] = raise_bug,
        callbacks: Callbacks | None = None,
        state: EngineState | None = None,
    ) -> None:
        state = state or EngineState()
        self.emulation = emulation or state.emulation
        self.scheduler = Scheduler(state.now_ms if now_ms is None else now_ms)
        self.random_streams = RandomStreams(state.seed, state.streams) if seed is None else RandomStreams(seed)
        self.journal = Journal(self.emulation.journal_max_entries, self.emulation.journal_max_bytes)
        callbacks = callbacks or Callbacks()
        self.history = History(
            self.scheduler,
            self.emulation.delivery_record_max_entries,
            is_continued=not all(broker.log.is_empty for broker in state.brokers),
            before=state.history,
        )
        self.deliveries = Deliveries(self.scheduler, self.broker, self.history, callbacks.watch)
        listeners = self.deliveries.listeners()
        self.gate = Gate(self.scheduler, self.journal, report_bug, callbacks.ahead_ms, listeners=listeners)
        self.defects = Defects()
        """Upstream's defects that are switched on: none at first, except in a fork."""
        for name, holders in state.defects.items():
            self.defects.enable(name, holders)
        self._listeners: list[EngineListeners] = []
        self.brokers: list[Broker] = []
        self.name_server = NameServer(
            config=namesrv or state.namesrv,
            emulation=self.emulation,
            defects=self.defects,
            scheduler=self.scheduler,
            brokers=self.brokers,
            kv_config=state.kv_config,
            on_missing_topic=callbacks.on_missing_topic,
        )
        common_ends: dict[Broker, int] = {}
        for config, left in _with_state(brokers, state.brokers):
            broker = Broker(
                config=config,
                emulation=self.emulation,
                defects=self.defects,
                scheduler=self.scheduler,
                random_streams=self.random_streams,
                gate=self.gate,
                name_server=self.name_server,
                deliveries=self.deliveries,
                history=self.history,
                on_configured=callbacks.on_configured,
                on_pools_changed=self._pools_changed,
                state=left,
            )
            self.brokers.append(broker)
            common_ends[broker] = 0 if left is None else left.common_end
            if state.history is None:
                self._note(broker, BrokerEventKind.STARTED)
        self.replicas = [
            Replica(master, slave, common_ends.get(slave, 0))
            for slave in self.brokers
            if not slave.is_master and (master := self.broker(slave.name)) is not None
        ]
        self._direct = DirectChannel()
        self._direct_calls = 0

    def listen(self, listeners: EngineListeners) -> None:
        """Call the functions of a component as long as the engine exists, after those of components before it."""
        self._listeners.append(listeners)

    def state(self, extras: Mapping[str, Mapping[str, str]] | None = None) -> EngineState:
        """Return the state that a graceful stop of all brokers and the name server would leave now. They keep running.

        Call it between requests or from a timer. The state shares its objects with the engine: write or copy it before
        anything else happens. `extras`: data of upper layers to store with it, by section and key.
        """
        for broker in self.brokers:
            broker.pop_buffer.drain()  # of all brokers first: slaves replicate what their master stores here
        return EngineState(
            now_ms=self.scheduler.now_ms,
            seed=self.random_streams.seed,
            streams=self.random_streams.states(),
            emulation=self.emulation,
            namesrv=self.name_server.config,
            kv_config=self.name_server.kv_config,
            brokers=[broker.state() for broker in self.brokers],
            extras={name: dict(held) for name, held in (extras or {}).items()},
        )

    def fork_state(self, extras: Mapping[str, Mapping[str, str]] | None = None) -> EngineState:
        """Return the state from which a fork starts: `Engine(state=engine.fork_state())`. Both engines continue.

        The result contains the result of `state()`, the history, and the defects of upstream that are switched on. It
        also contains state that a stop would lose, unless that state belongs to a connection (`Room.memories`). The
        engines share the bytes of the log and the entries of the consume queues, and each sees only its own changes.
        Call it between requests or from a timer. Only one fork can start from a result. `extras`: as in `state`.
        """
        from .snapshot.state_copy import copy_state

        fork = copy_state(self.state(extras))
        fork.defects = {name: holders for name, holders in self.defects.holders.items() if holders}
        fork.history = self.history.fork_state()
        for broker, left in zip(self.brokers, fork.brokers, strict=True):
            left.memories = broker.fork_memories()
            left.skew_ms = broker.interference.skew.ms
        for replica in self.replicas:
            fork.brokers[self.brokers.index(replica.slave)].common_end = replica.common_end()
        return fork

    def end_skews(self) -> None:
        """Set the clocks of all brokers of a fork right, before rules set them wrong again. Timers keep their instants.

        Until this call the clocks have the parent's skews, so that the brokers set their timers as in the parent.
        """
        for broker in self.brokers:
            broker.interference.skew.ms = 0
        self.scheduler.apply_skews()

    def broker(self, name: str, broker_id: int = MASTER_ID) -> Broker | None:
        """Return the broker with this name and id (0 = master), or None."""
        return next((b for b in self.brokers if b.name == name and b.broker_id == broker_id), None)

    def crash(self, broker: Broker | None = None, *, power_loss: bool = True) -> None:
        """Crash a broker (default: the first) and start it again at once. A no-op if it is stopped.

        `Broker.crash` lists the state that is lost. Call it between requests or from a timer, not while a request runs.
        """
        broker = broker or self.brokers[0]
        if broker.running:
            self._note(broker, BrokerEventKind.CRASHED, power_loss=power_loss)
            broker.crash(power_loss=power_loss)
            self._started(broker)
            self._run_ended()

    def restart(self, broker: Broker | None = None) -> None:
        """Stop a broker (default: the first) gracefully and start it again at once. A no-op if it is stopped."""
        broker = broker or self.brokers[0]
        if broker.running:
            self._note(broker, BrokerEventKind.RESTARTED)
            broker.restart()
            self._started(broker)
            self._run_ended()

    def stop(self, broker: Broker, *, kill: bool = False, on_stopped: Callable[[], None] = lambda: None) -> None:
        """Stop a broker until `start()`: gracefully, or as a crash with `kill=True`. A no-op if it is stopped.

        With `enableShutdownGracefully` a graceful stop lasts `shutdownWaitTimeSeconds`: the name server unregisters the
        broker first, and the broker sends GO_AWAY meanwhile. `on_stopped` is called when the broker is stopped, also
        if it was stopped before. It is not called if another graceful stop is in progress, or if the broker is killed
        or crashes before this one ends.
        """
        if not broker.running or kill or not broker.config.enable_shutdown_gracefully:
            self._down(broker, kill, on_stopped)
        elif not broker.request_pools.shutting_down:
            broker.begin_shutdown()
            self.name_server.unregister(broker)
            wait_ms = broker.config.shutdown_wait_time_seconds * 1000
            broker.lifetime.call_later(
                wait_ms, lambda: self._down(broker, kill, on_stopped), TimerKind.SHUTDOWN, broker.name
            )

    def _down(self, broker: Broker, kill: bool, on_stopped: Callable[[], None]) -> None:
        """Stop a broker now if it runs: its clients leave, and name server, replicas and listeners are notified."""
        if broker.running:
            self._note(broker, BrokerEventKind.KILLED if kill else BrokerEventKind.STOPPED)
            for channel_id in broker.clients.channel_ids():
                if not is_through_proxy(channel_id):  # the client of a proxy stays connected to the proxy
                    self.history.clients.left(channel_id, self.scheduler.now_ms)
            broker.stop(kill=kill)
            self.name_server.unregister(broker)
            for replica in self.replicas:
                if broker in (replica.master, replica.slave):
                    replica.disconnect()
            for each in self._listeners:
                each.broker_stopped(broker)
            self._run_ended()
        on_stopped()

    def start(self, broker: Broker) -> None:
        """Start a stopped broker with its stored data. A no-op if it runs."""
        if not broker.running:
            self._note(broker, BrokerEventKind.STARTED)
            broker.start()
            self._started(broker)

    def _note(self, broker: Broker, kind: BrokerEventKind, *, power_loss: bool = False) -> None:
        name = broker.name if broker.is_master else f"{broker.name}:{broker.broker_id}"
        self.history.note_broker_event(name, kind, power_loss=power_loss)

    def _started(self, broker: Broker) -> None:
        self.name_server.register(broker)
        for replica in self.replicas:
            if replica.slave is broker:
                replica.slave_started()
            if broker in (replica.master, replica.slave):
                replica.connect()

    def _run_ended(self) -> None:
        for each in self._listeners:
            each.run_ended()

    def _pools_changed(self) -> None:
        for each in self._listeners:
            each.pools_changed()

    def extend_client_leases(self, ms: int) -> None:
        """Extend client leases by `ms` (>= 0) before a clock jump, because clients follow the wall clock.

        Clients keep registrations and queue locks alive by renewing them. They cannot do so during a jump, so neither
        expires because of it. Everything else that is due within the jump happens.
        """
        # With this defect, a jump counts as silence of clients (ClientHousekeepingService, GrpcClientSettingsManager).
        if self.defects.clients_expire_in_clock_jumps:
            return
        for broker in self.brokers:
            broker.clients.extend_leases(ms)
            broker.locks.extend_leases(ms, broker.clients.is_consumer)
        for each in self._listeners:
            each.leases_extended(ms)

    def submit(self, node: Node, operation: Operation, channel: Channel | None = None) -> DirectCall:
        """Submit an operation that may be parked; read `outcome` of the returned call later."""
        self._direct_calls += 1
        call = DirectCall(channel or self._direct, self._direct_calls)
        self.gate.submit(node, call, operation)
        return call

    def execute(self, node: Node, operation: Operation, channel: Channel | None = None) -> Result:
        """Submit an operation that completes at once and return its result. Raises EngineError if it is refused."""
        outcome = self.submit(node, operation, channel).outcome
        if isinstance(outcome, EngineError):
            raise outcome
        if outcome is None:
            raise AssertionError(f"{operation} waits; use submit for operations that may wait")
        return outcome
