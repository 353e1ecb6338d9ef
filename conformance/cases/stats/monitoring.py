"""Broker statistics by topic and group, for monitoring."""

from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.broker_config import told
from ...helpers.sends import back, send_batch
from ..cluster.slaves import WAITED_FOR, followed, known_to_slave
from ..schedule.delay import delayed

SAMPLED_SECONDS = 11
"""Seconds after which a counter has been sampled once."""
MINUTE_SECONDS = 76


def watch(t: Remoting, name: str | None, key: str | None, to: RemotingClient | None = None) -> Answer:
    """Request a counter by name and key."""
    return t.ask(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key}, to=to)


def minute(answer: Answer) -> object:
    """Return sum and average of the last minute, and whether the rate is above 0."""
    if answer.code:
        return answer
    found = answer.json["statsMinute"]
    return {"sum": found["sum"], "avgpt": found["avgpt"], "tps": found["tps"] > 0}


@remoting_case("StatsItem.getStatsDataInMinute")
def messages_are_counted_by_topic(t: Remoting) -> None:
    """Number and size of messages sent to a topic in the last minute are available after the next 10 s sample."""
    topic = t.topic(queues=2)
    t.see("before", watch(t, "TOPIC_PUT_NUMS", topic), 1)
    t.sent(topic, 3)
    t.sent(topic, 1, queue=1)
    t.readable(topic, send_batch(t, topic, [(b"a", {}), (b"b", {})]))
    t.wait(SAMPLED_SECONDS)
    t.see("messages", minute(watch(t, "TOPIC_PUT_NUMS", topic)))
    size = watch(t, "TOPIC_PUT_SIZE", topic).json["statsMinute"]
    t.see("bytes", [size["sum"] > 6 * 90, size["avgpt"] > 90])
    stats = t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json
    t.see("statistics of the topic", stats["topicPutTps"] > 0)
    t.wait(MINUTE_SECONDS)
    t.see("a minute later", watch(t, "TOPIC_PUT_NUMS", topic).json["statsMinute"])
    t.see("then of the topic", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json["topicPutTps"])


@remoting_case("StatsItem.getStatsDataInHour")
def what_was_counted_is_told_for_three_spans(t: Remoting) -> None:
    """A counter has values for the last minute, hour and day, which are zero before the first sample."""
    topic = t.topic(queues=1)
    t.sent(topic, 2)
    answer = watch(t, "TOPIC_PUT_NUMS", topic)
    t.see("members", {name: sorted(span) for name, span in answer.json.items()})
    t.see("day", answer.json["statsDay"])


@remoting_case("BrokerStatsManager.incGroupGetNums")
def messages_are_counted_by_group(t: Remoting) -> None:
    """The messages delivered to a group by pulls and pops are counted by topic, including repeated deliveries."""
    topic, group, other = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 4)
    t.see("before", watch(t, "GROUP_GET_NUMS", f"{topic}@{group}"), 1)
    t.pull(topic, group, max_messages=3)
    t.pull(topic, group, offset=2)
    t.pull(topic, group, offset=4)
    t.pop(topic, other)
    t.wait(SAMPLED_SECONDS)
    t.see("pulled", minute(watch(t, "GROUP_GET_NUMS", f"{topic}@{group}")))
    t.see("popped", minute(watch(t, "GROUP_GET_NUMS", f"{topic}@{other}")))
    size = watch(t, "GROUP_GET_SIZE", f"{topic}@{group}").json["statsMinute"]
    t.see("bytes", [size["sum"] > 5 * 90, size["avgpt"] > 2 * 90])
    t.commit(topic, group, 2)
    t.see("rate", t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}).json["consumeTps"] > 0)
    t.wait(MINUTE_SECONDS)
    t.see("a minute later", t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}).json["consumeTps"])


