"""Requests of tools: local data (`lo`), reads that create a consume queue, invalid queue types, and TPS figures."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup
from ..pop.peek import peek
from ..topic.topics import create


@remoting_case("AdminBrokerProcessor.getTopicConfig")
def the_field_lo_does_not_change_topic_config_responses(t: RemotingContext) -> None:
    """The field `lo`, with which tools ask for local data only, changes no response about a topic."""
    topic = t.topic(queues=3)
    for word in ("true", "false", "maybe", ""):
        t.note(f"lo={word}", t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic, "lo": word}))
    t.note("unknown", t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": t.new(), "lo": "true"}), 17)


@remoting_case("ConsumeQueueStore.findOrCreateConsumeQueue")
def some_requests_for_an_empty_queue_create_its_consume_queue(t: RemotingContext) -> None:
    """Some requests that read an empty queue create its consume queue, which is then found but empty."""
    group = t.group()

    def look(topic: str) -> object:
        ext = {"topic": topic, "queueId": 0, "index": 0, "count": 10}
        return t.request(RequestCode.QUERY_CONSUME_QUEUE, ext)

    queue: Mapping[str, object] = {"queueId": 0}
    topic = t.topic(queues=1)
    t.note("nothing", look(topic), 1)
    for label, code, fields in (
        ("end", RequestCode.GET_MAX_OFFSET, {}),
        ("beginning", RequestCode.GET_MIN_OFFSET, {}),
        ("by time", RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"timestamp": 0}),
        ("oldest", RequestCode.GET_EARLIEST_MSG_STORETIME, {}),
        ("committed", RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": group}),
        ("commit", RequestCode.UPDATE_CONSUMER_OFFSET, {"consumerGroup": group, "commitOffset": 0}),
        ("statistics", RequestCode.GET_TOPIC_STATS_INFO, {}),
        ("progress", RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}),
    ):
        topic = t.topic(queues=1)
        t.request(code, {**queue, "topic": topic, **fields})
        t.note(f"after {label}", look(topic))
    topic = t.topic(queues=1)
    t.pull(topic, group)
    t.note("after a pull", look(topic), 0)
    topic = t.topic(queues=1)
    t.pop(topic, group)
    t.note("after a pop", look(topic))
    topic = t.topic(queues=1)
    peek(PopGroup(t, topic, group))
    t.note("after a peek", look(topic))


@remoting_case("EnumAttribute.verify")
def a_topic_with_an_unknown_queue_type_is_rejected(t: RemotingContext) -> None:
    """A topic may be created with queue type BatchCQ or SimpleCQ; unknown types are rejected."""
    for kind in ("BatchCQ", "SimpleCQ", "RocksDBConsumeQueue", "simplecq", "none"):
        topic = t.new()
        made = create(t, topic, readQueueNums=1, writeQueueNums=1, attributes=f"+queue.type={kind}")
        t.note(f"made with {kind}", made)
        t.note("config", t.config_of(topic))


@remoting_case("StoreStatsService.getRuntimeInfo")
def tps_rates_have_one_number_per_measured_period(t: RemotingContext) -> None:
    """Each TPS figure in the broker's runtime info has one number for each of its three periods that was measured."""
    table = t.runtime_info()
    rates = {name: text for name, text in table.items() if name.endswith("Tps")}
    t.note("rates", sorted(rates))
    t.note("numbers", sorted(name for name, text in rates.items() if not all(map(_is_number, text.split()))))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
