"""Subscriptions, as administrators see them, of groups with and without heartbeats."""

from typing import Any

from rocketmq_testkit.emulator.message.names import pop_retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.settings import CHANGED_KEYS, shared_settings

EXPIRED_SECONDS = int(CHANGED_KEYS["subscriptionExpiredTimeout"]) // 1000
FORGETFUL = shared_settings(CHANGED_KEYS, "subscriptionExpiredTimeout")
"""Settings with a short expiry of subscriptions from pulls and pops."""
SCAN_SECONDS = 10
"""Interval in seconds of the broker's expiry scan."""
_RENEWED_SECONDS = 15


def _subscription(t: RemotingContext, group: str, topic: str) -> Any:
    """Return the group's subscription to a topic as the broker reports it."""
    response = t.request(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, {"group": group, "topic": topic})
    return response.json.get("subscriptionData")


@remoting_case("ConsumerManager.compensateSubscribeData")
def the_expression_of_the_last_pull_is_reported_as_subscription(t: RemotingContext) -> None:
    """The expression of a group's last pull is reported as its subscription, even if it does not compile."""
    topic, group = t.topic(queues=1), t.group()
    t.note("before", _subscription(t, group, topic))
    for expression, kind in (("A || B", "TAG"), ("*", "TAG"), (None, None), ("a > 1", "SQL92"), ("a >", "SQL92")):
        t.note("pulled", t.pull(topic, group, expression=expression, type=kind).code)
        t.note("wanted", _subscription(t, group, topic))
    t.note("refused", t.pull(topic, group, expression="||").code)
    t.note("as before", _subscription(t, group, topic))
    t.note("of a kind that is none", t.pull(topic, group, expression="B", type="none").code)
    t.note("wanted of that kind", _subscription(t, group, topic))


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_is_reported_as_subscription_to_topic_and_retry_topic(t: RemotingContext) -> None:
    """A pop, even a rejected one, is reported as a subscription of its group to the topic and to the retry topic."""
    topic, group = t.topic(queues=1), t.group()
    retry = pop_retry_topic(topic, group, v2=False)
    asked = (("A||B", "TAG"), (None, "SQL92"), ("a > 1", "SQL92"), ("a >", "SQL92"), ("B", "none"), ("*", "TAG"))
    for expression, kind in asked:
        t.note("popped", t.pop(topic, group, expression=expression, type=kind).code)
        t.note("wanted", _subscription(t, group, topic))
        t.note("wanted of the retries", _subscription(t, group, retry))


@remoting_case("ConsumerManager.findSubscriptionData")
def a_heartbeat_subscription_has_priority_over_those_of_pulls(t: RemotingContext) -> None:
    """A group's heartbeat has priority over its requests. Requests count for other topics, and after the heartbeats."""
    topic, other, group, client = t.topic(queues=1), t.topic(queues=1), t.group(), t.new("client")
    for each in (topic, other):
        t.pull(each, group, expression="A")
    connection = t.connect()
    t.heartbeat(client, groups={group: {topic: "B"}}, version=5, to=connection)
    for label in ("alive", "gone"):
        t.note(label, _subscription(t, group, topic))
        t.note(f"{label}, the other topic", _subscription(t, group, other))
        t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": client, "consumerGroup": group}, to=connection)


@remoting_case("ConsumerManager.removeExpireConsumerGroupInfo", settings=FORGETFUL)
def a_subscription_from_pulls_or_pops_expires(t: RemotingContext) -> None:
    """A subscription from requests expires some time after the group's last request of any kind."""
    topic, pulls, pops = t.topic(queues=1), t.group(), t.group()
    wanted = ((pulls, topic), (pops, topic), (pops, pop_retry_topic(topic, pops, v2=False)))

    def left() -> list[bool]:
        return [_subscription(t, group, name) is not None for group, name in wanted]

    def request() -> None:
        t.pull(topic, pulls)
        t.pop(topic, pops)

    request()
    t.wait(_RENEWED_SECONDS)
    request()
    watch = t.stopwatch()
    # The broker has scanned since the first request expired; the second one has not expired.
    t.wait(EXPIRED_SECONDS + SCAN_SECONDS + 1 - _RENEWED_SECONDS)
    t.note("asked for twice", left())
    t.until(lambda: not any(left()), 60.0)
    t.note("in the end", left())
    t.note("after", watch.between(EXPIRED_SECONDS - 1, EXPIRED_SECONDS + SCAN_SECONDS + 3))


@remoting_case("AdminBrokerProcessor.getTopicsForCollectingConsumeStats")
def consume_stats_of_an_online_group_omit_unsubscribed_topics(t: RemotingContext) -> None:
    """Consume statistics of a group with members omit topics that it does not subscribe to.

    Topics of its pulls or of the request's list are included.
    """
    left, read, new, group = t.topic(queues=1), t.topic(queues=1), t.topic(queues=1), t.group()
    for topic in (left, read):
        t.sent(topic, 2)
        t.commit(topic, group, 1)

    def note(label: str) -> None:
        for asked, ext in (
            ("all", {}),
            ("one", {"topic": left}),
            ("a blank one", {"topic": " "}),
            ("a list", {"topic": read, "topicList": f"{left};{new};"}),
        ):
            t.note(f"{label}: {asked}", t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, **ext}), 0)

    note("of nobody")
    t.heartbeat(t.new("client"), groups={group: {read: "*", new: "*"}})
    note("of a live group")
    t.pull(left, group, offset=2)
    note("after a pull")


@remoting_case("AdminBrokerProcessor.cloneGroupOffset")
def offsets_of_unsubscribed_topics_are_cloned_only_with_offline_true(t: RemotingContext) -> None:
    """Offsets of a topic that a group with members does not subscribe to are cloned only with offline=true.

    They replace all others.
    """
    topic, other, source, copy = t.topic(queues=2), t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 3)
    t.commit(topic, source, 2)
    t.commit(topic, copy, 1, queue=1)
    t.heartbeat(t.new("client"), groups={source: {other: "*"}})
    for offline in (False, True):
        ext = {"srcGroup": source, "destGroup": copy, "topic": topic, "offline": offline}
        t.note("clone", t.request(RequestCode.CLONE_GROUP_OFFSET, ext), 0)
        for queue in range(2):
            t.note(f"queue {queue}", t.committed(topic, copy, queue, setZeroIfNotFound=False))
