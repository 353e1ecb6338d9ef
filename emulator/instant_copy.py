"""A copy of an engine as of one instant, to be read on another thread while the engine continues.

Inspection and explanations of the copy return what those of the engine would have returned at that instant. The copy
shares with the engine the bytes of the log and the units of the queues, to which the engine only appends, and all
objects that nobody changes. It has its own tables, and copies of the values in them that can change. Making it takes
some milliseconds for tens of thousands of messages in flight.

The rules name the classes that are copied. Any other object is shared, so the class of a new table that readers need
must be added to `_COPIED`; `tests/emulator/test_instant_copy.py` compares all readers. The copy cannot run: it has no
gate, no handlers and no timers.
"""

from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any, TypeVar, cast

from .client.client_registry import ClientRegistry, Compensation, ConsumerGroup, Member
from .client.deliveries import Deliveries
from .client.delivery_context import DeliveryContext
from .client.pending_responses import PendingResponses
from .client.popped_messages import PoppedMessages
from .client.queue_locks import QueueLocks
from .client.queue_uses import QueueUse, QueueUses
from .cluster.broker import Broker
from .cluster.name_server import NameServer
from .config.keys import Config
from .engine import Engine
from .gate.call import Call, Channel
from .gate.channel_at_instant import CallAtInstant, ChannelAtInstant
from .group.group_table import GroupTable
from .group.lmq_offset_table import LmqOffsetTable
from .group.offset_table import OffsetTable
from .history.history import History
from .kernel.scheduler import Lifetime, Scheduler
from .kernel.scheduler_at_instant import SchedulerAtInstant
from .operations.groups import GroupConfig
from .operations.topics import TopicConfig
from .pop.check_point import CheckPoint
from .pop.consumer_order_info import OrderInfo, OrderInfoTable
from .pop.notification_service import NotificationService
from .pop.pop_inflight_counter import PopInflightCounter
from .pop.pop_kv_cache import CachedQueue, PopKvCache
from .pop.pop_kv_records import PopRecords
from .pop.pop_kv_service import PopKvService
from .pop.pop_long_polling import PollingRequest, PopLongPolling
from .pop.pop_merge_buffer import OffsetStep, PopMergeBuffer
from .pop.pop_positions import PopPositions, Positions, QueuePositions
from .pop.pop_service import PopService
from .pop.revive_service import ReviveQueue, ReviveService
from .pull.cold_data import ColdData, GroupReads
from .pull.cold_pull_hold import ColdPullHold, SuspendedPull
from .pull.pull_request_hold import HeldPull, PullRequestHold
from .pull.pull_service import PullService
from .pull.slow_group_guard import SlowGroupGuard
from .schedule.delay_levels import DelayService
from .schedule.timer_service import TimerService
from .schedule.timer_state import Slot
from .store.commit_log import CommitLog
from .store.compaction import Compaction
from .store.consume_queue import ConsumeQueue
from .store.lmq_store import LmqStore
from .store.log_at_instant import LogAtInstant
from .store.message_store import MessageStore
from .topic.topic_group_index import TopicGroupIndex
from .topic.topic_table import TopicTable
from .transaction.op_queue import OpQueue
from .transaction.transaction_check import TransactionChecks

T = TypeVar("T")
_UNSET = object()
Rule = Callable[["_Copier", Any], Any]

_COPIED: tuple[type, ...] = (
    *(TopicTable, TopicConfig, GroupTable, GroupConfig, OffsetTable, LmqOffsetTable),
    *(MessageStore, LmqStore, Compaction),
    *(ClientRegistry, Compensation, ConsumerGroup, QueueLocks, NameServer, TopicGroupIndex),
    *(Deliveries, DeliveryContext, PoppedMessages, QueueUses, PendingResponses),
    *(PullService, ColdPullHold, ColdData, GroupReads, SlowGroupGuard),
    *(PopService, NotificationService, PopMergeBuffer, OffsetStep, ReviveService, ReviveQueue),
    *(CheckPoint, OrderInfoTable, OrderInfo, PopInflightCounter, PopRecords, PopKvService, PopKvCache, CachedQueue),
    *(PopPositions, QueuePositions, Positions),
    *(DelayService, TimerService, Slot, TransactionChecks, OpQueue),
)
"""The classes whose objects are copied attribute by attribute."""
_OF_ENGINE = ("emulation", "scheduler", "random_streams", "defects", "history", "deliveries", "brokers", "name_server")
_OF_BROKER = (
    *("config", "name", "broker_id", "is_master", "running", "store_host", "request_pools"),
    *("topics", "mappings", "groups", "offsets", "store", "lifetime", "user_table"),
    *("clients", "locks", "pulls", "compaction", "slow_group_guard", "cold_data"),
    *("pops", "notifications", "revive", "orders", "pop_in_flight", "pop_buffer", "pop_kv_service", "pop_records"),
    "pop_positions",
    *("delays", "timers", "checks"),
)
"""The attributes of a broker that readers use."""


