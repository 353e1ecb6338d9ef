"""Broker counters other than those of stored and delivered messages.

KV records are those of popConsumerKVServiceEnable.
"""

from collections.abc import Mapping

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.broker_config import read_settings
from ...helpers.pops import PopGroup, popping
from ...helpers.sends import send_back
from ..pop.batch_ack import batch_ack, entry
from ..pop.peek import peek
from ..pop.pop_records import RECORDS
from ..schedule.delay import delayed
from .monitoring import SAMPLED_SECONDS, last_minute, view_counter

WITHOUT_DETAILS: Mapping[str, str] = {"enableDetailStat": "false", "enableScheduleMessageStats": "false"}


def note_counts(group: PopGroup) -> None:
    """Record the counts of a group's acknowledgements and check points after they were sampled."""
    t = group.t
    t.wait(SAMPLED_SECONDS)
    for name in ("GROUP_ACK_NUMS", "GROUP_CK_NUMS"):
        t.note(name, last_minute(view_counter(t, name, f"{group.topic}@{group.name}")))


def note_code(t: RemotingContext, name: str, key: str) -> None:
    """Record the response code for a counter's name and key: 0 if it exists, otherwise 1."""
    t.note(f"{name} {t.placeholders.normal(key)}", view_counter(t, name, key).code)


def acknowledge_in_each_way(t: RemotingContext) -> PopGroup:
    """Pop six messages; acknowledge one singly and two by a batch, and change the invisible duration of another."""
    group = popping(t, 6)
    t.note("check points before", view_counter(t, "GROUP_CK_NUMS", f"{group.topic}@{group.name}"), 1)
    handles = group.handles(max_messages=6)
    t.note("acknowledgements before", view_counter(t, "GROUP_ACK_NUMS", f"{group.topic}@{group.name}"), 1)
    t.note("one", group.ack(handles[0], 0), 0)
    t.note("two", batch_ack(t, entry(group, handles[1], [1, 2])), 0)
    t.note("changed", group.change(handles[3], 3, 60_000), 0)
    return group


def acknowledge_in_order(t: RemotingContext) -> PopGroup:
    """Pop two messages in order, and acknowledge the first."""
    group = popping(t, 2)
    handles = [handle for _, handle in t.popped(group.pop_in_order())]
    t.note("acknowledged", group.ack(handles[0], 0), 0)
    return group


@remoting_case("BrokerStatsManager.incGroupAckNums, incGroupCkNums")
def acknowledgements_are_counted_by_group(t: RemotingContext) -> None:
    """Each message of a batch acknowledgement counts as one. A change counts as one and adds a check point."""
    note_counts(acknowledge_in_each_way(t))


@remoting_case("BrokerStatsManager.incGroupCkNums")
def a_pop_counts_one_check_point_for_each_queue_with_messages(t: RemotingContext) -> None:
    """A pop counts one check point for each queue with messages, and one if it finds nothing."""
    topic, name = t.topic(queues=4), t.group()
    group = PopGroup(t, topic, name)
    t.sent(topic, 2, queue=0)
    t.sent(topic, 1, queue=3)
    t.note("popped", len(group.pop().messages))
    t.note("nothing", group.pop().code)
    note_counts(group)


@remoting_case("BrokerStatsManager.incGroupAckNums")
def acks_and_check_points_of_ordered_pops_are_not_counted(t: RemotingContext) -> None:
    """Ordered pops count neither acknowledgements nor check points."""
    note_counts(acknowledge_in_order(t))


@remoting_case("AckMessageProcessor.appendAckNew", settings=RECORDS)
def with_kv_records_only_acks_are_counted(t: RemotingContext) -> None:
    """With KV records there are no check points, and a change does not count as an acknowledgement."""
    note_counts(acknowledge_in_each_way(t))


@remoting_case("AckMessageProcessor.appendAckNew", settings=RECORDS)
def with_kv_records_acks_of_ordered_pops_are_counted(t: RemotingContext) -> None:
    """With KV records acknowledgements of ordered pops are counted like all others."""
    note_counts(acknowledge_in_order(t))


