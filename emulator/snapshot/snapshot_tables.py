"""Conversion of durable state to and from JSON objects. Keys have the names of upstream's files where those exist.

Fields with their default value are omitted, so that files are small and a key added by a later version changes no file.
Tables keep the order in which their entries were created, which is visible in lists; unordered data are sorted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from ..auth.policies import Acl, Action, Decision, Policy, PolicyEntry, PolicyType, Resource
from ..auth.user_table import User, UserStatus, UserType
from ..config import BrokerConfig, EmulationConfig, NamesrvConfig
from ..config.keys import Config, camel_case
from ..filter.filter_table import FilterData
from ..filter.message_filter import SqlFilter
from ..operations.groups import GroupConfig, RetryPolicy, SetMessageRequestMode
from ..operations.timers import TimerMetric
from ..operations.topics import QueueMapping, QueuePart, TopicConfig
from ..pop.consumer_order_info import OrderInfo
from ..pop.pop_kv_records import PopRecord
from ..schedule.timer_state import FollowedTimer, Slot, SlotMessage, TimerState, WheelProgress, WrittenMetrics
from ..store.consume_queue import BatchConsumeQueue, ConsumeQueue
from ..store.lmq_dispatch import LmqConsumeQueue
from .durable_state import BrokerState, EngineState, LogState, ServiceState

Form = dict[str, Any]
C = TypeVar("C", bound=Config)
V = TypeVar("V")

QUEUES: Mapping[str, type[ConsumeQueue]] = {
    "simple": ConsumeQueue,
    "batch": BatchConsumeQueue,
    "light": LmqConsumeQueue,
}
"""Classes of consume queues by their names in the file."""
_KINDS = {kind: name for name, kind in QUEUES.items()}


# an engine


def engine_to_json(state: EngineState) -> Form:
    """Convert an engine's state, without the brokers."""
    return {
        "nowMs": state.now_ms,
        "seed": state.seed,
        "streams": state.streams,
        "emulation": state.emulation.changed(),
        "namesrv": state.namesrv.changed(),
        "kvConfig": state.kv_config,
        "extras": state.extras,
        "brokers": len(state.brokers),
    }


def engine_from_json(form: Form) -> tuple[EngineState, int]:
    """Restore an engine's state without brokers. Returns it and the number of brokers."""
    state = EngineState(
        now_ms=form["nowMs"],
        seed=form["seed"],
        streams=form["streams"],
        emulation=_config(EmulationConfig(), form["emulation"]),
        namesrv=_config(NamesrvConfig(), form["namesrv"]),
        kv_config=form["kvConfig"],
        extras=form["extras"],
    )
    return state, form["brokers"]


def _config(config: C, keys: Mapping[str, str]) -> C:
    config.update(keys)
    return config


# a broker


def broker_to_json(state: BrokerState) -> Form:
    """Convert a broker's state, without the bytes of the log and the units of the queues."""
    log, services = state.log, state.services
    static = {"version": state.mappings_version, "table": [_mapping_form(each) for each in state.mappings.values()]}
    return {
        "config": state.config.changed(),
        "topics": {
            "version": state.topics_version,
            "table": {name: _non_default_fields(topic, "topic_name") for name, topic in state.topics.items()},
        },
        "groups": {
            "version": state.groups_version,
            "table": {name: _group_form(group) for name, group in state.groups.items()},
            "forbidden": {name: sorted(topics) for name, topics in state.forbidden.items()},
        },
        "offsets": [[topic, group, table] for (group, topic), table in state.offsets.items()],
        "requestModes": [
            [mode.topic, mode.consumer_group, mode.mode, mode.pop_share_queue_num] for mode in state.request_modes
        ],
        "popRecords": [
            [
                record.pop_time,
                record.group,
                record.topic,
                record.queue_id,
                record.invisible_ms,
                record.offset,
                record.attempts,
            ]
            for record in sorted(state.pop_records, key=PopRecord.key)
        ],
        "orders": [[*key, _non_default_fields(info)] for key, info in services.orders.items()],
        "delayOffsets": services.delay_offsets,
        "timer": _timer_form(services.timer),
        "filters": [
            [*key, data.expression, data.expression_type, data.version, data.unused_since]
            for key, data in services.filters.items()
        ],
        "filtersBornMs": [data.born_ms for data in services.filters.values()],
        "log": {
            "fileBytes": log.segment_bytes,
            "files": [[number, log.full.get(number)] for number in log.segments],
            "lastStoreTimestamp": log.last_store_timestamp,
            **({"storePorts": sorted(log.store_ports)} if log.store_ports else {}),
        },
        "queues": [
            [queue.topic, queue.queue_id, _KINDS[type(queue)], queue.first, len(queue.physical)]
            for queue in state.queues
        ],
        "staticTopics": static,
        **({"users": users} if (users := [_user_form(user) for user in state.users.values()]) else {}),
    }


