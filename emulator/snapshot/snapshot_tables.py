"""Conversion of durable state to and from JSON objects. Keys have the names of upstream's files where those exist.

Fields with their default value are omitted, so that files are small and a key added by a later version changes no file.
Tables keep the order in which their entries were created, which is visible in lists; unordered data are sorted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from ..auth.policies import Action, Decision, Entry, Policy, PolicyType, Resource, Rights
from ..auth.user_table import User, UserStatus, UserType
from ..config import BrokerConfig, EmulationConfig, NamesrvConfig
from ..config.keys import Config, camel_case
from ..filter.filter_table import FilterData
from ..filter.message_filter import SqlFilter
from ..operations import (
    GroupConfig,
    QueueMapping,
    QueuePart,
    RetryPolicy,
    SetMessageRequestMode,
    TimerMetric,
    TopicConfig,
)
from ..pop.consumer_order_info import OrderInfo
from ..pop.pop_kv_records import PopRecord
from ..schedule.timer_metrics import WheelProgress, WrittenMetrics
from ..schedule.timer_service import FollowedTimer, Slot, TimerRemains, Waiting
from ..store.consume_queue import BatchConsumeQueue, ConsumeQueue
from ..store.lmq_dispatch import LightQueue
from .durable_state import BrokerState, EngineState, LogState, Remains

Form = dict[str, Any]
C = TypeVar("C", bound=Config)
V = TypeVar("V")

QUEUES: Mapping[str, type[ConsumeQueue]] = {"simple": ConsumeQueue, "batch": BatchConsumeQueue, "light": LightQueue}
"""Classes of consume queues by their names in the file."""
_KINDS = {kind: name for name, kind in QUEUES.items()}


# an engine


def engine_form(state: EngineState) -> Form:
    """Convert an engine's state, without the brokers."""
    return {
        "nowMs": state.now_ms,
        "seed": state.seed,
        "streams": state.streams,
        "emulation": state.emulation.changed(),
        "namesrv": state.namesrv.changed(),
        "kvConfig": state.values,
        "extras": state.extras,
        "brokers": len(state.brokers),
    }


def engine_state(form: Form) -> tuple[EngineState, int]:
    """Restore an engine's state without brokers. Returns it and the number of brokers."""
    state = EngineState(
        form["nowMs"],
        form["seed"],
        form["streams"],
        _config(EmulationConfig(), form["emulation"]),
        _config(NamesrvConfig(), form["namesrv"]),
        form["kvConfig"],
        extras=form["extras"],
    )
    return state, form["brokers"]


def _config(config: C, keys: Mapping[str, str]) -> C:
    config.update(keys)
    return config


# a broker