def instant_copy(engine: Engine) -> Engine:
    """Return the copy of an engine as of now. Call it between requests or from a timer."""
    return _Copier().copy(engine)


class _Copier:
    """Copies objects, each once."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        """Copies by the `id()` of the original."""

    def copy(self, value: T) -> T:
        """Return the copy of an object, or the object itself if its class has no rule."""
        rule = _RULES[type(value)]
        if rule is None:
            return value
        found: T | None = self._made.get(id(value))
        return rule(self, value) if found is None else found

    def keep(self, value: object, made: T) -> T:
        """Record the copy of an object, so that other references to it lead to the copy as well."""
        self._made[id(value)] = made
        return made

    def attributes(self, value: T, names: Iterable[str]) -> T:
        """Return an object of the same class with copies of those named attributes that are set."""
        made = self.keep(value, _uninitialized(type(value)))
        for name in names:
            attribute = getattr(value, name, _UNSET)
            if attribute is not _UNSET:
                object.__setattr__(made, name, self.copy(attribute))
        return made

    def channel(self, channel: Channel) -> ChannelAtInstant:
        """Return the state of a connection, one object for each connection."""
        found: ChannelAtInstant | None = self._made.get(id(channel))
        return self.keep(channel, ChannelAtInstant.of(channel)) if found is None else found

    def call(self, call: Call) -> Call:
        """Return the state of a waiting request. Readers use its connection only."""
        return cast("Call", CallAtInstant(self.channel(call.channel), call.active))

    def all_of(self, values: Iterable[Any]) -> list[Any]:
        """Return the copies of objects, or the objects themselves if objects of their classes are shared."""
        found = list(values)
        if _are_shared(found):
            return found
        return [self.copy(each) for each in found]


def _copied_dict(copier: _Copier, table: "dict[Any, Any]") -> "dict[Any, Any]":
    if _are_shared(table.values()):
        return copier.keep(table, table.copy())
    made = copier.keep(table, type(table)())
    made.update(zip(table, copier.all_of(table.values()), strict=True))
    return made


def _copied_attributes(copier: _Copier, value: Any) -> Any:
    return copier.attributes(value, _names_of(value))


def _names_of(value: Any) -> list[str]:
    """Return the names of the attributes of an object, pure or compiled."""
    kinds = type(value).__mro__
    slots = [name for kind in kinds for name in getattr(kind, "__slots__", getattr(kind, "__mypyc_attrs__", ()))]
    return [*slots, *getattr(value, "__dict__", ())]


def _uninitialized(kind: type[T]) -> T:
    """Return an object without attributes. `object.__new__` refuses compiled classes."""
    return kind.__new__(kind)


# There is an object of each of these classes for each client, so their copies are made without a loop over attributes.


def _copied_member(copier: _Copier, member: Member) -> Member:
    identity = copier.channel(member.channel), member.client_id, member.language, member.version
    times = member.last_update_ms, member.through_proxy, member.since_ms
    return copier.keep(member, Member(*identity, *times, member.consume_from_where, member.subscriptions))


def _copied_use(copier: _Copier, use: QueueUse) -> QueueUse:
    keys = use.queue, use.link, use.numbers, use.numbers_version
    state = use.requested, use.requested_ms, use.ended, use.ended_ms
    return copier.keep(use, QueueUse(*keys, *state, copier.copy(use.pulled), use.committed))


def _copied_pull(copier: _Copier, held: HeldPull) -> HeldPull:
    waits = held.from_offset, held.channel_id, held.since_ms, held.timer
    return copier.keep(held, HeldPull(copier.call(held.call), held.operation, held.message_filter, *waits))


def _copied_suspended(copier: _Copier, held: SuspendedPull) -> SuspendedPull:
    waits = held.since_ms, held.until_ms, held.timer
    return copier.keep(held, SuspendedPull(copier.call(held.call), held.operation, *waits))


def _copied_pop(copier: _Copier, held: PollingRequest[Any]) -> PollingRequest[Any]:
    waits = held.order_key, held.channel_id, held.resume, held.timer
    return copier.keep(held, PollingRequest(copier.call(held.call), held.operation, held.message_filter, *waits))


def _copied_waiting(copier: _Copier, table: Any) -> Any:
    """Copy a table of waiting requests without its index by client, which no reader uses."""
    return copier.attributes(table, [name for name in _names_of(table) if name != "_by_channel"])


def _copied_history(copier: _Copier, history: History) -> History:
    return copier.keep(history, history.at(copier.copy(history.scheduler)))


def _copied_scheduler(copier: _Copier, scheduler: Scheduler) -> Scheduler:
    return copier.keep(scheduler, SchedulerAtInstant.of(scheduler))


def _copied_lifetime(copier: _Copier, lifetime: Lifetime) -> Lifetime:
    made = copier.keep(lifetime, Lifetime(Scheduler(lifetime.now_ms), lifetime.skew))
    made.now_ms, made.ended = lifetime.now_ms, lifetime.ended
    return made


def _copied_config(copier: _Copier, config: Config) -> Config:
    made = copier.keep(config, _uninitialized(type(config)))
    vars(made).update(vars(config))
    return made


def _copied_method(copier: _Copier, method: MethodType) -> MethodType:
    owner = copier.copy(method.__self__)
    return method if owner is method.__self__ else MethodType(method.__func__, owner)


class _Rules(dict[type, Rule | None]):
    """How objects of a class are copied, None if they are shared. A class is added when it is first met."""

    def __missing__(self, kind: type) -> Rule | None:
        rule: Rule | None = None
        if issubclass(kind, ConsumeQueue):
            rule = _forked_queue
        elif issubclass(kind, CommitLog):
            rule = _copied_log
        elif issubclass(kind, Config):
            rule = _copied_config
        self[kind] = rule
        return rule


def _are_shared(values: Iterable[Any]) -> bool:
    """True if no object is copied. Checks each class once: most collections hold objects of a single class."""
    return all(_RULES[kind] is None for kind in set(map(type, values)))


def _forked_queue(copier: _Copier, queue: ConsumeQueue) -> ConsumeQueue:
    return copier.keep(queue, queue.fork())


def _copied_log(copier: _Copier, log: CommitLog) -> CommitLog:
    return copier.keep(log, LogAtInstant.of(log))


_RULES = _Rules(
    {
        **dict.fromkeys(_COPIED, _copied_attributes),
        Engine: lambda copier, engine: copier.attributes(engine, _OF_ENGINE),
        Broker: lambda copier, broker: copier.attributes(broker, _OF_BROKER),
        Member: _copied_member,
        QueueUse: _copied_use,
        HeldPull: _copied_pull,
        SuspendedPull: _copied_suspended,
        PollingRequest: _copied_pop,
        **dict.fromkeys((PullRequestHold, PopLongPolling), _copied_waiting),
        History: _copied_history,
        **dict.fromkeys((Scheduler, SchedulerAtInstant), _copied_scheduler),
        Lifetime: _copied_lifetime,
        MethodType: _copied_method,
        dict: _copied_dict,
        OrderedDict: _copied_dict,
        list: lambda copier, values: copier.keep(values, copier.all_of(values)),
        array: lambda copier, numbers: copier.keep(numbers, numbers[:]),
        set: lambda copier, values: copier.keep(values, values.copy()),
        deque: lambda copier, values: copier.keep(values, deque(copier.all_of(values), values.maxlen)),
    }
)
