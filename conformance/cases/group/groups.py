"""Consumer groups: creation, changes, deletion and statistics."""

from typing import Any

from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.settings import NO_AUTO_CREATE, shared_settings


def _make(t: RemotingContext, **config: Any) -> DecodedResponse:
    return t.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, dumps(config))


def _config(t: RemotingContext, group: str) -> DecodedResponse:
    return t.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})


def _table(t: RemotingContext) -> Any:
    return t.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"]


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def a_group_has_defaults(t: RemotingContext) -> None:
    """A group created by its name alone has the defaults of SubscriptionGroupConfig."""
    group = t.new("group")
    t.note("made", _make(t, groupName=group), 0)
    t.note("its configuration", _config(t, group), 0)
    t.note("in the list", _table(t)[group])


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def a_group_is_replaced_by_an_update(t: RemotingContext) -> None:
    """An update of a group replaces its configuration; missing settings get their defaults."""
    group = t.new("group")
    config = {"retryMaxTimes": 3, "consumeEnable": False, "retryQueueNums": 2, "consumeMessageOrderly": True}
    t.note("made", _make(t, groupName=group, **config), 0)
    t.note("as made", _config(t, group), 0)
    t.note("updated", _make(t, groupName=group, retryMaxTimes=5), 0)
    t.note("as updated", _config(t, group), 0)


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def names_of_groups_are_not_checked(t: RemotingContext) -> None:
    """An administrator may create a group with any name, and it can consume."""
    topic, tail = t.topic(queues=1), t.new("group")
    for name in (f"{tail} with blanks", tail.ljust(256, "x")):
        t.note("made", _make(t, groupName=name).code)
        t.note("pulled", t.pull(topic, name).code)


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroup")
def a_group_needs_a_configuration(t: RemotingContext) -> None:
    """Creating a group without a body or with invalid JSON fails."""
    t.note("garbage", t.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, b"garbage"), 1)
    t.note("nothing", t.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP), 1)


@remoting_case("AdminBrokerProcessor.updateAndCreateSubscriptionGroupList")
def one_request_creates_several_groups(t: RemotingContext) -> None:
    """One request creates several groups."""
    names = [t.new("group"), t.new("group")]
    body = {"groupConfigList": [{"groupName": names[0], "retryMaxTimes": 2}, {"groupName": names[1]}]}
    t.note("made", t.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, None, dumps(body)), 0)
    for name in names:
        t.note("retryMaxTimes", _config(t, name).json["retryMaxTimes"])


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_config_query_creates_an_unknown_group(t: RemotingContext) -> None:
    """A request for the configuration of an unknown group creates the group, unless its name is illegal."""
    group = t.new("group")
    t.note("unknown", _config(t, group), 0)
    t.note("in the list", group in _table(t))
    t.note("a forbidden name", _config(t, "bad group"))


@remoting_case("PullMessageProcessor.processRequest")
def pulls_and_pops_of_a_disabled_group_are_rejected(t: RemotingContext) -> None:
    """A group with consumeEnable=false is rejected until it is enabled again."""
    topic, group = t.topic(queues=1), t.new("group")
    for enable in (False, True):
        t.note(f"enable {enable}", _make(t, groupName=group, consumeEnable=enable), 0)
        t.note("pulled", t.pull(topic, group))
        t.note("popped", t.pop(topic, group))


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_deleted_group_keeps_its_offsets_unless_cleaned(t: RemotingContext) -> None:
    """A deleted group is not listed any more; its offsets remain unless the request cleans them."""
    topic, kept, cleaned = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 3)
    for group, clean in ((kept, None), (cleaned, True)):
        t.commit(topic, group, 2)
        ext = {"groupName": group, "cleanOffset": clean}
        t.note(f"deleted, clean {clean}", t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext), 0)
        t.note("listed", group in _table(t))
        t.note("offset", t.committed(topic, group))
    t.note("unknown", t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": t.new("group")}), 0)


@remoting_case("AdminBrokerProcessor.deleteSubscriptionGroup")
def a_pull_by_a_deleted_group_creates_the_group_again(t: RemotingContext) -> None:
    """A pull by a deleted group creates it again with the defaults."""
    topic, group = t.topic(queues=1), t.group(retryMaxTimes=3)
    t.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group})
    t.note("pulled", t.pull(topic, group), 19)
    t.note("retryMaxTimes", _config(t, group).json["retryMaxTimes"])


@remoting_case(
    "SubscriptionGroupManager.findSubscriptionGroupConfig",
    settings=shared_settings(NO_AUTO_CREATE, "autoCreateSubscriptionGroup"),
)
def unknown_groups_are_rejected_without_automatic_creation(t: RemotingContext) -> None:
    """Without automatic creation of groups all requests that need a group reject an unknown one."""
    topic, group = t.topic(queues=1), t.new("group")
    [sent] = t.sent(topic)
    t.note("pulled", t.pull(topic, group), 26)
    t.note("popped", t.pop(topic, group), 26)
    t.note("asked for", _config(t, group), 26)
    back = {"offset": sent.place, "group": group, "delayLevel": 1, "originTopic": topic}
    t.note("sent back", t.request(RequestCode.CONSUMER_SEND_MSG_BACK, back), 26)
    t.note("sent to its retry topic", t.send(retry_topic(group)), 26)
    t.note("heartbeat", t.heartbeat(t.new("client"), groups={group: {topic: "*"}}), 0)
    t.note("registered", t.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}), 1)


