"""Broker statistics by topic and group, for monitoring."""

from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.broker_config import read_settings
from ...helpers.sends import send_back, send_batch
from ..cluster.slaves import SYNC_MASTER_SETTINGS, pull_from_slave, wait_until_slave_connected
from ..schedule.delay import delayed

SAMPLED_SECONDS = 11
"""Seconds after which a counter has been sampled once."""
MINUTE_SECONDS = 76


def view_counter(
    t: RemotingContext, name: str | None, key: str | None, to: RemotingClient | None = None
) -> DecodedResponse:
    """Request a counter by name and key."""
    return t.request(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key}, to=to)


def last_minute(response: DecodedResponse) -> object:
    """Return sum and average of the last minute, and whether the rate is above 0."""
    if response.code:
        return response
    found = response.json["statsMinute"]
    return {"sum": found["sum"], "avgpt": found["avgpt"], "tps": found["tps"] > 0}


@remoting_case("StatsItem.getStatsDataInMinute")
def messages_are_counted_by_topic(t: RemotingContext) -> None:
    """Number and size of messages sent to a topic in the last minute are available after the next 10 s sample."""
    topic = t.topic(queues=2)
    t.note("before", view_counter(t, "TOPIC_PUT_NUMS", topic), 1)
    t.sent(topic, 3)
    t.sent(topic, 1, queue=1)
    t.readable(topic, send_batch(t, topic, [(b"a", {}), (b"b", {})]))
    t.wait(SAMPLED_SECONDS)
    t.note("messages", last_minute(view_counter(t, "TOPIC_PUT_NUMS", topic)))
    size = view_counter(t, "TOPIC_PUT_SIZE", topic).json["statsMinute"]
    t.note("bytes", [size["sum"] > 6 * 90, size["avgpt"] > 90])
    stats = t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json
    t.note("statistics of the topic", stats["topicPutTps"] > 0)
    t.wait(MINUTE_SECONDS)
    t.note("a minute later", view_counter(t, "TOPIC_PUT_NUMS", topic).json["statsMinute"])
    t.note("then of the topic", t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json["topicPutTps"])


@remoting_case("StatsItem.getStatsDataInHour")
def a_counter_has_values_for_minute_hour_and_day(t: RemotingContext) -> None:
    """A counter has values for the last minute, hour and day, which are zero before the first sample."""
    topic = t.topic(queues=1)
    t.sent(topic, 2)
    response = view_counter(t, "TOPIC_PUT_NUMS", topic)
    t.note("members", {name: sorted(span) for name, span in response.json.items()})
    t.note("day", response.json["statsDay"])


@remoting_case("BrokerStatsManager.incGroupGetNums")
def messages_are_counted_by_group(t: RemotingContext) -> None:
    """The messages delivered to a group by pulls and pops are counted by topic, including repeated deliveries."""
    topic, group, other = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 4)
    t.note("before", view_counter(t, "GROUP_GET_NUMS", f"{topic}@{group}"), 1)
    t.pull(topic, group, max_messages=3)
    t.pull(topic, group, offset=2)
    t.pull(topic, group, offset=4)
    t.pop(topic, other)
    t.wait(SAMPLED_SECONDS)
    t.note("pulled", last_minute(view_counter(t, "GROUP_GET_NUMS", f"{topic}@{group}")))
    t.note("popped", last_minute(view_counter(t, "GROUP_GET_NUMS", f"{topic}@{other}")))
    size = view_counter(t, "GROUP_GET_SIZE", f"{topic}@{group}").json["statsMinute"]
    t.note("bytes", [size["sum"] > 5 * 90, size["avgpt"] > 2 * 90])
    t.commit(topic, group, 2)
    t.note("rate", t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}).json["consumeTps"] > 0)
    t.wait(MINUTE_SECONDS)
    t.note("a minute later", t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}).json["consumeTps"])