@remoting_case("BrokerStatsManager.incBrokerAckNums, incBrokerCkNums", alone=True)
def acknowledgements_are_counted_by_broker(t: RemotingContext) -> None:
    """Broker counters use the cluster's name as key and do not exist before the first event. They have no average."""
    cluster = str(read_settings(t, "brokerClusterName")["brokerClusterName"])
    for name in ("BROKER_ACK_NUMS", "BROKER_CK_NUMS"):
        t.note(f"{name} before", view_counter(t, name, cluster), 1)
    acknowledge_in_each_way(t)
    t.wait(SAMPLED_SECONDS)
    for name in ("BROKER_ACK_NUMS", "BROKER_CK_NUMS"):
        t.note(name, last_minute(view_counter(t, name, cluster)))
        t.note(f"{name} by another name", view_counter(t, name, t.new()), 1)


@remoting_case("ScheduleMessageService.onSuccess", alone=True)
def messages_of_delay_levels_are_counted_by_queue(t: RemotingContext) -> None:
    """Messages sent to delay levels by producers and consumers are counted.

    So are those delivered to SCHEDULE_CONSUMER.
    """
    topic, group = t.topic(queues=2), t.group()
    put, got = f"{SCHEDULE_TOPIC}@0", f"{SCHEDULE_TOPIC}@0@SCHEDULE_CONSUMER"
    t.note("before", view_counter(t, "QUEUE_PUT_NUMS", put), 1)
    delayed(t, topic, 1)
    delayed(t, topic, 1)
    delayed(t, topic, 18)
    t.sent(topic, 1, queue=1)
    first = t.stored(topic, 1, 1).messages[0].physical_offset
    send_back(t, group, first, 1)
    t.wait(SAMPLED_SECONDS)
    t.note("put", last_minute(view_counter(t, "QUEUE_PUT_NUMS", put)))
    t.note("put to the last level", last_minute(view_counter(t, "QUEUE_PUT_NUMS", f"{SCHEDULE_TOPIC}@17")))
    t.note("bytes put", view_counter(t, "QUEUE_PUT_SIZE", put).json["statsMinute"]["sum"] > 3 * 90)
    t.note("given", last_minute(view_counter(t, "QUEUE_GET_NUMS", got)))
    t.note("given of the last level", view_counter(t, "QUEUE_GET_NUMS", f"{SCHEDULE_TOPIC}@17@SCHEDULE_CONSUMER"), 1)
    t.note("bytes given", view_counter(t, "QUEUE_GET_SIZE", got).json["statsMinute"]["sum"] > 3 * 90)
    t.note("given of all levels", last_minute(view_counter(t, "GROUP_GET_NUMS", f"{SCHEDULE_TOPIC}@SCHEDULE_CONSUMER")))
    t.note("queue of the topic", view_counter(t, "QUEUE_PUT_NUMS", f"{topic}@1"), 1)


@remoting_case("BrokerStatsManager.incTopicPutLatency, incGroupGetLatency")
def put_and_get_latencies_are_tracked_by_queue(t: RemotingContext) -> None:
    """Latencies are tracked for each queue of a send and for each queue in a request that returns messages.

    Queue id -1 stands for any queue.
    """
    topic, group, other = t.topic(queues=2), t.group(), t.group()
    t.sent(topic, 2, queue=1)
    t.pull(topic, group, 1)
    t.pull(topic, group, 0)
    t.pop(topic, group)
    peek(PopGroup(t, topic, other), 1)
    for name, key in (
        ("TOPIC_PUT_LATENCY", f"1@{topic}"),
        ("TOPIC_PUT_LATENCY", f"0@{topic}"),
        ("TOPIC_PUT_LATENCY", topic),
        ("GROUP_GET_LATENCY", f"1@{topic}@{group}"),
        ("GROUP_GET_LATENCY", f"0@{topic}@{group}"),
        ("GROUP_GET_LATENCY", f"-1@{topic}@{group}"),
        ("GROUP_GET_LATENCY", f"1@{topic}@{other}"),
        ("GROUP_GET_LATENCY", f"{topic}@{group}"),
    ):
        note_code(t, name, key)
    t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group})
    t.note("without the group", view_counter(t, "GROUP_GET_LATENCY", f"1@{topic}@{group}").code)
    t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    t.note("without the topic", view_counter(t, "GROUP_GET_LATENCY", f"1@{topic}@{other}").code)
    t.note("sends without the topic", view_counter(t, "TOPIC_PUT_LATENCY", f"1@{topic}").code)


