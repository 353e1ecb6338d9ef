"""Consumer groups: creation, changes, deletion and statistics."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.settings import STRICT, with_keys


def _make(t: Remoting, **config: Any) -> Answer:
    return t.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, dumps(config))


def _config(t: Remoting, group: str) -> Answer:
    return t.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})


def _table(t: Remoting) -> Any:
    return t.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"]


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def a_group_has_defaults(t: Remoting) -> None:
    """A group created by its name alone has the defaults of SubscriptionGroupConfig."""
    group = t.new("group")
    t.see("made", _make(t, groupName=group), 0)
    t.see("its configuration", _config(t, group), 0)
    t.see("in the list", _table(t)[group])


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def a_group_is_replaced_by_an_update(t: Remoting) -> None:
    """An update of a group replaces its configuration; missing settings get their defaults."""
    group = t.new("group")
    config = {"retryMaxTimes": 3, "consumeEnable": False, "retryQueueNums": 2, "consumeMessageOrderly": True}
    t.see("made", _make(t, groupName=group, **config), 0)
    t.see("as made", _config(t, group), 0)
    t.see("updated", _make(t, groupName=group, retryMaxTimes=5), 0)
    t.see("as updated", _config(t, group), 0)


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def names_of_groups_are_not_checked(t: Remoting) -> None:
    """An administrator may create a group with any name, and it can consume."""
    topic, tail = t.topic(queues=1), t.new("group")
    for name in (f"{tail} with blanks", tail.ljust(256, "x")):
        t.see("made", _make(t, groupName=name).code)
        t.see("pulled", t.pull(topic, name).code)


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def a_group_needs_a_configuration(t: Remoting) -> None:
    """Creating a group without a body or with invalid JSON fails."""
    t.see("garbage", t.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, b"garbage"), 1)
    t.see("nothing", t.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP), 1)


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroupList")
def groups_are_made_together(t: Remoting) -> None:
    """One request creates several groups."""
    names = [t.new("group"), t.new("group")]
    body = {"groupConfigList": [{"groupName": names[0], "retryMaxTimes": 2}, {"groupName": names[1]}]}
    t.see("made", t.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, None, dumps(body)), 0)
    for name in names:
        t.see("retryMaxTimes", _config(t, name).json["retryMaxTimes"])


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def asking_for_a_group_makes_it(t: Remoting) -> None:
    """A request for the configuration of an unknown group creates the group, unless its name is illegal."""
    group = t.new("group")
    t.see("unknown", _config(t, group), 0)
    t.see("in the list", group in _table(t))
    t.see("a forbidden name", _config(t, "bad group"))


@remoting_case("PullMessageProcessor.processRequest")
def a_group_can_be_switched_off_and_on(t: Remoting) -> None:
    """A group with consumeEnable=false is rejected until it is enabled again."""
    topic, group = t.topic(queues=1), t.new("group")
    for enable in (False, True):
        t.see(f"enable {enable}", _make(t, groupName=group, consumeEnable=enable), 0)
        t.see("pulled", t.pull(topic, group))
        t.see("popped", t.pop(topic, group))


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_deleted_group_is_gone(t: Remoting) -> None:
    """A deleted group is not listed any more; its offsets remain unless they are to be cleaned."""
    topic, kept, cleaned = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 3)
    for group, clean in ((kept, None), (cleaned, True)):
        t.commit(topic, group, 2)
        ext = {"groupName": group, "cleanOffset": clean}
        t.see(f"deleted, clean {clean}", t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext), 0)
        t.see("listed", group in _table(t))
        t.see("offset", t.committed(topic, group))
    t.see("unknown", t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": t.new("group")}), 0)


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_deleted_group_can_come_back(t: Remoting) -> None:
    """A pull by a deleted group creates it again with the defaults."""
    topic, group = t.topic(queues=1), t.group(retryMaxTimes=3)
    t.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group})
    t.see("pulled", t.pull(topic, group), 19)
    t.see("retryMaxTimes", _config(t, group).json["retryMaxTimes"])


@remoting_case(
    "SubscriptionGroupManager.findSubscriptionGroupConfig", settings=with_keys(STRICT, "autoCreateSubscriptionGroup")
)
def unknown_groups_are_refused_where_none_is_made(t: Remoting) -> None:
    """Without automatic creation of groups all requests that need a group reject an unknown one."""
    topic, group = t.topic(queues=1), t.new("group")
    [sent] = t.sent(topic)
    t.see("pulled", t.pull(topic, group), 26)
    t.see("popped", t.pop(topic, group), 26)
    t.see("asked for", _config(t, group), 26)
    back = {"offset": sent.place, "group": group, "delayLevel": 1, "originTopic": topic}
    t.see("sent back", t.ask(RequestCode.CONSUMER_SEND_MSG_BACK, back), 26)
    t.see("sent to its retry topic", t.send(retry_topic(group)), 26)
    t.see("heartbeat", t.heartbeat(t.new("client"), groups={group: {topic: "*"}}), 0)
    t.see("registered", t.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 1)


@remoting_case("AdminBrokerProcessor.updateAndGetGroupForbidden")
def a_group_can_be_forbidden_a_topic(t: Remoting) -> None:
    """A group that is forbidden to read a topic is rejected for that topic only."""
    topic, other, group = t.topic(queues=1), t.topic(queues=1), t.group()
    ext = {"group": group, "topic": topic}
    t.see("asked", t.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, ext), 0)
    t.see("forbidden", t.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**ext, "readable": False}), 0)
    t.see("pulled", t.pull(topic, group))
    t.see("pulled elsewhere", t.pull(other, group).code)
    t.see("allowed", t.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**ext, "readable": True}), 0)
    t.see("pulled then", t.pull(topic, group).code)


@remoting_case("PullMessageProcessor.processRequest, SubscriptionGroupManager.clearForbidden")
def a_forbidden_group_is_refused_by_its_heartbeat(t: Remoting) -> None:
    """A pull with the heartbeat's subscription is rejected on a forbidden topic. Allowing one topic allows all."""
    topics, group = [t.topic(queues=1) for _ in range(3)], t.group()
    t.heartbeat(t.new("client"), groups={group: dict.fromkeys(topics, "*")})
    for topic in topics[:2]:
        t.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {"group": group, "topic": topic, "readable": False})

    def pulled() -> list[int]:
        return [t.pull(topic, group, sysFlag=0, expression=None).code for topic in topics]

    t.see("forbidden", t.pull(topics[0], group, sysFlag=0, expression=None), 16)
    t.see("all three", pulled())
    t.see(
        "allowed",
        t.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {"group": group, "topic": topics[1], "readable": True}),
    )
    t.see("all three then", pulled())
    nobody = {"group": t.new("group"), "topic": t.new()}
    t.see("unknown names", t.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**nobody, "readable": False}), 0)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def consumption_is_counted_by_queue(t: Remoting) -> None:
    """Consume statistics have the broker's and the group's next offset for each queue."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic, 5)
    t.commit(topic, group, 3)
    t.see("of the topic", t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic}), 0)
    t.see("of all topics", t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}), 0)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def unknown_names_have_empty_statistics(t: Remoting) -> None:
    """Statistics of unknown groups or topics are empty, and so are lists without consumers."""
    topic, group = t.topic(queues=1), t.group()
    t.see("unknown group", t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": t.new("group")}), 0)
    ext = {"consumerGroup": group, "topic": t.new()}
    t.see("unknown topic", t.ask(RequestCode.GET_CONSUME_STATS, ext), 0)
    t.see("who consumes nothing", t.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}), 0)
    t.see("topics of nobody", t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}), 0)


@remoting_case("AdminBrokerProcessor.queryTopicConsumeByWho")
def consumers_are_found_by_their_offsets(t: Remoting) -> None:
    """A group with an offset for a topic is listed as its consumer, even if it is offline."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic)
    t.commit(topic, group, 1)
    t.see("by its offset", t.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}), 0)
    t.see("its topics", t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}), 0)
    other = t.group()
    t.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, {"group": other, "topic": topic, "timestamp": -1, "isForce": True})
    t.see("topics by a reset", t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": other}), 0)


@remoting_case("AdminBrokerProcessor.querySubscriptionByConsumer")
def a_live_subscription_is_shown(t: Remoting) -> None:
    """QUERY_SUBSCRIPTION_BY_CONSUMER returns the subscription of a live group's heartbeat, and none for others."""
    topic, group = t.topic(queues=1), t.group()
    ext = {"group": group, "topic": topic}
    t.see("nobody's", t.ask(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, ext), 0)
    t.heartbeat(t.new("client"), groups={group: {topic: "A||B"}}, version=5)
    t.see("its subscription", t.ask(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, ext), 0)


@remoting_case("ConsumerManager.queryTopicConsumeByWho")
def a_live_group_consumes_its_topics(t: Remoting) -> None:
    """A live group that subscribes to a topic is listed as its consumer, even without an offset."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.see("who consumes", t.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}), 0)
    t.see("its topics", sorted(t.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"]))


@remoting_case("AdminBrokerProcessor.getTopicStatsInfo")
def topics_are_counted_by_queue(t: Remoting) -> None:
    """Topic statistics have the minimum and maximum offset and the last update time of each queue."""
    topic = t.topic(queues=2)
    t.sent(topic, 3)
    answer = t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
    t.see("code", answer.code)
    t.see("offsets", answer.json["offsetTable"])
    t.see("unknown topic", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": t.new()}), 17)


@remoting_case("AdminBrokerProcessor.queryConsumeTimeSpan")
def a_group_has_a_span_of_time(t: Remoting) -> None:
    """The consume time span of a group has the message times of each queue and the group's progress."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 2)
    answer = t.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": topic, "group": group})
    t.see("code", answer.code)
    hidden = ("delayTime", "minTimeStampStr", "maxTimeStampStr", "consumeTimeStampStr")
    spans = answer.json["consumeTimeSpanSet"]
    t.see("span", [{name: value for name, value in span.items() if name not in hidden} for span in spans])
    ext = {"topic": t.new(), "group": group}
    t.see("unknown topic", t.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, ext), 17)


@remoting_case("SubscriptionGroupManager.init", alone=True)
def a_broker_has_groups_of_its_own(t: Remoting) -> None:
    """A new broker has the groups of tools and of the system."""
    t.see("groups", sorted(_table(t)))
    t.see("of tools", _table(t)["TOOLS_CONSUMER"])