@remoting_case("BrokerStatsManager.incSendBackNums")
def messages_sent_back_are_counted_by_group(t: RemotingContext) -> None:
    """Messages sent back are counted by original topic and group, including dead letters."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    first = t.stored(topic).messages[0].physical_offset
    send_back(t, group, first, 3)
    send_back(t, group, first, -1)
    t.wait(SAMPLED_SECONDS)
    t.note("sent back", last_minute(view_counter(t, "SNDBCK_PUT_NUMS", f"{topic}@{group}")))
    t.note("dead", view_counter(t, "TOPIC_PUT_NUMS", f"%DLQ%{group}"))


@remoting_case("BrokerStatsManager.onTopicDeleted")
def counters_of_deleted_topics_and_groups_are_deleted(t: RemotingContext) -> None:
    """Deleting a topic deletes the counters of its groups; deleting a group deletes its own."""
    first, second, group = t.topic(queues=1), t.topic(queues=1), t.group()
    for topic in (first, second):
        t.sent(topic, 1)
        t.pull(topic, group)
    t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": first})
    t.note("topic", view_counter(t, "TOPIC_PUT_NUMS", first), 1)
    t.note("its group", view_counter(t, "GROUP_GET_NUMS", f"{first}@{group}"), 1)
    t.note("the group elsewhere", view_counter(t, "GROUP_GET_NUMS", f"{second}@{group}").code)
    t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group})
    t.note("no group", view_counter(t, "GROUP_GET_NUMS", f"{second}@{group}"), 1)
    t.note("but the topic", view_counter(t, "TOPIC_PUT_NUMS", second).code)


@remoting_case("BrokerStatsManager.incBrokerPutNums", alone=True)
def messages_are_counted_by_broker(t: RemotingContext) -> None:
    """Broker counters use the cluster's name as key, with or without system topics, and have no average."""
    topic, group = t.topic(queues=1), t.group()
    t.wait(SAMPLED_SECONDS)
    cluster = str(read_settings(t, "brokerClusterName")["brokerClusterName"])
    t.sent(topic, 20)
    delayed(t, topic, 18)
    t.pull(topic, group, max_messages=15)
    t.wait(SAMPLED_SECONDS)
    for name in ("BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"):
        t.note(name, last_minute(view_counter(t, name, cluster)))
    for name, least in (("BROKER_PUT_NUMS", 21), ("BROKER_GET_NUMS", 15)):
        t.note(name, view_counter(t, name, cluster).json["statsMinute"]["sum"] >= least)
    t.note("waiting", last_minute(view_counter(t, "TOPIC_PUT_NUMS", "SCHEDULE_TOPIC_XXXX")))


@remoting_case("BrokerStatsManager.incTopicPutNums", settings=SYNC_MASTER_SETTINGS)
def a_slave_counts_delivered_but_not_replicated_messages(t: RemotingContext) -> None:
    """A slave counts only the messages that it delivers, not those that it replicates."""
    wait_until_slave_connected(t)
    topic, group = t.topic(queues=1), t.group()
    pull_from_slave(t, topic, group)
    before = t.runtime_info(t.second_broker)
    t.sent(topic, 3)
    t.require(t.until(lambda: _end_at_slave(t, topic) == 3, 20), "the slave did not copy the messages")
    t.pull(topic, group, max_messages=2, to=t.second_broker)
    after = t.runtime_info(t.second_broker)
    for name in ("msgPutTotalTodayNow", "putMessageTimesTotal", "putMessageSizeTotal", "msgGetTotalTodayNow"):
        t.note(name, int(after[name]) - int(before[name]))
    t.note("by topic", view_counter(t, "TOPIC_PUT_NUMS", topic, t.second_broker))
    t.note("by group", view_counter(t, "GROUP_GET_NUMS", f"{topic}@{group}", t.second_broker).code)


def _end_at_slave(t: RemotingContext, topic: str) -> int:
    return int(t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}, to=t.second_broker)["offset"])


@remoting_case("AdminBrokerProcessor.ViewBrokerStatsData")
def an_unknown_counter_name_or_key_is_refused(t: RemotingContext) -> None:
    """A request for an unknown counter name or key, or without one, returns an error."""
    topic = t.topic(queues=1)
    t.sent(topic, 1)
    t.note("unknown name", view_counter(t, "TOPIC_PUT", topic), 1)
    t.note("unknown key", view_counter(t, "TOPIC_PUT_NUMS", t.new()), 1)
    t.note("of a group", view_counter(t, "GROUP_GET_NUMS", topic), 1)
    t.note("no name", view_counter(t, None, topic), 1)
    t.note("no key", view_counter(t, "TOPIC_PUT_NUMS", None), 1)


@remoting_case("AdminBrokerProcessor.fetchAllConsumeStatsInBroker", alone=True)
def one_request_returns_the_progress_of_all_groups(t: RemotingContext) -> None:
    """GET_BROKER_CONSUME_STATS returns the offsets and lags of all groups, without pull offsets."""
    first, second, group = t.topic(queues=2), t.topic(queues=1), t.group()
    for topic in (first, second):
        t.sent(topic, 5)
    t.commit(first, group, 2)
    t.commit(second, group, 5)
    t.pull(first, group, offset=2, max_messages=2)
    t.commit(t.new(), group, 1)

    def request(order: object) -> object:
        response = t.request(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": order})
        if response.code:
            return response
        read_settings = response.json
        ours = {
            name: stats
            for each in read_settings["consumeStatsList"]
            for name, stats in each.items()
            if "group-" in name
        }
        return {**read_settings, "consumeStatsList": [{name: _by_topic(ours[name])} for name in sorted(ours)]}

    t.note("all", request(False))
    t.note("ordered", request(True))
    t.note("neither", request(None))


def _by_topic(stats: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(({**each, "consumeTps": 0} for each in stats), key=lambda each: min(each["offsetTable"]))