def broker_form(state: BrokerState) -> Form:
    """Convert a broker's state, without the bytes of the log and the units of the queues."""
    log, remains = state.log, state.remains
    static = {"version": state.mappings_version, "table": [_mapping_form(each) for each in state.mappings.values()]}
    return {
        "config": state.config.changed(),
        "topics": {
            "version": state.topics_version,
            "table": {name: _changed(topic, "topic_name") for name, topic in state.topics.items()},
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
        "orders": [[*place, _changed(info)] for place, info in remains.orders.items()],
        "delayOffsets": remains.delay_offsets,
        "timer": _timer_form(remains.timer),
        "filters": [
            [*place, data.expression, data.expression_type, data.version, data.dead_since]
            for place, data in remains.filters.items()
        ],
        "log": {
            "fileBytes": log.segment_bytes,
            "files": [[number, log.full.get(number)] for number in log.segments],
            "lastStoreTimestamp": log.last_store_timestamp,
        },
        "queues": [
            [queue.topic, queue.queue_id, _KINDS[type(queue)], queue.first, len(queue.physical)]
            for queue in state.queues
        ],
        "staticTopics": static,
        **({"users": users} if (users := [_user_form(user) for user in state.users.values()]) else {}),
    }


def broker_state(form: Form) -> tuple[BrokerState, list[int]]:
    """Restore a broker with empty queues and files. Returns it and the number of units of each queue."""
    topics, groups = form["topics"], form["groups"]
    static = form.get("staticTopics", {"version": (0, 0), "table": []})
    mappings = [_mapping(each) for each in static["table"]]
    state = BrokerState(
        _config(BrokerConfig(), form["config"]),
        _log(form["log"]),
        {name: _made(TopicConfig, held, topic_name=name) for name, held in topics["table"].items()},
        _version(topics["version"]),
        {name: _group(name, held) for name, held in groups["table"].items()},
        _version(groups["version"]),
        {name: set(forbidden) for name, forbidden in groups["forbidden"].items()},
        {(group, topic): _by_number(table) for topic, group, table in form["offsets"]},
        [_queue(*queue[:4]) for queue in form["queues"]],
        [SetMessageRequestMode(*mode) for mode in form["requestModes"]],
        [PopRecord(*record) for record in form["popRecords"]],
        Remains(
            {(topic, group, queue_id): _order(info) for topic, group, queue_id, info in form["orders"]},
            _by_number(form["delayOffsets"]),
            _timer(form["timer"]),
            {
                (topic, group): FilterData(expression, kind, version, SqlFilter(expression), dead_since)
                for topic, group, expression, kind, version, dead_since in form["filters"]
            },
        ),
        {each.topic: each for each in mappings},
        _version(static["version"]),
        {user.username: user for user in map(_user, form.get("users", ()))},
    )
    return state, [queue[4] for queue in form["queues"]]


def _log(form: Form) -> LogState:
    files = form["files"]
    numbers = [number for number, _ in files]
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise ValueError(f"the log has the files {numbers}")
    return LogState(
        form["fileBytes"],
        {number: bytearray() for number in numbers},
        {number: full for number, full in files if full is not None},
        form["lastStoreTimestamp"],
    )


def _queue(topic: str, queue_id: int, kind: str, first: int) -> ConsumeQueue:
    queue = QUEUES[kind](topic, queue_id)
    queue.first = first
    return queue


def _mapping_form(mapping: QueueMapping) -> Form:
    queues = [[number, [_changed(part) for part in parts]] for number, parts in mapping.queues.items()]
    return _changed(mapping, "queues") | {"queues": queues}


def _mapping(form: Form) -> QueueMapping:
    queues = {number: [_made(QueuePart, part) for part in parts] for number, parts in form["queues"]}
    return _made(QueueMapping, {name: value for name, value in form.items() if name != "queues"}, queues=queues)


def _user_form(user: User) -> Form:
    form = {"username": user.username, "password": user.password, "type": user.user_type.value}
    rights = user.rights
    policies = (
        None if rights is None else [[each.kind.value, *map(_entry_form, each.entries)] for each in rights.policies]
    )
    return {**form, "status": user.status.value, **({} if policies is None else {"rights": policies})}


def _entry_form(entry: Entry) -> list[Any]:
    actions = [action.value for action in entry.actions]
    return [entry.resource.key, actions, list(entry.sources), entry.decision.value]


def _user(form: Form) -> User:
    policies = form.get("rights")
    rights = None
    if policies is not None:
        rights = Rights(tuple(Policy(PolicyType(kind), tuple(map(_entry, entries))) for kind, *entries in policies))
    return User(form["username"], form["password"], UserType(form["type"]), UserStatus(form["status"]), rights)


def _entry(form: list[Any]) -> Entry:
    key, actions, sources, decision = form
    resource = Resource.parse(key)
    if resource is None:
        raise ValueError(f"{key} is no resource")
    return Entry(resource, tuple(map(Action, actions)), tuple(sources), Decision(decision))


def _group_form(group: GroupConfig) -> Form:
    form = _changed(group, "group_name")
    if "retryPolicy" in form:
        form["retryPolicy"] = _changed(group.retry_policy)
    return form


def _group(name: str, form: Form) -> GroupConfig:
    group = _made(GroupConfig, form, group_name=name)
    if "retryPolicy" in form:
        group.retry_policy = _made(RetryPolicy, form["retryPolicy"])
    return group


def _order(form: Form) -> OrderInfo:
    info = _made(OrderInfo, form)
    info.counts, info.next_visible = _by_number(info.counts), _by_number(info.next_visible)
    return info


# the timer


def _timer_form(remains: TimerRemains) -> Form:
    return {
        "followed": _changed(remains.followed),
        "slots": [
            [
                slot_ms,
                slot.number,
                [[waiting.offset, waiting.enqueue_ms, waiting.rolls] for waiting in slot.waiting],
                sorted(slot.deleted),
            ]
            for slot_ms, slot in remains.slots.items()
        ],
        "progress": [remains.progress.taken, remains.progress.units],
        **({} if remains.kept_out is None else {"keptOut": remains.kept_out}),
        "version": remains.version,
        "metrics": {
            "version": remains.metrics.version,
            "topics": {topic: [found.count, found.changed_ms] for topic, found in remains.metrics.topics.items()},
        },
    }


def _timer(form: Form) -> TimerRemains:
    metrics = form["metrics"]
    return TimerRemains(
        {
            slot_ms: Slot([Waiting(*each) for each in waiting], set(deleted), number)
            for slot_ms, number, waiting, deleted in form["slots"]
        },
        WheelProgress(*form["progress"]),
        form["version"],
        WrittenMetrics({topic: TimerMetric(*found) for topic, found in metrics["topics"].items()}, metrics["version"]),
        _made(FollowedTimer, form.get("followed", {})),
        form.get("keptOut"),
    )


# values


def _changed(value: Any, *left_out: str) -> Form:
    """Return the fields of a value that differ from their defaults."""
    form = {}
    for field in fields(value):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        held = getattr(value, field.name)
        if field.name not in left_out and held != default:
            form[camel_case(field.name)] = held
    return form


def _made(kind: type[V], form: Mapping[str, Any], **given: Any) -> V:
    """Create a value of a class; fields missing in the form get their defaults."""
    known = {camel_case(field.name): field.name for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    return kind(**given, **{known[name]: held for name, held in form.items()})


def _by_number(table: Mapping[Any, int]) -> dict[int, int]:
    return {int(number): held for number, held in table.items()}


def _version(numbers: Iterable[int]) -> tuple[int, int]:
    counter, timestamp = numbers
    return counter, timestamp
