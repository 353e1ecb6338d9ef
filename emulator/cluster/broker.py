"""One broker: creates its services, connects them, and maps each operation to the service that handles it.

A service calls only the services passed to its constructor. Calls in the other direction are callbacks defined here,
timers or effects. This file contains no broker rules.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..admin.broker_requests import BrokerAdministration
from ..admin.consume_stats import Consumption
from ..admin.message_queries import Views
from ..admin.tool_requests import BrokerTools
from ..admin.topic_and_group_requests import GroupAdministration, TopicAdministration
from ..assembly.handlers import handlers_of, handles
from ..auth.acl_requests import UserRights
from ..auth.authentication import Access
from ..auth.user_requests import Users
from ..auth.user_table import Accounts
from ..client.assignments import Assignments
from ..client.client_registry import Clients
from ..client.client_requests import Memberships
from ..client.client_side_resets import ClientResets
from ..client.consumer_requests import ConsumerInquiries
from ..client.queue_locks import QueueLocks
from ..client.server_requests import ClientQuestions
from ..config import BrokerConfig, EmulationConfig
from ..gate.effects import Effect, Question
from ..gate.gate import Call, Channel, Gate, Handlers
from ..gate.journal import Journal
from ..group.group_table import Groups
from ..group.lmq_offset_table import LightOffsets
from ..group.offset_requests import Positions
from ..group.offset_table import Offsets
from ..kernel.errors import EngineError
from ..kernel.random_streams import Chance
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import names
from ..message import stored_record as records
from ..operations.base import Operation, Parked, Result
from ..operations.clients import (
    MessageQueue,
)
from ..operations.groups import (
    SetMessageRequestMode,
)
from ..operations.send import (
    EndTransaction,
    RecallMessage,
    SendMessage,
)
from ..overload.request_pools import RequestPools
from ..pop.ack_service import AckService
from ..pop.check_point import ReviveLog
from ..pop.consumer_order_info import Orders
from ..pop.notification_service import NotificationService
from ..pop.pop_inflight_counter import PopInFlight
from ..pop.pop_init_offset import PopPositions
from ..pop.pop_kv_records import PopRecords
from ..pop.pop_kv_service import PopConsumer
from ..pop.pop_merge_buffer import PopBuffer
from ..pop.pop_retry_writer import Redelivery
from ..pop.pop_service import PopService
from ..pop.revive_service import ReviveService
from ..pull.cold_data import ColdData
from ..pull.pull_service import PullService
from ..pull.queue_reader import QueueReader
from ..pull.slow_group_guard import SlowReaders
from ..schedule.delay_levels import DelayService
from ..schedule.recall_service import RecallService
from ..schedule.timer_service import TimerService
from ..send.reply_service import ReplyService
from ..send.send_back import RetryService
from ..send.send_service import SendHooks, SendService
from ..snapshot.durable_state import BrokerState, LogState, ServiceState
from ..static_topic.queue_mappings import QueueMappings
from ..static_topic.static_topics import StaticTopics
from ..stats.broker_stats import BrokerStats, LightBrokerStats
from ..stats.store_stats import StoreStats
from ..store.arrival_listener import Arrival
from ..store.compaction import Compaction
from ..store.file_deletion import CleanUp
from ..store.lmq_store import LightStore
from ..store.message_store import MessageStore
from ..store.write_buffers import StoreBuffers
from ..topic.topic_table import Topics
from ..transaction.op_queue import OpLog
from ..transaction.transaction_check import TransactionChecks
from ..transaction.transaction_service import TransactionService
from .replica import Acknowledgements, Replica, ReplicationStatus

MASTER_ID = 0


class Broker:
    """A gate node with its own store; takes ownership of `state`, the state of a previous broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        emulation: EmulationConfig,
        scheduler: Scheduler,
        chance: Chance,
        journal: Journal,
        gate: Gate,
        state: BrokerState | None = None,
    ) -> None:
        self.config = config
        self.name = config.broker_name
        self.broker_id = config.broker_id
        self._scheduler = scheduler
        self._journal = journal
        self._gate = gate
        self.store_host = ("127.0.0.1", 10911)
        self._emulation = emulation
        self._chance = chance
        self.topics = Topics(config, scheduler, emulation.topic_queue_nums_max)
        self.mappings = QueueMappings(scheduler)
        self.groups = Groups(config, scheduler)
        self.offsets = (LightOffsets if config.enable_lmq else Offsets)(config, scheduler)
        kind = LightStore if config.enable_lmq else MessageStore
        self.store = kind(config, scheduler, records.pack_host(self.store_host), emulation.store_max_bytes)
        self.store.follows = self.broker_id != MASTER_ID
        self.store.batched = self.topics.batched
        self.accounts = Accounts(config)
        self.pop_records = PopRecords()
        self._request_modes: dict[tuple[str, str], SetMessageRequestMode] = {}
        self.peer: Callable[[str], Broker | None] = lambda name: None
        """Returns the master of a broker name, or None; static topics reach the other parts of a queue with it."""
        self.read_queues: Callable[[str], list[MessageQueue] | None] = lambda topic: None
        """Returns the readable queues of a topic on all brokers, or None if the topic has no route."""
        self.on_configured: Callable[[], None] = lambda: None
        """Called after configuration keys have changed."""
        self.replicas: list[Replica] = []
        """The replicas that connect it to its slaves, or to its master."""
        self.running = True
        """False between `stop` and `start`: it rejects all operations, and the name server does not list it."""
        self._start(ServiceState() if state is None else self._restore(state))

    def _restore(self, state: BrokerState) -> ServiceState:
        """Restore store and tables from the state of a previous broker; return the state of the services."""
        self.topics.restore(state.topics, state.topics_version)
        self.groups.restore(state.groups, state.forbidden, state.groups_version)
        for (group, topic), table in state.offsets.items():
            for queue_id, offset in table.items():
                self.offsets.commit(group, topic, queue_id, offset)
        self.offsets.write()
        log = state.log
        self.store.restore(log.segment_bytes, log.segments, log.full, log.last_store_timestamp, queues=state.queues)
        self.pop_records.table = {record.key(): record for record in state.pop_records}
        self.mappings.restore(state.mappings, state.mappings_version)
        self.accounts.users.update(state.users)
        self._request_modes.update({(mode.topic, mode.consumer_group): mode for mode in state.request_modes})
        return state.services

    def _start(self, state: ServiceState) -> None:
        """Create the services: those with only in-memory state start empty, the others restore the remaining state."""
        config, emulation = self.config, self._emulation
        self.accounts.start()
        self.access = Access(config, self._scheduler, lambda: self.accounts)
        self.lifetime = scheduler = self._scheduler.begin()
        self._duties = duties = self._scheduler.begin(idle=self.broker_id != MASTER_ID)
        """Lifetime of the timers that run only on a master."""
        identity = f"{self.name}:{self.broker_id}"
        by_name = (LightBrokerStats if config.enable_lmq else BrokerStats)(config, scheduler.now_ms)
        self.store.stats = StoreStats(scheduler.now_ms, by_name, self.topics.system)
        self.clients = Clients(
            config=config,
            scheduler=scheduler,
            topics=self.topics,
            groups=self.groups,
            push=self._push,
        )
        self.locks = QueueLocks(scheduler)
        compaction = Compaction(config, self.store, self._chance, identity)
        self.slow_readers = SlowReaders(config, scheduler, self.groups)
        self.reader = QueueReader(
            config=config, store=self.store, topics=self.topics, compaction=compaction, slow_readers=self.slow_readers
        )
        self.orders = Orders(config, scheduler, self._order_freed)
        self.pop_in_flight = PopInFlight(config, scheduler, self._queue_goes_on)
        revive_log = ReviveLog(config.broker_cluster_name, self.store)
        self.pop_buffer = PopBuffer(
            config=config, scheduler=scheduler, offsets=self.offsets, log=revive_log, exists=self._exist
        )
        pop_positions = PopPositions(config, self.store, self.offsets, self.orders)
        redelivery = Redelivery(
            config=config, store=self.store, topics=self.topics, offsets=self.offsets, redelivered=self._redelivered
        )
        self.pop_consumer: PopConsumer | None = None
        if config.pop_consumer_kv_service_init:
            self.pop_consumer = PopConsumer(
                config=config,
                scheduler=scheduler,
                store=self.store,
                offsets=self.offsets,
                positions=pop_positions,
                reader=self.reader,
                orders=self.orders,
                records=self.pop_records,
                redelivery=redelivery,
            )

        self.pulls = PullService(
            config=config,
            emulation=emulation,
            scheduler=scheduler,
            topics=self.topics,
            groups=self.groups,
            clients=self.clients,
            offsets=self.offsets,
            reader=self.reader,
            complete=self._complete,
        )
        self.pops = PopService(
            config=config,
            scheduler=scheduler,
            chance=self._chance.stream(f"{identity} pop"),
            store=self.store,
            topics=self.topics,
            groups=self.groups,
            clients=self.clients,
            offsets=self.offsets,
            positions=pop_positions,
            reader=self.reader,
            orders=self.orders,
            buffer=self.pop_buffer,
            in_flight=self.pop_in_flight,
            consumer=self.pop_consumer,
            complete=self._complete,
            goes_on=self._wake_next,
            gate=self._gate,
        )
        self.notifications = NotificationService(
            config=config,
            scheduler=scheduler,
            chance=self._chance.stream(f"{identity} notification"),
            store=self.store,
            topics=self.topics,
            groups=self.groups,
            offsets=self.offsets,
            reader=self.reader,
            orders=self.orders,
            buffer=self.pop_buffer,
            pops=self.pops.polling,
            complete=self._complete,
            gate=self._gate,
        )
        self.acks = AckService(
            config=config,
            scheduler=scheduler,
            store=self.store,
            topics=self.topics,
            offsets=self.offsets,
            orders=self.orders,
            log=revive_log,
            buffer=self.pop_buffer,
            in_flight=self.pop_in_flight,
            consumer=self.pop_consumer,
            freed=self._order_freed,
        )
        self.revive = ReviveService(
            config=config,
            scheduler=duties,
            store=self.store,
            topics=self.topics,
            groups=self.groups,
            offsets=self.offsets,
            log=revive_log,
            redelivery=redelivery,
            in_flight=self.pop_in_flight,
        )
        self.delays = DelayService(config=config, emulation=emulation, scheduler=duties, store=self.store)
        self.timers = TimerService(
            config=config,
            scheduler=duties,
            store=self.store,
            chance=self._chance.stream(f"{identity} timer"),
        )
        self.store.hooks += [self.timers.before_put, self.delays.before_put]
        buffers = StoreBuffers(config)
        self.retry = RetryService(
            config=config,
            store=self.store,
            topics=self.topics,
            groups=self.groups,
            locks=self.locks,
            buffers=buffers,
            chance=self._chance.stream(f"{identity} retry"),
        )
        self.recall = RecallService(config, scheduler, self.store, self.topics)
        op_log = OpLog(config, scheduler, self.store)
        self.transactions = TransactionService(config, scheduler, self.store, op_log)
        self.checks = TransactionChecks(
            config=config,
            scheduler=duties,
            store=self.store,
            topics=self.topics,
            offsets=self.offsets,
            op_log=op_log,
            find_producer=self.clients.available_channel,
            push=self._push,
        )
        self.sends = SendService(
            config=config,
            store=self.store,
            topics=self.topics,
            buffers=buffers,
            chance=self._chance.stream(f"{identity} send"),
            hooks=SendHooks(
                lambda message, operation: self.transactions.prepare(message),
                self.retry.redirect,
                self.recall.handle_of,
            ),
        )
        self.questions = ClientQuestions(scheduler, self._ask)
        self.acknowledgements = Acknowledgements(config, scheduler, self.store, self._complete)
        self.replies = ReplyService(
            config=config,
            scheduler=scheduler,
            store=self.store,
            clients=self.clients,
            questions=self.questions,
            place=self.sends.place,
            complete=self._complete,
        )
        self.views = Views(config, self.store, self.clients)
        self.clean_up = CleanUp(config, scheduler, self.store, self.topics)
        self.request_pools = RequestPools(config, scheduler, self._gate, self)
        self.store.full_files.append(self.clean_up.look_ahead)
        self.store.arrivals += [
            Arrival(self.pulls.hold.arrived, self.pulls.hold.is_awaited),
            Arrival(self.pops.polling.arrived, self.pops.polling.is_awaited),
            Arrival(self.notifications.polling.arrived, self.notifications.polling.is_awaited),
        ]
        self.static = StaticTopics(self.mappings, self.topics, self.pulls, self._carry_out)
        self.mappings.on_change = partial(self._answer_for_static_topics)
        self.clients.filters.restore(state.filters)
        self.orders.restore(state.orders)
        self.delays.restore(state.delay_offsets)
        self.timers.restore(state.timer)
        self._plain: Handlers = self._table()
        self._answer_for_static_topics()

    def _answer_for_static_topics(self) -> None:
        """Map requests for static topics to physical queues, if there are static topics."""
        plain = self._plain
        self.handlers: Handlers = self.static.handlers(plain) if self.mappings.table else plain

    def _table(self) -> dict[type[Operation], Callable[[Call, Any], Result | Parked]]:
        config, topics, groups, clients = self.config, self.topics, self.groups, self.clients
        resets = ClientResets(
            config=config, store=self.store, topics=topics, clients=clients, offsets=self.offsets, push=self._push
        )
        positions = Positions(
            config=config,
            emulation=self._emulation,
            store=self.store,
            topics=topics,
            groups=groups,
            offsets=self.offsets,
            on_reset=self._was_reset,
            reset_by_clients=resets.reset,
        )
        memberships = Memberships(
            config=config, store=self.store, clients=clients, locks=self.locks, drop_waiting=self._drop_waiting
        )
        in_flight, slow = self.pop_in_flight, self.slow_readers
        topic_admin = TopicAdministration(
            config=config,
            store=self.store,
            topics=topics,
            offsets=self.offsets,
            orders=self.orders,
            in_flight=in_flight,
            slow_readers=slow,
            timer_metrics=self.timers.metrics,
            mappings=self.mappings,
        )
        group_admin = GroupAdministration(
            config=config,
            store=self.store,
            topics=topics,
            groups=groups,
            clients=clients,
            offsets=self.offsets,
            orders=self.orders,
            in_flight=in_flight,
            slow_readers=slow,
            mappings=self.mappings,
        )
        broker_admin = BrokerAdministration(
            config=config,
            scheduler=self._scheduler,
            store=self.store,
            timer_congestion=self.timers.congestion,
            config_changed=self._configured,
            request_pools=self.request_pools,
        )
        return handlers_of(
            self,
            self.retry,
            self.replies,
            self.questions,
            self.transactions,
            self.pulls,
            self.pops,
            self.acks,
            self.notifications,
            positions,
            memberships,
            ConsumerInquiries(
                config=config,
                store=self.store,
                topics=topics,
                groups=groups,
                clients=clients,
                questions=self.questions,
                complete=self._complete,
            ),
            Assignments(
                config=config,
                topics=topics,
                groups=groups,
                clients=clients,
                read_queues=lambda topic: self.read_queues(topic),
                modes=self._request_modes,
            ),
            topic_admin,
            group_admin,
            self.static,
            Consumption(
                config=config,
                scheduler=self._scheduler,
                store=self.store,
                topics=topics,
                clients=clients,
                offsets=self.offsets,
            ),
            self.views,
            broker_admin,
            ReplicationStatus(self),
            self.clean_up,
            BrokerTools(config, self.store, topics),
            ColdData(config),
            Users(self.accounts),
            UserRights(self.accounts),
            self.delays,
            self.timers,
        )

    def count_connection(self, what: str) -> None:
        """Count a remoting client that has connected (`CONNECT`) or disconnected (`CLOSE`)."""
        self.store.stats.by_name.connection(what, self._scheduler.now_ms)

    def bind(self, host: tuple[str, int]) -> None:
        """Set the address at which clients reach the broker; messages stored from now on contain it."""
        self.store_host = host
        self.store.store_host = records.pack_host(host)

    def state(self) -> BrokerState:
        """Return the state as of a graceful shutdown now, or of the last one.

        Stores the merge buffer's check points first. The result shares tables and log with the broker, so it is valid
        only until the broker continues.
        """
        self.pop_buffer.drain()
        topics, groups, log = self.topics, self.groups, self.store.log
        return BrokerState(
            self.config,
            LogState(log.segment_bytes, *log.files(), self.store.last_store_timestamp),
            topics.table,
            (topics.version_counter, topics.version_timestamp),
            groups.table,
            (groups.version_counter, groups.version_timestamp),
            groups.forbidden,
            self.offsets.committed,
            list(self.store.queues.values()),
            list(self._request_modes.values()),
            list(self.pop_records.table.values()),
            self._dump_on_stop(),
            self.mappings.table,
            (self.mappings.version_counter, self.mappings.version_timestamp),
            self.accounts.users,
        )

    def _dump_on_stop(self) -> ServiceState:
        """Return the state of the services at a graceful shutdown."""
        filters = self.clients.filters.dump_on_stop()
        return ServiceState(self.orders.dump_on_stop(), self.delays.dump_on_stop(), self.timers.dump_on_stop(), filters)

    def _dump_on_crash(self) -> ServiceState:
        """Return the state of the services as of the last writes of their files."""
        filters = self.clients.filters.dump_on_crash()
        return ServiceState(
            self.orders.dump_on_crash(), self.delays.dump_on_crash(), self.timers.dump_on_crash(), filters
        )

    def crash(self, *, power_loss: bool = True) -> None:
        """Crash and restart at once with the stored messages.

        Lost is everything that was only in memory: connections, waiting requests (without a response), queue locks,
        pending offset resets, check points in the merge buffer, and ends of transactions without an op message. Files
        that are written periodically keep their last contents: offsets of groups, of delay levels and of the timer, and
        ordered batches. With `power_loss` the unflushed end of the commit log is lost, too. Without it only the process
        dies, and the operating system still has that data.
        """
        self._end_run()
        self._start_again(power_loss=power_loss)

    def _end_run(self) -> None:
        self._scheduler.end(self.lifetime)
        self._scheduler.end(self._duties)

    def _start_again(self, state: ServiceState | None = None, *, power_loss: bool = False) -> None:
        self.store.crash(power_loss=power_loss)
        self.offsets.crash()
        self._start(state or self._dump_on_crash())

    def restart(self) -> None:
        """Shut down gracefully and restart at once: all files are written, and the merge buffer is stored.

        Lost is the state that upstream does not write even then: connections, waiting requests, queue locks, pending
        offset resets, ends of transactions without an op message, records in the cache of the KV variant.
        """
        self.pop_buffer.drain()
        self.offsets.write()
        state = self._dump_on_stop()
        self._end_run()
        self._start_again(state)

    def stop(self, *, kill: bool = False) -> None:
        """Stop until `start`: gracefully, or with `kill` as `crash` does without power loss.

        A stopped broker rejects every operation with SERVICE_NOT_AVAILABLE. Only callers that need no connection can
        still reach it.
        """
        self.acknowledgements.refuse(self._not_running())
        if kill:
            self.crash(power_loss=False)
        else:
            self.restart()
        self._end_run()
        self.running = False
        self.handlers = dict.fromkeys(self.handlers, self._refuse)

    @property
    def registered(self) -> bool:
        """True if the name server lists it: it runs and is not about to stop."""
        return self.running and not self.request_pools.leaving

    def start(self) -> None:
        """Start after `stop`, with the stored messages."""
        self._start_again()
        self.running = True

    def _refuse(self, call: Call, operation: Operation) -> Result:
        raise self._not_running()

    def _not_running(self) -> EngineError:
        return EngineError(ResponseCode.SERVICE_NOT_AVAILABLE, f"the broker[{self.name}] is not running")

    def take_tables(self, master: "Broker") -> None:
        """Copy the master's topics, groups, offsets, request modes, timer metrics and delay offsets to this slave.

        Source: SlaveSynchronize (5.3.3).
        """
        self.topics.copy_from(master.topics)
        self.offsets.copy_from(master.offsets)
        self.delays.copy_from(master.delays)
        if self.config.timer_wheel_enable:
            self.timers.metrics.copy_from(master.timers.metrics)
        self.groups.copy_from(master.groups)
        self._request_modes.clear()
        self._request_modes.update(master._request_modes)

    @handles(SendMessage)
    def _send(self, call: Call, operation: SendMessage) -> Result | Parked:
        if self.request_pools.on and operation.through_proxy:
            self.request_pools.refuse_to_store()
        return self.acknowledgements.of(call, operation, self.sends.send(call, operation))

    @handles(RecallMessage)
    def _recall(self, call: Call, operation: RecallMessage) -> Result | Parked:
        return self.acknowledgements.after(call, operation, self.recall.recall(call, operation))

    @handles(EndTransaction)
    def _end_transaction(self, call: Call, operation: EndTransaction) -> Result | Parked:
        result = self.transactions.end(call, operation)
        if self.acknowledgements.waits and self.transactions.waits(operation):
            return self.acknowledgements.after(call, operation, result)
        return result

    def _carry_out(self, broker_name: str, call: Call, operation: Operation) -> Result | Parked:
        """Execute a request for physical queues at the broker of a name."""
        broker = self if broker_name == self.name else self.peer(broker_name)
        if broker is None or not broker.running:
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"The broker[{broker_name}] is not there")
        return broker._plain[type(operation)](call, operation)

    # callbacks of the services

    def _configured(self) -> None:
        self.request_pools.configured()
        self.clean_up.look_ahead()
        self.slow_readers.configured()
        self.timers.configured()
        self.views.index.configured()
        self.on_configured()

    def _complete(self, call: Call, operation: Operation, outcome: Result | EngineError) -> None:
        self._gate.complete(self, call, operation, outcome)

    def _push(self, channel: Channel, effect: Effect) -> None:
        if channel.active:
            self._journal.pushed(self._scheduler.now_ms, self.name, channel, effect)
            channel.push(effect)

    def _ask(self, channel: Channel, question: Question) -> None:
        """Push a request to a client; unlike `_push`, also to an inactive channel, which may report the failure."""
        if channel.active:
            self._push(channel, question)
        else:
            channel.push(question)

    def _order_freed(self, topic: str, group: str, queue_id: int) -> None:
        self.pops.polling.wake(topic, group, queue_id)
        self.notifications.polling.wake(topic, group, queue_id)

    def _queue_goes_on(self, topic: str, group: str, queue_id: int) -> None:
        if names.is_retry(topic):
            topic, queue_id = names.topic_of_pop_retry(topic, group), -1
        self._wake_next(topic, group, queue_id)

    def _wake_next(self, topic: str, group: str, queue_id: int) -> None:
        self.pops.polling.wake(topic, group, queue_id)
        self.notifications.polling.wake(topic, group, queue_id, lambda waiting: waiting.for_pop)

    def _redelivered(self, topic: str, group: str) -> None:
        if self._emulation.wake_poll_on_redelivery:
            if names.is_retry(topic):
                topic = names.topic_of_pop_retry(topic, group)
            self.pops.polling.wake(topic, group, -1)
            self.notifications.polling.wake(topic, group, -1)

    def _exist(self, topic: str, group: str) -> bool:
        return self.topics.find(topic) is not None and self.groups.find(group) is not None

    def _was_reset(self, topic: str, group: str, queue_id: int) -> None:
        self.orders.clear((topic, group, queue_id))
        self.pop_in_flight.clear((topic, group, queue_id))
        if self.pop_consumer is not None and self.config.pop_consumer_kv_service_enable:
            self.pop_consumer.clear((topic, group, queue_id))
            self.offsets.forget_pulls(group, topic)

    def _drop_waiting(self, channel: Channel) -> None:
        self.pulls.hold.drop_inactive(channel.channel_id)
        self.pops.polling.end_inactive(channel.channel_id)
        self.notifications.polling.end_inactive(channel.channel_id)
