"""One broker: creates its services, connects them, and maps each operation to the service that handles it.

A service calls only the services passed to its constructor. Calls in the other direction are callbacks defined here,
timers or effects. This file contains no broker rules.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from .. import operations as ops
from ..admin.broker_requests import BrokerAdministration
from ..admin.consume_stats import Consumption
from ..admin.message_queries import Views
from ..admin.tool_requests import BrokerTools
from ..admin.topic_and_group_requests import GroupAdministration, TopicAdministration
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
from ..operations import MessageQueue, Operation, Parked, Result
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
from ..snapshot.durable_state import BrokerState, LogState, Remains
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
        self._request_modes: dict[tuple[str, str], ops.SetMessageRequestMode] = {}
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
        self._start(Remains() if state is None else self._take_up(state))

    def _take_up(self, state: BrokerState) -> Remains:
        """Restore store and tables from the state of a previous broker; return the state of the services."""
        self.topics.take_up(state.topics, state.topics_version)
        self.groups.take_up(state.groups, state.forbidden, state.groups_version)
        for (group, topic), table in state.offsets.items():
            for queue_id, offset in table.items():
                self.offsets.commit(group, topic, queue_id, offset)
        self.offsets.write()
        log = state.log
        self.store.take_up(log.segment_bytes, log.segments, log.full, log.last_store_timestamp, state.queues)
        self.pop_records.table = {record.key(): record for record in state.pop_records}
        self.mappings.take_up(state.mappings, state.mappings_version)
        self.accounts.users.update(state.users)
        self._request_modes.update({(mode.topic, mode.consumer_group): mode for mode in state.request_modes})
        return state.remains

    def _start(self, remains: Remains) -> None:
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
        self.clients = Clients(config, scheduler, self.topics, self.groups, self._push, remains.filters)
        self.locks = QueueLocks(scheduler)
        compaction = Compaction(config, self.store, self._chance, identity)
        self.slow_readers = SlowReaders(config, scheduler, self.groups)
        self.reader = QueueReader(config, self.store, self.topics, compaction, self.slow_readers)
        self.orders = Orders(config, scheduler, self._order_freed, remains.orders)
        self.pop_in_flight = PopInFlight(config, scheduler, self._queue_goes_on)
        revive_log = ReviveLog(config.broker_cluster_name, self.store)
        self.pop_buffer = PopBuffer(config, scheduler, self.offsets, revive_log, self._exist)
        pop_positions = PopPositions(config, self.store, self.offsets, self.orders)
        redelivery = Redelivery(config, self.store, self.topics, self.offsets, self._redelivered)
        self.pop_consumer: PopConsumer | None = None
        if config.pop_consumer_kv_service_init:
            self.pop_consumer = PopConsumer(
                config,
                scheduler,
                self.store,
                self.offsets,
                pop_positions,
                self.reader,
                self.orders,
                self.pop_records,
                redelivery,
            )

        self.pulls = PullService(
            config,
            emulation,
            scheduler,
            self.topics,
            self.groups,
            self.clients,
            self.offsets,
            self.reader,
            self._complete,
        )
        self.pops = PopService(
            config,
            scheduler,
            self._chance.stream(f"{identity} pop"),
            self.store,
            self.topics,
            self.groups,
            self.clients,
            self.offsets,
            pop_positions,
            self.reader,
            self.orders,
            self.pop_buffer,
            self.pop_in_flight,
            self.pop_consumer,
            self._complete,
            self._wake_next,
            self._gate,
        )
        self.notifications = NotificationService(
            config,
            scheduler,
            self._chance.stream(f"{identity} notification"),
            self.store,
            self.topics,
            self.groups,
            self.offsets,
            self.reader,
            self.orders,
            self.pop_buffer,
            self.pops.polling,
            self._complete,
            self._gate,
        )
        self.acks = AckService(
            config,
            scheduler,
            self.store,
            self.topics,
            self.offsets,
            self.orders,
            revive_log,
            self.pop_buffer,
            self.pop_in_flight,
            self.pop_consumer,
            self._order_freed,
        )
        self.revive = ReviveService(
            config,
            duties,
            self.store,
            self.topics,
            self.groups,
            self.offsets,
            revive_log,
            redelivery,
            self.pop_in_flight,
        )
        self.delays = DelayService(config, emulation, duties, self.store, remains.delay_offsets)
        self.timers = TimerService(config, duties, self.store, self._chance.stream(f"{identity} timer"), remains.timer)
        self.store.hooks += [self.timers.before_put, self.delays.before_put]
        buffers = StoreBuffers(config)
        self.retry = RetryService(
            config, self.store, self.topics, self.groups, self.locks, buffers, self._chance.stream(f"{identity} retry")
        )
        self.recall = RecallService(config, scheduler, self.store, self.topics)
        op_log = OpLog(config, scheduler, self.store)
        self.transactions = TransactionService(config, scheduler, self.store, op_log)
        self.checks = TransactionChecks(
            config,
            duties,
            self.store,
            self.topics,
            self.offsets,
            op_log,
            self.clients.available_channel,
            self._push,
        )
        self.sends = SendService(
            config,
            self.store,
            self.topics,
            buffers,
            self._chance.stream(f"{identity} send"),
            SendHooks(
                lambda message, operation: self.transactions.prepare(message),
                self.retry.redirect,
                self.recall.handle_of,
            ),
        )
        self.questions = ClientQuestions(scheduler, self._ask)
        self.acknowledgements = Acknowledgements(config, scheduler, self.store, self._complete)
        self.replies = ReplyService(
            config, scheduler, self.store, self.clients, self.questions, self.sends.place, self._complete
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
        self._plain: Handlers = self._table()
        self._answer_for_static_topics()

    def _answer_for_static_topics(self) -> None:
        """Map requests for static topics to physical queues, if there are static topics."""
        plain = self._plain
        self.handlers: Handlers = self.static.handlers(plain) if self.mappings.table else plain

    def _table(self) -> dict[type[Operation], Callable[[Call, Any], Result | Parked]]:
        config, topics, groups, clients = self.config, self.topics, self.groups, self.clients
        resets = ClientResets(config, self.store, topics, clients, self.offsets, self._push)
        positions = Positions(
            config, self._emulation, self.store, topics, groups, self.offsets, self._was_reset, resets.reset
        )
        memberships = Memberships(config, self.store, clients, self.locks, self._drop_waiting)
        in_flight, slow = self.pop_in_flight, self.slow_readers
        topic_admin = TopicAdministration(
            config, self.store, topics, self.offsets, self.orders, in_flight, slow, self.timers.metrics, self.mappings
        )
        group_admin = GroupAdministration(
            config, self.store, topics, groups, clients, self.offsets, self.orders, in_flight, slow, self.mappings
        )
        broker_admin = BrokerAdministration(
            config, self._scheduler, self.store, self.timers.congestion, self._configured, self.request_pools
        )
        return {
            ops.SendMessage: self._send,
            ops.SendMessageBack: self.retry.send_back,
            ops.SendReplyMessage: self.replies.send,
            ops.PushAnswered: self.questions.answered,
            ops.EndTransaction: self._end_transaction,
            ops.ResumeCheckHalfMessage: self.transactions.resume_check,
            ops.RecallMessage: self._recall,
            ops.PullMessage: self.pulls.pull,
            ops.PopMessage: self.pops.pop,
            ops.AckMessage: self.acks.ack,
            ops.BatchAckMessage: self.acks.batch_ack,
            ops.ChangeInvisibleTime: self.acks.change_invisible,
            ops.RollBackPops: self.acks.roll_back,
            ops.Notification: self.notifications.notify,
            ops.PeekMessage: self.notifications.peek,
            ops.PollingInfo: self.notifications.polling_info,
            ops.QueryConsumerOffset: positions.query,
            ops.UpdateConsumerOffset: positions.update,
            ops.GetAllConsumerOffset: positions.all,
            ops.QueryCorrectionOffset: positions.correction,
            ops.GetMaxOffset: positions.maximum,
            ops.GetMinOffset: positions.minimum,
            ops.SearchOffset: positions.search,
            ops.GetEarliestStoreTime: positions.earliest,
            ops.ResetOffset: positions.reset,
            ops.Heartbeat: memberships.heartbeat,
            ops.UnregisterClient: memberships.unregister,
            ops.ChannelClosed: memberships.channel_closed,
            ops.ForgetWaiting: memberships.forget_waiting,
            ops.GetConsumerListByGroup: memberships.consumer_list,
            ops.LockBatchMq: memberships.lock,
            ops.UnlockBatchMq: memberships.unlock,
            ops.CheckClientConfig: memberships.check_client_config,
            ops.GetConsumerConnectionList: memberships.consumer_connections,
            ops.GetProducerConnectionList: memberships.producer_connections,
            ops.GetAllProducerInfo: memberships.all_producers,
            **ConsumerInquiries(config, self.store, topics, groups, clients, self.questions, self._complete).handlers(),
            **Assignments(
                config, topics, groups, clients, lambda topic: self.read_queues(topic), self._request_modes
            ).handlers(),
            ops.CreateTopic: topic_admin.create,
            ops.CreateTopics: topic_admin.create_all,
            ops.CreateStaticTopic: self.static.create,
            ops.DeleteTopic: topic_admin.delete,
            ops.GetTopicConfig: topic_admin.get,
            ops.GetAllTopics: topic_admin.all,
            ops.GetBrokerTopicList: topic_admin.system,
            ops.GetTopicStats: topic_admin.stats,
            ops.CreateGroup: group_admin.create,
            ops.CreateGroups: group_admin.create_all,
            ops.DeleteGroup: group_admin.delete,
            ops.GetGroup: group_admin.get,
            ops.GetAllGroups: group_admin.all,
            ops.GetConsumeStats: group_admin.stats,
            ops.QueryGroupsOfTopic: group_admin.groups_of_topic,
            ops.QueryTopicsOfGroup: group_admin.topics_of_group,
            **Consumption(config, self._scheduler, self.store, topics, clients, self.offsets).handlers(),
            ops.CloneGroupOffset: group_admin.clone_offset,
            ops.UpdateGroupForbidden: group_admin.forbidden,
            **self.views.handlers(),
            ops.GetBrokerConfig: broker_admin.get_config,
            ops.UpdateBrokerConfig: broker_admin.update_config,
            ops.GetBrokerRuntimeInfo: broker_admin.runtime_info,
            ops.GetBrokerHaStatus: ReplicationStatus(self).get,
            ops.DeleteExpiredCommitLog: self.clean_up.delete_files,
            ops.CleanExpiredConsumeQueue: self.clean_up.forget_queues,
            ops.GetBrokerConsumeStats: group_admin.all_stats,
            **BrokerTools(config, self.store, topics).handlers(),
            **ColdData(config).handlers(),
            **Users(self.accounts).handlers(),
            ops.GetAllDelayOffset: self.delays.get_offsets,
            **self.timers.handlers(),
        }

    def count_connection(self, what: str) -> None:
        """Count a remoting client that has connected (`CONNECT`) or disconnected (`CLOSE`)."""
        self.store.stats.by_name.connection(what, self._scheduler.now_ms)

    def bind(self, host: tuple[str, int]) -> None:
        """Set the address at which clients reach the broker; messages stored from now on contain it."""
        self.store_host = host
        self.store.store_host = records.pack_host(host)

    def state(self) -> BrokerState:
        """Store the check points of the merge buffer; return the state as of a graceful shutdown, now or the last one.

        It shares tables and log with the broker, so it is valid only until the broker continues.
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
            self._left(),
            self.mappings.table,
            (self.mappings.version_counter, self.mappings.version_timestamp),
            self.accounts.users,
        )

    def _left(self) -> Remains:
        """Return the state of the services at a graceful shutdown."""
        filters = self.clients.filters.left()
        return Remains(self.orders.left(), self.delays.left(), self.timers.left(), filters)

    def _written(self) -> Remains:
        """Return the state of the services as of the last writes of their files."""
        filters = self.clients.filters.written()
        return Remains(self.orders.written(), self.delays.written(), self.timers.written(), filters)

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

    def _start_again(self, remains: Remains | None = None, *, power_loss: bool = False) -> None:
        self.store.crash(power_loss=power_loss)
        self.offsets.crash()
        self._start(remains or self._written())

    def restart(self) -> None:
        """Shut down gracefully and restart at once: all files are written, and the merge buffer is stored.

        Lost is the state that upstream does not write even then: connections, waiting requests, queue locks, pending
        offset resets, ends of transactions without an op message, records in the cache of the KV variant.
        """
        self.pop_buffer.drain()
        self.offsets.write()
        remains = self._left()
        self._end_run()
        self._start_again(remains)

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

    def _send(self, call: Call, operation: ops.SendMessage) -> Result | Parked:
        if self.request_pools.on and operation.through_proxy:
            self.request_pools.refuse_to_store()
        return self.acknowledgements.of(call, operation, self.sends.send(call, operation))

    def _recall(self, call: Call, operation: ops.RecallMessage) -> Result | Parked:
        return self.acknowledgements.after(call, operation, self.recall.recall(call, operation))

    def _end_transaction(self, call: Call, operation: ops.EndTransaction) -> Result | Parked:
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