@remoting_case("BrokerStatsManager.init", settings=WITHOUT_DETAILS)
def without_detailed_statistics_no_queue_is_counted(t: RemotingContext) -> None:
    """Without detailed statistics group latencies are tracked by topic and not by queue.

    Without enableScheduleMessageStats delayed messages do not count as delivered.
    """
    topic, group = t.topic(queues=2), t.group()
    delayed(t, topic, 1)
    t.sent(topic, 1, queue=1)
    t.pull(topic, group, 1)
    t.wait(SAMPLED_SECONDS)
    for name, key in (
        ("QUEUE_PUT_NUMS", f"{SCHEDULE_TOPIC}@0"),
        ("QUEUE_GET_NUMS", f"{SCHEDULE_TOPIC}@0@SCHEDULE_CONSUMER"),
        ("GROUP_GET_NUMS", f"{SCHEDULE_TOPIC}@SCHEDULE_CONSUMER"),
        ("TOPIC_PUT_LATENCY", f"1@{topic}"),
        ("GROUP_GET_LATENCY", f"1@{topic}@{group}"),
        ("GROUP_GET_LATENCY", f"{topic}@{group}"),
    ):
        note_code(t, name, key)


@remoting_case("BrokerStatsManager.incDLQStatValue")
def dlq_messages_have_a_separate_counter(t: RemotingContext) -> None:
    """Dead letters have a counter of their own, with a null owner and the original topic in the request.

    The request must name that topic.
    """
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    first = t.stored(topic).messages[0].physical_offset
    key = f"null@orders@{group}@SEND_BACK_TO_DLQ"
    send_back(t, group, first, 3, originTopic="orders")
    t.note("before", view_counter(t, "SNDBCK2DLQ_TIMES", key), 1)
    t.note("sent back", send_back(t, group, first, -1, originTopic="orders"), 0)
    t.note("sent back of no topic", send_back(t, group, first, -1, originTopic=None), 1)
    t.note("dead of no topic", t.max_offset(f"%DLQ%{group}"))
    t.wait(SAMPLED_SECONDS)
    t.note("dead", last_minute(view_counter(t, "SNDBCK2DLQ_TIMES", key)))
    t.note("of no topic", last_minute(view_counter(t, "SNDBCK2DLQ_TIMES", f"null@null@{group}@SEND_BACK_TO_DLQ")))


@remoting_case("ClientHousekeepingService.onChannelConnect, ConsumerManager.registerConsumer")
def connections_and_heartbeats_are_counted(t: RemotingContext) -> None:
    """Opened and closed connections and registration times of groups are counted, the latter by cluster name."""
    topic, group = t.topic(queues=1), t.group()
    cluster = str(read_settings(t, "brokerClusterName")["brokerClusterName"])
    other = t.connect()
    t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}, to=other)
    t.disconnect(other)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, producers=[t.new("producer group")])
    t.settle()

    def counted(name: str, key: str) -> bool:
        return t.until(lambda: view_counter(t, name, key).code == 0, 3)

    for what in ("CONNECT", "CLOSE"):
        t.note(what, counted("CHANNEL_ACTIVITY", what))
    for name in ("CONSUMER_REGISTER_TIME", "PRODUCER_REGISTER_TIME"):
        t.note(name, counted(name, cluster))
    t.note("of a topic", view_counter(t, "CONSUMER_REGISTER_TIME", topic), 1)


@remoting_case("BrokerStatsManager.init")
def commercial_and_disk_read_counters_stay_empty(t: RemotingContext) -> None:
    """Commercial counters and counters of disk reads never count anything."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    t.pull(topic, group)
    for name in (
        *("COMMERCIAL_SEND_TIMES", "COMMERCIAL_RCV_TIMES", "COMMERCIAL_SNDBCK_TIMES", "COMMERCIAL_PERM_FAILURES"),
        *("GROUP_GET_FROM_DISK_NUMS", "BROKER_GET_FROM_DISK_NUMS", "DLQ_PUT_NUMS", "GROUP_GET_FALL_SIZE"),
    ):
        for key in (topic, f"{topic}@{group}"):
            note_code(t, name, key)