@remoting_case("AdminBrokerProcessor.updateAndGetGroupForbidden")
def a_group_can_be_forbidden_a_topic(t: RemotingContext) -> None:
    """A group that is forbidden to read a topic is rejected for that topic only."""
    topic, other, group = t.topic(queues=1), t.topic(queues=1), t.group()
    ext = {"group": group, "topic": topic}
    t.note("asked", t.request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, ext), 0)
    t.note("forbidden", t.request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**ext, "readable": False}), 0)
    t.note("pulled", t.pull(topic, group))
    t.note("pulled elsewhere", t.pull(other, group).code)
    t.note("allowed", t.request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**ext, "readable": True}), 0)
    t.note("pulled then", t.pull(topic, group).code)


@remoting_case("PullMessageProcessor.processRequest, SubscriptionGroupManager.clearForbidden")
def forbidden_topics_are_rejected_until_one_of_them_is_allowed(t: RemotingContext) -> None:
    """A pull with the heartbeat's subscription is rejected on a forbidden topic. Allowing one topic allows all."""
    topics, group = [t.topic(queues=1) for _ in range(3)], t.group()
    t.heartbeat(t.new("client"), groups={group: dict.fromkeys(topics, "*")})
    for topic in topics[:2]:
        t.request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {"group": group, "topic": topic, "readable": False})

    def pulled() -> list[int]:
        return [t.pull(topic, group, sysFlag=0, expression=None).code for topic in topics]

    t.note("forbidden", t.pull(topics[0], group, sysFlag=0, expression=None), 16)
    t.note("all three", pulled())
    t.note(
        "allowed",
        t.request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {"group": group, "topic": topics[1], "readable": True}),
    )
    t.note("all three then", pulled())
    nobody = {"group": t.new("group"), "topic": t.new()}
    t.note("unknown names", t.request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, {**nobody, "readable": False}), 0)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def consume_stats_have_broker_and_consumer_offsets_per_queue(t: RemotingContext) -> None:
    """Consume statistics have the broker's and the group's next offset for each queue."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic, 5)
    t.commit(topic, group, 3)
    t.note("of the topic", t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic}), 0)
    t.note("of all topics", t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group}), 0)


@remoting_case("AdminBrokerProcessor.getConsumeStats")
def unknown_names_have_empty_statistics(t: RemotingContext) -> None:
    """Statistics of unknown groups or topics are empty, and so are lists without consumers."""
    topic, group = t.topic(queues=1), t.group()
    t.note("unknown group", t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": t.new("group")}), 0)
    ext = {"consumerGroup": group, "topic": t.new()}
    t.note("unknown topic", t.request(RequestCode.GET_CONSUME_STATS, ext), 0)
    t.note("who consumes nothing", t.request(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}), 0)
    t.note("topics of nobody", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}), 0)


@remoting_case("AdminBrokerProcessor.queryTopicConsumeByWho")
def an_offline_group_with_an_offset_is_listed_as_consumer(t: RemotingContext) -> None:
    """A group with an offset for a topic is listed as its consumer, even if it is offline."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic)
    t.commit(topic, group, 1)
    t.note("by its offset", t.request(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}), 0)
    t.note("its topics", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}), 0)
    other = t.group()
    t.request(
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, {"group": other, "topic": topic, "timestamp": -1, "isForce": True}
    )
    t.note("topics by a reset", t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": other}), 0)


@remoting_case("AdminBrokerProcessor.querySubscriptionByConsumer")
def the_subscription_of_an_online_group_is_returned(t: RemotingContext) -> None:
    """QUERY_SUBSCRIPTION_BY_CONSUMER returns the subscription of a group's heartbeat; without members, none."""
    topic, group = t.topic(queues=1), t.group()
    ext = {"group": group, "topic": topic}
    t.note("nobody's", t.request(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, ext), 0)
    t.heartbeat(t.new("client"), groups={group: {topic: "A||B"}}, version=5)
    t.note("its subscription", t.request(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, ext), 0)


@remoting_case("ConsumerManager.queryTopicConsumeByWho")
def an_online_subscriber_is_listed_as_consumer_without_an_offset(t: RemotingContext) -> None:
    """A group with members that subscribes to a topic is listed as its consumer, even without an offset."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}})
    t.note("who consumes", t.request(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}), 0)
    t.note("its topics", sorted(t.request(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": group}).json["topicList"]))


@remoting_case("AdminBrokerProcessor.getTopicStatsInfo")
def topic_stats_have_offsets_and_update_time_per_queue(t: RemotingContext) -> None:
    """Topic statistics have the minimum and maximum offset and the last update time of each queue."""
    topic = t.topic(queues=2)
    t.sent(topic, 3)
    response = t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
    t.note("code", response.code)
    t.note("offsets", response.json["offsetTable"])
    t.note("unknown topic", t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": t.new()}), 17)


@remoting_case("AdminBrokerProcessor.queryConsumeTimeSpan")
def the_consume_time_span_has_message_times_per_queue(t: RemotingContext) -> None:
    """The consume time span of a group has the message times of each queue and the group's progress."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 2)
    response = t.request(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": topic, "group": group})
    t.note("code", response.code)
    hidden = ("delayTime", "minTimeStampStr", "maxTimeStampStr", "consumeTimeStampStr")
    spans = response.json["consumeTimeSpanSet"]
    t.note("span", [{name: value for name, value in span.items() if name not in hidden} for span in spans])
    ext = {"topic": t.new(), "group": group}
    t.note("unknown topic", t.request(RequestCode.QUERY_CONSUME_TIME_SPAN, ext), 17)


@remoting_case("SubscriptionGroupManager.init", alone=True)
def a_new_broker_has_tool_and_system_groups(t: RemotingContext) -> None:
    """A new broker has the groups of tools and of the system."""
    t.note("groups", sorted(_table(t)))
    t.note("of tools", _table(t)["TOOLS_CONSUMER"])
