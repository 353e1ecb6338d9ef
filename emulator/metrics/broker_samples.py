"""Samples of one broker: its requests, messages and clients."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ..client.client_text import sdk_version
from ..cluster.broker import Broker
from ..kernel.response_code import ResponseCode
from ..message import properties as props
from ..message import stored_record as records
from ..overload.request_pools import BrokerPool
from ..stats.histogram import CREATION_BOUNDS, Histogram
from .family import Labels, Sample
from .lag_samples import lag_samples
from .node_labels import broker_labels, is_system, is_system_group, text_of
from .parts import in_parts
from .store_samples import store_samples
from .upstream_families import UPSTREAM

PROCESSORS: Mapping[str, BrokerPool | None] = {
    "send": BrokerPool.SEND,
    "async_put": None,
    "pull": BrokerPool.PULL,
    "ack": BrokerPool.ACK,
    "query_message": BrokerPool.QUERY,
    "client_manager": BrokerPool.CLIENT,
    "heartbeat": BrokerPool.HEARTBEAT,
    "lite_pull": BrokerPool.LITE_PULL,
    "transaction": BrokerPool.TRANSACTION,
    "consumer_manager": BrokerPool.CONSUMER,
    "admin": BrokerPool.ADMIN,
    "reply": BrokerPool.REPLY,
}
"""The pools of the label `processor`; the emulator has none for `async_put` (BrokerMetricsManager.initStatsMetrics)."""
MODES: Mapping[str, str] = {"CONSUME_ACTIVELY": "pull", "CONSUME_PASSIVELY": "push", "CONSUME_POP": "pop"}
"""The label `consume_mode` by consume type (ConsumeType.getTypeCN)."""
REMOTING = "remoting"


def broker_samples(broker: Broker) -> Iterator[Sample | None]:
    """Yield the samples of a broker, and None after each part of the work."""
    common, now_ms = broker_labels(broker), broker.store.now_ms
    yield from _sizes(broker, common)
    yield from in_parts(_messages(broker, common))
    yield from _responses(broker, common)
    yield from _creations(broker, common)
    yield None
    yield from in_parts(_connections(broker, common))
    yield from _count_stored_halves(broker)
    yield from in_parts(_transactions(broker, common))
    yield from in_parts(store_samples(broker, common, now_ms))
    yield from lag_samples(broker, common, now_ms)


def _sizes(broker: Broker, common: Labels) -> Iterator[Sample]:
    for processor, pool in PROCESSORS.items():
        waiting = 0 if pool is None else broker.request_pools.waiting(pool)
        yield Sample(UPSTREAM["rocketmq_processor_watermark"], {**common, "processor": processor}, waiting)
    yield Sample(UPSTREAM["rocketmq_broker_permission"], common, broker.config.broker_permission)
    yield Sample(UPSTREAM["rocketmq_topic_number"], common, len(broker.topics.table))
    yield Sample(UPSTREAM["rocketmq_consumer_group_number"], common, len(broker.groups.table))


def _messages(broker: Broker, common: Labels) -> Iterator[Sample]:
    counters = broker.store.stats.by_name.counters
    for (topic, kind), total in list(counters.sent.totals().items()):
        labels = {**common, "topic": topic, "message_type": kind, "is_system": text_of(is_system(broker, topic))}
        yield Sample(UPSTREAM["rocketmq_messages_in_total"], labels, total.messages)
        yield Sample(UPSTREAM["rocketmq_throughput_in_total"], labels, total.bytes)
        yield Sample(UPSTREAM["rocketmq_message_size"], labels, total.sizes)
    for (topic, group, of_retry), (messages, size) in list(counters.out.items()):
        labels = {**common, "topic": topic, "consumer_group": group, "is_system": _is_system_out(broker, topic, group)}
        if of_retry is not None:
            labels["is_retry"] = text_of(of_retry)
        yield Sample(UPSTREAM["rocketmq_messages_out_total"], labels, messages)
        yield Sample(UPSTREAM["rocketmq_throughput_out_total"], labels, size)
    for (group, topic), number in list(counters.dead_letters.items()):
        labels = {**common, "consumer_group": group, "topic": topic}
        labels["is_system"] = _is_system_out(broker, topic, group)
        yield Sample(UPSTREAM["rocketmq_send_to_dlq_messages_total"], labels, number)


def _is_system_out(broker: Broker, topic: str, group: str) -> str:
    return text_of(is_system(broker, topic) or is_system_group(group))


def _responses(broker: Broker, common: Labels) -> Iterator[Sample]:
    for (label, code, kind), latencies in list(broker.responses.totals().items()):
        labels = {
            **common,
            "protocol_type": REMOTING,
            "request_code": label.lower(),
            "response_code": ResponseCode(code).name.lower() if code in _CODES else str(code),
            "is_long_polling": text_of(isinstance(kind, str)),
            "result": "oneway" if kind is True else "success",
        }
        yield Sample(UPSTREAM["rocketmq_rpc_latency"], labels, latencies)


_CODES = frozenset(map(int, ResponseCode))


def _creations(broker: Broker, common: Labels) -> Iterator[Sample]:
    counters = broker.store.stats.by_name.counters
    for (succeeded, of_system), number in counters.topic_creations.items():
        labels = {**common, "invocation_status": _status(succeeded), "is_system": text_of(of_system)}
        yield Sample(UPSTREAM["rocketmq_topic_create_execution_time"], labels, _instant(number))
    for succeeded, number in counters.group_creations.items():
        labels = {**common, "invocation_status": _status(succeeded)}
        yield Sample(UPSTREAM["rocketmq_consumer_group_create_execution_time"], labels, _instant(number))


def _status(succeeded: bool) -> str:
    return "success" if succeeded else "failure"


def _instant(number: int) -> Histogram:
    """Return the durations of requests that take no time."""
    found = Histogram(CREATION_BOUNDS)
    found.record(0, number)
    return found


def _connections(broker: Broker, common: Labels) -> Iterator[Sample]:
    members = [member for group in broker.clients.producers.values() for member in group.values()]
    for (language, version), number in Counter((each.language, each.version) for each in members).items():
        labels = {
            **common,
            "language": language.lower(),
            "version": sdk_version(version).lower(),
            "protocol_type": REMOTING,
        }
        yield Sample(UPSTREAM["rocketmq_producer_connections"], labels, number)
    for group, consumers in list(broker.clients.consumers.items()):
        found = Counter((each.language, each.version) for each in consumers.members.values())
        for (language, version), number in found.items():
            labels = {
                **common,
                "consumer_group": group,
                "language": language.lower(),
                "version": sdk_version(version).lower(),
                "consume_mode": MODES.get(consumers.consume_type, consumers.consume_type),
                "protocol_type": REMOTING,
                "is_system": text_of(is_system_group(group)),
            }
            yield Sample(UPSTREAM["rocketmq_consumer_connections"], labels, number)


def _transactions(broker: Broker, common: Labels) -> Iterator[Sample]:
    counters = broker.store.stats.by_name.counters
    for topic, number in _open_half_messages(broker).items():
        yield Sample(UPSTREAM["rocketmq_half_messages"], {**common, "topic": topic}, number)
    for topic, number in list(counters.committed.items()):
        yield Sample(UPSTREAM["rocketmq_commit_messages_total"], {**common, "topic": topic}, number)
    for topic, number in list(counters.rolled_back.items()):
        yield Sample(UPSTREAM["rocketmq_rollback_messages_total"], {**common, "topic": topic}, number)
    for topic, ages in list(counters.finish_seconds.items()):
        yield Sample(UPSTREAM["rocketmq_finish_message_latency"], {**common, "topic": topic}, ages)


def _count_stored_halves(broker: Broker) -> Iterator[None]:
    """Count the undecided half messages in the log, at the first call of a run. From then on events count them."""
    counters = broker.store.stats.by_name.counters
    if counters.half_before is not None:
        return
    counted, stored = Counter(counters.half), Counter[str]()
    for record in (yield from broker.checks.undecided_in_steps()):
        stored[records.decode(record).property_map().get(props.REAL_TOPIC, "")] += 1
        yield None
    if counters.half_before is None:  # unless another reader was faster
        counters.half_before = {topic: stored[topic] - counted[topic] for topic in stored | counted}


def _open_half_messages(broker: Broker) -> Mapping[str, int]:
    """Return the number of undecided half messages by topic."""
    counters = broker.store.stats.by_name.counters
    before = counters.half_before or {}
    return {topic: max(before.get(topic, 0) + counters.half[topic], 0) for topic in {**before, **counters.half}}