@remoting_case("BrokerStatsManager.incSendBackNums")
def messages_sent_back_are_counted_by_group(t: Remoting) -> None:
    """Messages sent back are counted by original topic and group, including dead letters."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 1)
    first = t.stored(topic).messages[0].physical_offset
    back(t, group, first, 3)
    back(t, group, first, -1)
    t.wait(SAMPLED_SECONDS)
    t.see("sent back", minute(watch(t, "SNDBCK_PUT_NUMS", f"{topic}@{group}")))
    t.see("dead", watch(t, "TOPIC_PUT_NUMS", f"%DLQ%{group}"))


@remoting_case("BrokerStatsManager.onTopicDeleted")
def counters_of_what_is_deleted_are_gone(t: Remoting) -> None:
    """Deleting a topic deletes the counters of its groups; deleting a group deletes its own."""
    first, second, group = t.topic(queues=1), t.topic(queues=1), t.group()
    for topic in (first, second):
        t.sent(topic, 1)
        t.pull(topic, group)
    t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": first})
    t.see("topic", watch(t, "TOPIC_PUT_NUMS", first), 1)
    t.see("its group", watch(t, "GROUP_GET_NUMS", f"{first}@{group}"), 1)
    t.see("the group elsewhere", watch(t, "GROUP_GET_NUMS", f"{second}@{group}").code)
    t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group})
    t.see("no group", watch(t, "GROUP_GET_NUMS", f"{second}@{group}"), 1)
    t.see("but the topic", watch(t, "TOPIC_PUT_NUMS", second).code)


@remoting_case("BrokerStatsManager.incBrokerPutNums", alone=True)
def messages_are_counted_by_broker(t: Remoting) -> None:
    """Broker counters use the cluster's name as key, with or without system topics, and have no average."""
    topic, group = t.topic(queues=1), t.group()
    t.wait(SAMPLED_SECONDS)
    cluster = str(told(t, "brokerClusterName")["brokerClusterName"])
    t.sent(topic, 20)
    delayed(t, topic, 18)
    t.pull(topic, group, max_messages=15)
    t.wait(SAMPLED_SECONDS)
    for name in ("BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"):
        t.see(name, minute(watch(t, name, cluster)))
    for name, least in (("BROKER_PUT_NUMS", 21), ("BROKER_GET_NUMS", 15)):
        t.see(name, watch(t, name, cluster).json["statsMinute"]["sum"] >= least)
    t.see("waiting", minute(watch(t, "TOPIC_PUT_NUMS", "SCHEDULE_TOPIC_XXXX")))


@remoting_case("BrokerStatsManager.incTopicPutNums", settings=WAITED_FOR)
def a_slave_counts_what_it_gives_alone(t: Remoting) -> None:
    """A slave counts only the messages that it delivers, not those that it replicates."""
    followed(t)
    topic, group = t.topic(queues=1), t.group()
    known_to_slave(t, topic, group)
    before = t.runtime_info(t.beside)
    t.sent(topic, 3)
    t.require(t.until(lambda: _end_at_slave(t, topic) == 3, 20), "the slave did not copy the messages")
    t.pull(topic, group, max_messages=2, to=t.beside)
    after = t.runtime_info(t.beside)
    for name in ("msgPutTotalTodayNow", "putMessageTimesTotal", "putMessageSizeTotal", "msgGetTotalTodayNow"):
        t.see(name, int(after[name]) - int(before[name]))
    t.see("by topic", watch(t, "TOPIC_PUT_NUMS", topic, t.beside))
    t.see("by group", watch(t, "GROUP_GET_NUMS", f"{topic}@{group}", t.beside).code)


def _end_at_slave(t: Remoting, topic: str) -> int:
    return int(t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}, to=t.beside)["offset"])


@remoting_case("AdminBrokerProcessor.ViewBrokerStatsData")
def what_was_never_counted_is_an_error(t: Remoting) -> None:
    """A request for an unknown counter name or key, or without one, returns an error."""
    topic = t.topic(queues=1)
    t.sent(topic, 1)
    t.see("unknown name", watch(t, "TOPIC_PUT", topic), 1)
    t.see("unknown key", watch(t, "TOPIC_PUT_NUMS", t.new()), 1)
    t.see("of a group", watch(t, "GROUP_GET_NUMS", topic), 1)
    t.see("no name", watch(t, None, topic), 1)
    t.see("no key", watch(t, "TOPIC_PUT_NUMS", None), 1)


@remoting_case("AdminBrokerProcessor.fetchAllConsumeStatsInBroker", alone=True)
def progress_of_all_groups_is_told_at_once(t: Remoting) -> None:
    """GET_BROKER_CONSUME_STATS returns the offsets and lags of all groups, without pull offsets."""
    first, second, group = t.topic(queues=2), t.topic(queues=1), t.group()
    for topic in (first, second):
        t.sent(topic, 5)
    t.commit(first, group, 2)
    t.commit(second, group, 5)
    t.pull(first, group, offset=2, max_messages=2)
    t.commit(t.new(), group, 1)

    def ask(order: object) -> object:
        answer = t.ask(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": order})
        if answer.code:
            return answer
        told = answer.json
        ours = {name: stats for each in told["consumeStatsList"] for name, stats in each.items() if "group-" in name}
        return {**told, "consumeStatsList": [{name: _by_topic(ours[name])} for name in sorted(ours)]}

    t.see("all", ask(False))
    t.see("ordered", ask(True))
    t.see("neither", ask(None))


def _by_topic(stats: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(({**each, "consumeTps": 0} for each in stats), key=lambda each: min(each["offsetTable"]))