def broker_from_json(form: Form) -> tuple[BrokerState, list[int]]:
    """Restore a broker with empty queues and files. Returns it and the number of units of each queue."""
    topics, groups = form["topics"], form["groups"]
    static = form.get("staticTopics", {"version": (0, 0), "table": []})
    mappings = [_mapping(each) for each in static["table"]]
    filters = form["filters"]
    born = form.get("filtersBornMs", [0] * len(filters))
    state = BrokerState(
        config=_config(BrokerConfig(), form["config"]),
        log=_log(form["log"]),
        topics={name: _build(TopicConfig, held, topic_name=name) for name, held in topics["table"].items()},
        topics_version=_version(topics["version"]),
        groups={name: _group(name, held) for name, held in groups["table"].items()},
        groups_version=_version(groups["version"]),
        forbidden={name: set(forbidden) for name, forbidden in groups["forbidden"].items()},
        offsets={(group, topic): _by_number(table) for topic, group, table in form["offsets"]},
        queues=[_queue(*queue[:4]) for queue in form["queues"]],
        request_modes=[SetMessageRequestMode(*mode) for mode in form["requestModes"]],
        pop_records=[PopRecord(*record) for record in form["popRecords"]],
        services=ServiceState(
            orders={(topic, group, queue_id): _order(info) for topic, group, queue_id, info in form["orders"]},
            delay_offsets=_by_number(form["delayOffsets"]),
            timer=_timer(form["timer"]),
            filters={
                (topic, group): FilterData(
                    expression, kind, version, SqlFilter(expression), born_ms=born_ms, unused_since=unused_since
                )
                for (topic, group, expression, kind, version, unused_since), born_ms in zip(filters, born, strict=True)
            },
        ),
        mappings={each.topic: each for each in mappings},
        mappings_version=_version(static["version"]),
        users={user.username: user for user in map(_user, form.get("users", ()))},
    )
    return state, [queue[4] for queue in form["queues"]]


def _log(form: Form) -> LogState:
    files = form["files"]
    numbers = [number for number, _ in files]
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise ValueError(f"the log has the files {numbers}")
    return LogState(
        segment_bytes=form["fileBytes"],
        segments={number: bytearray() for number in numbers},
        full={number: full for number, full in files if full is not None},
        last_store_timestamp=form["lastStoreTimestamp"],
        store_ports=set(form.get("storePorts", ())),
    )


def _queue(topic: str, queue_id: int, kind: str, first: int) -> ConsumeQueue:
    queue = QUEUES[kind](topic, queue_id)
    queue.first = first
    return queue


def _mapping_form(mapping: QueueMapping) -> Form:
    queues = [[number, [_non_default_fields(part) for part in parts]] for number, parts in mapping.queues.items()]
    return _non_default_fields(mapping, "queues") | {"queues": queues}


def _mapping(form: Form) -> QueueMapping:
    queues = {number: [_build(QueuePart, part) for part in parts] for number, parts in form["queues"]}
    return _build(QueueMapping, {name: value for name, value in form.items() if name != "queues"}, queues=queues)


