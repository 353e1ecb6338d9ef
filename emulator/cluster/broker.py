"""One broker: builds the rooms of a run (each after those that it uses), joins their handlers and listeners, ends runs.

A room uses only the rooms passed to its `build`. Calls in the other direction are listeners, timers, effects, or the
few callbacks defined here. This file contains no broker rules.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Concatenate, ParamSpec

from ..admin import room as admin_room
from ..assembly.broker_context import BrokerContext
from ..assembly.durable import Durable, joined_durables
from ..assembly.handlers import handlers_of, joined
from ..assembly.interference import Interference
from ..assembly.room import Room, joined_timers
from ..assembly.run_memory import RunMemory
from ..auth import room as auth_room
from ..auth.user_table import UserTable
from ..client import room as client_room
from ..client.assignments import RequestModes
from ..client.deliveries import Deliveries
from ..config import BrokerConfig, EmulationConfig
from ..faults.defects import Defects
from ..gate.call import Call, Channel, Handlers
from ..gate.gate import Gate
from ..group import room as group_room
from ..group.broker_tables import BrokerTables
from ..group.group_table import GroupTable
from ..group.lmq_offset_table import LmqOffsetTable
from ..group.offset_table import OffsetTable
from ..history.history import History
from ..kernel.errors import EngineError
from ..kernel.random_streams import RandomStreams
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import stored_record as records
from ..operations.base import Operation, Parked, Result
from ..overload import room as overload_room
from ..pop import room as pop_room
from ..pop.pop_kv_records import PopRecords
from ..pull import room as pull_room
from ..schedule import room as schedule_room
from ..send import room as send_room
from ..snapshot.durable_state import BrokerState, LogState, ServiceState
from ..static_topic import room as static_topic_room
from ..static_topic.queue_mappings import QueueMappings
from ..stats import room as stats_room
from ..stats.broker_metrics import BROKER, BrokerMetrics
from ..stats.response_counts import ResponseCounts
from ..store import room as store_room
from ..store.lmq_store import LmqStore
from ..store.message_store import MessageStore
from ..topic import room as topic_room
from ..transaction import room as transaction_room
from .name_server import NameServer
from .replication_status import ReplicationStatus

P = ParamSpec("P")


class Broker:
    """A node of the gate with a store of its own. It takes ownership of `state`, the state of a previous broker.

    `on_configured` is called after its configuration keys have changed, `on_pools_changed` after its request pools may
    have become active or inactive.
    """

    def __init__(  # noqa: PLR0913 - the parts of an engine that all its brokers share
        self,
        *,
        config: BrokerConfig,
        emulation: EmulationConfig,
        defects: Defects,
        scheduler: Scheduler,
        random_streams: RandomStreams,
        gate: Gate,
        name_server: NameServer,
        deliveries: Deliveries,
        history: History,
        on_configured: Callable[[], None],
        on_pools_changed: Callable[[], None],
        state: BrokerState | None = None,
    ) -> None:
        self.config = config
        self.name = config.broker_name
        self.broker_id = config.broker_id
        self.is_master = config.is_master
        self._scheduler = scheduler
        self._gate = gate
        self._name_server = name_server
        self._deliveries = deliveries
        self._on_configured = on_configured
        self._on_pools_changed = on_pools_changed
        self.store_host = ("127.0.0.1", 10911)
        self._known_ports = set() if state is None else set(state.log.store_ports)
        self._emulation = emulation
        self._defects = defects
        self._random_streams = random_streams
        self.interference = Interference()
        self.interference.skew.ms = 0 if state is None else state.skew_ms
        self._topic_room = topic_room.build(
            config,
            emulation,
            scheduler,
            on_change=partial(name_server.register_topic, self),
            on_delete=partial(name_server.note_deleted_topic, self),
        )
        self.topics = self._topic_room.topics
        self.mappings = QueueMappings(scheduler, self._choose_handlers)
        self.groups = GroupTable(config, scheduler, self._noted_by(history.note_deleted_group))
        self.offsets = (LmqOffsetTable if config.enable_lmq else OffsetTable)(
            config, scheduler, self._noted_by(history.note_move)
        )
        kind = LmqStore if config.enable_lmq else MessageStore
        self.store = kind(
            config=config,
            scheduler=scheduler,
            clock=scheduler.begin(skew=self.interference.skew),
            store_host=records.pack_host(self.store_host),
            max_bytes=emulation.store_max_bytes,
            batched=self.topics.batched,
            on_lost=self._noted_by(history.note_lost),
            on_trimmed=self._noted_by(history.note_trim),
        )
        self.user_table = UserTable(config)
        self.pop_records = PopRecords()
        self._request_modes: RequestModes = {}
        self.replication = ReplicationStatus(config, self.store)
        self.responses = ResponseCounts()
        """The responses of the run to remoting clients, which their protocol layer counts."""
        self.running = True
        """False between `stop` and `start`: it rejects all operations, and the name server does not list it."""
        services = ServiceState() if state is None else self._restore(state)
        self._begin_run(services)
        for name, kept in ({} if state is None else state.memories).items():
            if name in self.memories:  # missing if a configuration key has removed the service for the next run
                self.memories[name].continue_from(kept)

    def _noted_by(self, note: Callable[Concatenate[str, P], None]) -> Callable[P, None] | None:
        """Return a function that notes changes of a master; None for a slave, which only repeats its master's."""
        return partial(note, self.name) if self.is_master else None

    def _restore(self, state: BrokerState) -> ServiceState:
        """Restore store and tables from the state of a previous broker; return the state of the services."""
        self.topics.restore(table=state.topics, version=state.topics_version)
        self.groups.restore(table=state.groups, forbidden=state.forbidden, version=state.groups_version)
        self.offsets.restore(state.offsets)
        log = state.log
        self.store.restore(
            segment_bytes=log.segment_bytes,
            segments=log.segments,
            full=log.full,
            last_store_timestamp=log.last_store_timestamp,
            queues=state.queues,
            shared=log.shared,
        )
        self.pop_records.restore(state.pop_records)
        self.mappings.restore(table=state.mappings, version=state.mappings_version)
        self.user_table.users.update(state.users)
        self._request_modes.update({(mode.topic, mode.consumer_group): mode for mode in state.request_modes})
        return state.services

    # a run

    def _begin_run(self, state: ServiceState) -> None:
        """Build the rooms: services with only in-memory state start empty, the others restore theirs."""
        config, store, topics = self.config, self.store, self.topics
        interference = self.interference
        interference.begin_run()
        self.lifetime = self._scheduler.begin(skew=interference.skew)
        self._master_lifetime = self._scheduler.begin(idle=not self.is_master, skew=interference.skew)
        context = BrokerContext(
            node=self,
            config=config,
            emulation=self._emulation,
            defects=self._defects,
            clock=self.lifetime,
            master_clock=self._master_lifetime,
            random_streams=self._random_streams,
            gate=self._gate,
            interference=interference,
            complete=partial(self._gate.complete, self),
            push=partial(self._gate.push, self),
            push_to_all=partial(self._gate.push_to_all, self),
        )
        tables = BrokerTables(store, topics, self.groups, self.offsets)
        stats = stats_room.build(context, self._scheduler, topics.system, self.responses.settle)
        store.begin_run(stats.counters)
        self.responses.begin_run()
        storing = store_room.build(context, store, topics)
        offsets = group_room.build(context, tables)
        auth = auth_room.build(context, self.user_table)
        overload = overload_room.build(context)
        schedule = schedule_room.build(context, store, topics, storing.sync_replication)
        client = client_room.build(
            context,
            tables,
            request_modes=self._request_modes,
            read_queues=self._name_server.read_queues,
            drop_waiting=self._drop_waiting,
        )
        transaction = transaction_room.build(context, tables, client.clients, storing.sync_replication)
        send = send_room.build(
            context,
            tables,
            storing=storing,
            request_pools=overload.request_pools,
            recall=schedule.recall,
            client=client,
            half_stored=partial(self._deliveries.half_stored, self.name),
        )
        pull = pull_room.build(context, tables, client.clients)
        pop = pop_room.build(
            context,
            tables,
            records=self.pop_records,
            clients=client.clients,
            reader=pull.reader,
            timers=schedule.timers,
        )
        static_topic = static_topic_room.build(self.mappings, topics, pull.pulls, self._execute_at)
        admin = admin_room.build(
            context,
            tables,
            mappings=self.mappings,
            request_pools=overload.request_pools,
            timers=schedule.timers,
            client=client,
            slow_group_guard=pull.slow_group_guard,
            pop=pop,
            config_changed=self._apply_config,
        )
        self._rooms: list[Room] = [
            *(self._topic_room, stats, storing, offsets, auth, overload, schedule),
            *(client, transaction, send, pull, pop, static_topic, admin),
        ]
        for room in self._rooms:
            store.listen(room.listeners)
        self.durables: dict[str, Durable[Any]] = joined_durables(*(room.durables for room in self._rooms))
        """The services with durable state, by the name of their field in `ServiceState`."""
        for name, durable in self.durables.items():
            durable.restore(getattr(state, name))
        self.timer_kinds: dict[str, Room] = joined_timers(*self._rooms)
        """The room that sets the timers of a kind."""
        self.memories: dict[str, RunMemory[Any]] = {"offsets": self.offsets}
        """The services with state that a stop loses and a fork keeps, by name."""
        for room in self._rooms:
            self.memories |= room.memories
        self._plain_handlers: Handlers = joined(handlers_of(self.replication), *(room.handlers for room in self._rooms))
        self._static_topics = static_topic.static_topics
        self._choose_handlers()
        # the services that other layers use
        self.access = auth.access
        self.sync_replication = storing.sync_replication
        self.request_pools = overload.request_pools
        self.delays, self.timers = schedule.delays, schedule.timers
        self.clients, self.locks = client.clients, client.locks
        self.checks = transaction.checks
        self.pulls, self.compaction = pull.pulls, pull.compaction
        self.slow_group_guard = pull.slow_group_guard
        self.cold_data = pull.cold_data
        self.pops, self.notifications, self.revive = pop.pops, pop.notifications, pop.revive
        self.orders, self.pop_in_flight = pop.orders, pop.in_flight
        self.pop_buffer, self.pop_kv_service = pop.buffer, pop.kv_service
        self.pop_positions = pop.positions
        self.message_queries = admin.message_queries
        self._on_pools_changed()

    def _choose_handlers(self) -> None:
        """Map requests for static topics to physical queues, if there are static topics."""
        plain_handlers = self._plain_handlers
        self.handlers: Handlers = (
            self._static_topics.handlers(plain_handlers) if self.mappings.table else plain_handlers
        )

    def count_connection(self, event: str) -> None:
        """Count a remoting client that has connected (`CONNECT`) or disconnected (`CLOSE`)."""
        self.store.stats.by_name.count_connection(event)

    def metrics(self) -> Mapping[str, BrokerMetrics]:
        """Return counters since the start of the run and current sizes, by the name of the group of metrics."""
        stats = self.store.stats
        found = BrokerMetrics(
            messages_stored=stats.put,
            messages_delivered=stats.got,
            log_bytes=self.store.log.stored_bytes,
            waiting_pulls=len(self.pulls.hold),
            waiting_pops=self.pops.polling.total,
            waiting_notifications=self.notifications.polling.total,
            buffered_check_points=len(self.pop_buffer),
        )
        return {BROKER: found}

    def bind(self, host: tuple[str, int]) -> None:
        """Set the address at which clients reach the broker; messages stored from now on contain it.

        The first call must precede the first message.
        """
        self.store_host = host
        self._known_ports.add(host[1])
        self.store.bind(records.pack_host(host))

    @property
    def store_ports(self) -> set[int]:
        """The ports that ids of its messages may contain, including messages that another engine stored.

        The messages of a slave contain the ports of its master.
        """
        return self._known_ports | {self.store_host[1]}

    def state(self) -> BrokerState:
        """Return the state that a graceful shutdown now would leave; of a stopped broker, the state since its stop.

        Stores the merge buffer's check points first. The result shares tables and log with the broker, so it is valid
        only until the broker continues.
        """
        self.pop_buffer.drain()
        topics, groups, log = self.topics, self.groups, self.store.log
        segments, full = log.files()
        log_state = LogState(
            segment_bytes=log.segment_bytes,
            segments=segments,
            full=full,
            last_store_timestamp=self.store.last_store_timestamp,
            shared=log.shared,
        )
        if not log_state.is_empty:
            log_state.store_ports = self.store_ports
        return BrokerState(
            config=self.config,
            log=log_state,
            topics=topics.table,
            topics_version=(topics.version_counter, topics.version_timestamp),
            groups=groups.table,
            groups_version=(groups.version_counter, groups.version_timestamp),
            forbidden=groups.forbidden,
            offsets=self.offsets.committed,
            queues=list(self.store.queues.values()),
            request_modes=list(self._request_modes.values()),
            pop_records=list(self.pop_records.table.values()),
            services=self._dump_on_stop(),
            mappings=self.mappings.table,
            mappings_version=(self.mappings.version_counter, self.mappings.version_timestamp),
            users=self.user_table.users,
        )

    def fork_memories(self) -> dict[str, Any]:
        """Return the state that a fork keeps although a stop would lose it."""
        return {name: memory.fork_state() for name, memory in self.memories.items()}

    def _dump_on_stop(self) -> ServiceState:
        """Return the state of the services at a graceful shutdown."""
        return ServiceState(**{name: durable.dump_on_stop() for name, durable in self.durables.items()})

    def _dump_on_crash(self) -> ServiceState:
        """Return the state of the services as of the last writes of their files."""
        return ServiceState(**{name: durable.dump_on_crash() for name, durable in self.durables.items()})

    def crash(self, *, power_loss: bool = True) -> None:
        """Crash and restart at once with the stored messages.

        The broker loses everything that was only in memory: connections, waiting requests (without a response), queue
        locks, pending offset resets, check points in the merge buffer, and ends of transactions without an op message.
        Files that are written periodically keep their last contents: offsets of groups, of delay levels and of the
        timer, and ordered batches. With `power_loss` the unflushed end of the commit log is lost, too. Without it only
        the process dies, and the operating system still has that data.
        """
        self._end_run()
        self._restart_run(power_loss=power_loss)

    def _end_run(self) -> None:
        self._scheduler.end(self.lifetime)
        self._scheduler.end(self._master_lifetime)

    def _restart_run(self, state: ServiceState | None = None, *, power_loss: bool = False) -> None:
        self.store.recover(power_loss=power_loss)
        self.offsets.recover()
        self.groups.recover()
        self._begin_run(state or self._dump_on_crash())

    def restart(self) -> None:
        """Shut down gracefully and restart at once: all files are written, and the merge buffer is stored.

        The broker loses the state that upstream does not write even then: connections, waiting requests, queue locks,
        pending offset resets, ends of transactions without an op message, KV records in the cache.
        """
        self.pop_buffer.drain()
        self.offsets.write()
        self.groups.write()
        state = self._dump_on_stop()
        self._end_run()
        self._restart_run(state)

    def stop(self, *, kill: bool = False) -> None:
        """Stop until `start`: gracefully, or with `kill` as `crash` does without power loss.

        A stopped broker rejects every operation with SERVICE_NOT_AVAILABLE. The new run that is built here serves only
        callers without a connection, which read its state: snapshots, inspection and other brokers. Its timers never
        run. It has no clients, and after a crash only the data that survived.
        """
        self.sync_replication.refuse(self._not_running())
        if kill:
            self.crash(power_loss=False)
        else:
            self.restart()
        self._end_run()
        self.running = False
        self.handlers = dict.fromkeys(self.handlers, self._refuse)

    def begin_shutdown(self) -> None:
        """Start a graceful shutdown: from now on clients that support GO_AWAY get it."""
        self.request_pools.begin_shutdown()
        self._on_pools_changed()

    def is_static(self, topic: str) -> bool:
        """True if a topic is static: its queues are mapped to physical ones."""
        return topic in self.mappings.table

    @property
    def registered(self) -> bool:
        """True if the name server lists it: it runs and is not about to stop."""
        return self.running and not self.request_pools.shutting_down

    def start(self) -> None:
        """Start after `stop`, with the stored messages."""
        self._restart_run()
        self.running = True

    def _refuse(self, call: Call, operation: Operation) -> Result:
        raise self._not_running()

    def _not_running(self) -> EngineError:
        return EngineError(ResponseCode.SERVICE_NOT_AVAILABLE, f"the broker[{self.name}] is not running")

    def copy_tables(self, master: "Broker") -> None:
        """Copy the master's topics, groups, offsets, request modes, timer metrics and delay offsets to this slave.

        Source: SlaveSynchronize (5.3.3).
        """
        if self._defects.slave_skips_topics_with_attributes:
            self.topics.copy_until_attributes(master.topics)
        else:
            self.topics.copy_from(master.topics)
        self.offsets.copy_from(master.offsets)
        self.delays.copy_from(master.delays)
        if self.config.timer_wheel_enable:
            self.timers.metrics.copy_from(master.timers.metrics)
        self.groups.copy_from(master.groups)
        self._request_modes.clear()
        self._request_modes.update(master._request_modes)

    def execute(self, call: Call, operation: Operation) -> Result | Parked:
        """Carry out an operation whose queue ids are physical: those of a static topic are not mapped."""
        return self._plain_handlers[type(operation)](call, operation)

    # callbacks of the rooms

    def _execute_at(self, broker_name: str, call: Call, operation: Operation) -> Result | Parked:
        """Carry out an operation with physical queue ids (see `execute`) at the master of a broker name."""
        broker = self if broker_name == self.name else self._name_server.master(broker_name)
        if broker is None or not broker.running:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"The broker[{broker_name}] is not there")
        return broker.execute(call, operation)

    def _apply_config(self) -> None:
        """Apply a change of configuration keys. Raises ConfigError if the request pools refuse it."""
        self.request_pools.apply_config()
        self._on_pools_changed()
        for room in self._rooms:
            for config_changed in room.listeners.config_changed:
                config_changed()
        self._on_configured()

    def _drop_waiting(self, channel: Channel) -> None:
        for room in self._rooms:
            for drop in room.listeners.channel_closed:
                drop(channel.channel_id)