def _user_form(user: User) -> Form:
    form = {"username": user.username, "password": user.password, "type": user.user_type.value}
    acl = user.acl
    policies = None if acl is None else [[each.kind.value, *map(_entry_form, each.entries)] for each in acl.policies]
    return {**form, "status": user.status.value, **({} if policies is None else {"rights": policies})}


def _entry_form(entry: PolicyEntry) -> list[Any]:
    actions = [action.value for action in entry.actions]
    return [entry.resource.key, actions, list(entry.sources), entry.decision.value]


def _user(form: Form) -> User:
    policies = form.get("rights")
    acl = None
    if policies is not None:
        acl = Acl(tuple(Policy(PolicyType(kind), tuple(map(_entry, entries))) for kind, *entries in policies))
    return User(form["username"], form["password"], UserType(form["type"]), UserStatus(form["status"]), acl=acl)


def _entry(form: list[Any]) -> PolicyEntry:
    key, actions, sources, decision = form
    resource = Resource.parse(key)
    if resource is None:
        raise ValueError(f"{key} is no resource")
    return PolicyEntry(resource, tuple(map(Action, actions)), tuple(sources), Decision(decision))


def _group_form(group: GroupConfig) -> Form:
    form = _non_default_fields(group, "group_name")
    if "retryPolicy" in form:
        form["retryPolicy"] = _non_default_fields(group.retry_policy)
    return form


def _group(name: str, form: Form) -> GroupConfig:
    group = _build(GroupConfig, form, group_name=name)
    if "retryPolicy" in form:
        group.retry_policy = _build(RetryPolicy, form["retryPolicy"])
    return group


def _order(form: Form) -> OrderInfo:
    info = _build(OrderInfo, form)
    info.counts, info.next_visible = _by_number(info.counts), _by_number(info.next_visible)
    return info


# the timer


def _timer_form(state: TimerState) -> Form:
    return {
        "followed": _non_default_fields(state.followed),
        "slots": [
            [
                slot_ms,
                slot.number,
                slot.waiting.copy(),  # tuples, which JSON holds as lists
                sorted(slot.deleted),
            ]
            for slot_ms, slot in state.slots.items()
        ],
        "progress": [state.progress.taken, state.progress.units],
        **({} if state.first_held_back is None else {"keptOut": state.first_held_back}),
        "version": state.version,
        "metrics": {
            "version": state.metrics.version,
            "topics": {topic: [found.count, found.changed_ms] for topic, found in state.metrics.topics.items()},
        },
    }


def _timer(form: Form) -> TimerState:
    metrics = form["metrics"]
    return TimerState(
        {
            slot_ms: Slot([SlotMessage(*each) for each in waiting], set(deleted), number)
            for slot_ms, number, waiting, deleted in form["slots"]
        },
        WheelProgress(*form["progress"]),
        form["version"],
        WrittenMetrics({topic: TimerMetric(*found) for topic, found in metrics["topics"].items()}, metrics["version"]),
        followed=_build(FollowedTimer, form.get("followed", {})),
        first_held_back=form.get("keptOut"),
    )


# values


def _non_default_fields(value: Any, *left_out: str) -> Form:
    """Return the fields of a value that differ from their defaults."""
    form = {}
    for field in fields(value):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        held = getattr(value, field.name)
        if field.name not in left_out and held != default:
            form[camel_case(field.name)] = held
    return form


def _build(kind: type[V], form: Mapping[str, Any], **given: Any) -> V:
    """Create a value of a class; fields missing in the form get their defaults."""
    known = {camel_case(field.name): field.name for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    return kind(**given, **{known[name]: held for name, held in form.items()})


def _by_number(table: Mapping[Any, int]) -> dict[int, int]:
    return {int(number): held for number, held in table.items()}


def _version(numbers: Iterable[int]) -> tuple[int, int]:
    counter, timestamp = numbers
    return counter, timestamp
