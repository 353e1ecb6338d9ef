"""PULL_MESSAGE: the messages that a pull returns, its limits, and its rejections."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_consumption import LITE, SUBSCRIPTION, pull_fields
from ...clients.remoting_members import consumer_data
from ...context.remoting import RemotingContext


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_starts_at_its_offset(t: RemotingContext) -> None:
    """A pull returns the messages from its offset on and the next offset."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3, tag="A", keys="k", properties={"color": "red"})
    t.note("all", t.pull(topic, group), 0)
    t.note("from 1", t.pull(topic, group, offset=1), 0)
    t.note("one from 1", t.pull(topic, group, offset=1, max_messages=1), 0)


@remoting_case("DefaultMessageStore.getMessage")
def a_pull_for_0_or_fewer_messages_returns_one(t: RemotingContext) -> None:
    """A pull for 0 or fewer messages returns one."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.note("0 messages", t.pull(topic, group, max_messages=0), 0)
    t.note("-1 messages", t.pull(topic, group, max_messages=-1), 0)


@remoting_case("DefaultMessageStore.isTheBatchFull")
def a_pull_returns_at_most_32_messages(t: RemotingContext) -> None:
    """A pull returns at most 32 messages, even if it requests more."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 40)
    for wanted in (32, 33, 100):
        response = t.pull(topic, group, max_messages=wanted)
        t.note(f"{wanted} wanted", [response.code, response["nextBeginOffset"], len(response.messages)])
    t.note("the rest", t.pull(topic, group, offset=32, max_messages=100).bodies)


@remoting_case("DefaultMessageStore.isTheBatchFull")
def a_pull_returns_at_most_256_kib_or_one_larger_message(t: RemotingContext) -> None:
    """A pull ends before the message that would take it over 256 KiB; maxMsgBytes has no effect."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, *(t.send(topic, b"x" * 60_000) for _ in range(6)))
    t.note("next offset", t.pull(topic, group)["nextBeginOffset"])
    t.note("next offset, 10 bytes wanted", t.pull(topic, group, maxMsgBytes=10)["nextBeginOffset"])
    t.readable(topic, t.send(topic, b"y" * 300_000))
    t.note("one that is larger", len(t.pull(topic, group, offset=6).messages))


@remoting_case("PullMessageProcessor.composeResponseHeader")
def a_pull_outside_the_queue_gets_offset_moved_with_the_nearest_offset(t: RemotingContext) -> None:
    """A pull at an offset outside the queue returns PULL_OFFSET_MOVED with the nearest existing offset."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.note("at the end", t.pull(topic, group, offset=3), 19)
    t.note("beyond the end", t.pull(topic, group, offset=4), 21)
    t.note("before the beginning", t.pull(topic, group, offset=-1), 21)
    t.note("far before the beginning", t.pull(topic, group, offset=-5), 21)
    t.note("beyond the end, although it would wait", t.pull(topic, group, offset=4, suspend_ms=5000), 21)


@remoting_case("PullMessageProcessor.composeResponseHeader")
def a_nonzero_offset_in_an_empty_queue_gets_offset_moved_to_0(t: RemotingContext) -> None:
    """A pull of an empty queue returns PULL_NOT_FOUND at offset 0, and PULL_OFFSET_MOVED to 0 at any other offset."""
    topic, group = t.topic(queues=1), t.group()
    t.note("at 0", t.pull(topic, group), 19)
    t.note("at 5", t.pull(topic, group, offset=5), 21)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_of_an_unknown_topic_is_refused(t: RemotingContext) -> None:
    """A pull of an unknown topic is rejected and does not create the topic."""
    topic, group = t.new(), t.group()
    t.note("pulled", t.pull(topic, group), 17)
    t.note("its route", t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=t.namesrv), 17)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_of_a_queue_outside_the_read_queues_is_refused(t: RemotingContext) -> None:
    """A pull of a queue id outside the topic's read queues is an invalid parameter."""
    topic, group = t.topic(read=2, write=1), t.group()
    t.note("queue 2", t.pull(topic, group, queue=2), 29)
    t.note("queue -1", t.pull(topic, group, queue=-1), 29)
    t.note("queue 1, which cannot be written", t.pull(topic, group, queue=1), 19)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_of_a_topic_without_read_permission_is_refused(t: RemotingContext) -> None:
    """A pull of a topic without read permission returns NO_PERMISSION with forbidden type 3."""
    t.note("pulled", t.pull(t.topic(queues=1, perm=2), t.group()), 16)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_by_a_group_without_consume_enable_is_refused(t: RemotingContext) -> None:
    """A pull by a group with consumeEnable=false returns NO_PERMISSION with forbidden type 2."""
    t.note("pulled", t.pull(t.topic(queues=1), t.group(consumeEnable=False)), 16)


@remoting_case("PullMessageProcessor.processRequest")
def a_broadcast_pull_is_refused_if_the_group_forbids_broadcasting(t: RemotingContext) -> None:
    """A broadcasting consumer's pull returns NO_PERMISSION with forbidden type 4 if its group forbids broadcasting."""
    topic, group = t.topic(queues=1), t.group(consumeBroadcastEnable=False)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, model="BROADCASTING", version=1)
    t.note("pulled", t.pull(topic, group, sysFlag=0, expression=None), 16)


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_pull_by_an_unknown_group_creates_the_group(t: RemotingContext) -> None:
    """A pull by an unknown group creates the group with the defaults."""
    topic, group = t.topic(queues=1), t.new("group")
    t.note("pulled", t.pull(topic, group), 19)
    listed = t.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"]
    t.note("its configuration", listed[group])


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_pull_with_a_bad_group_name_is_refused(t: RemotingContext) -> None:
    """An unknown group with an illegal character or more than 255 characters in its name is rejected."""
    topic = t.topic(queues=1)
    t.note("a blank", t.pull(topic, "bad group"), 26)
    t.note("255 characters", t.pull(topic, t.new("group").ljust(255, "x")).code)
    t.note("256 characters", t.pull(topic, t.new("group").ljust(256, "x")).code)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_required_numeric_fields_is_refused(t: RemotingContext) -> None:
    """A pull with only group and topic returns an error because its queue id is missing."""
    ext = {"consumerGroup": t.group(), "topic": t.topic(queues=1)}
    t.note("pulled", t.request(RequestCode.PULL_MESSAGE, ext), 1)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_a_subscription_is_refused_unless_a_heartbeat_sent_one(t: RemotingContext) -> None:
    """A pull without a subscription returns SUBSCRIPTION_NOT_EXIST unless a consumer of its group has sent one."""
    topic, group = t.topic(queues=1), t.group()
    t.note("no consumer", t.pull(topic, group, sysFlag=0, expression=None), 24)
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    t.note("a consumer of another topic", t.pull(topic, group, sysFlag=0, expression=None), 24)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_checks_group_then_topic_then_queue_then_subscription(t: RemotingContext) -> None:
    """The broker checks the group of a pull first, then topic, queue id and finally the group's subscription."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1)
    wrong: dict[str, object] = {"consumerGroup": "bad!", "topic": t.new(), "queueId": 9, "subVersion": 2}
    right = pull_fields(topic, group, sysFlag=0, expression=None)
    for name in list(wrong):
        response = t.request(RequestCode.PULL_MESSAGE, {**right, **wrong})
        t.note(f"with a wrong {name}", [response.code, response.remark])
        del wrong[name]
    t.note("nothing wrong", t.request(RequestCode.PULL_MESSAGE, right), 19)
    t.note("no consumer, unknown topic", t.pull(t.new(), t.group(), sysFlag=0, expression=None), 17)
    t.note("no tag, unknown queue", t.pull(topic, group, queue=9, expression="||"), 29)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_uses_the_subscription_of_the_heartbeat(t: RemotingContext) -> None:
    """A pull without a subscription is filtered by the tag codes of the group's heartbeat."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, t.send(topic, "a", tag="A"), t.send(topic, "b", tag="B"))
    t.heartbeat(t.new("client"), groups={group: {topic: "B"}}, version=1000)
    t.note("version of the heartbeat", t.pull(topic, group, sysFlag=0, expression=None, subVersion=1000), 0)
    t.note("an older version", t.pull(topic, group, sysFlag=0, expression=None, subVersion=1), 0)
    t.note("a newer version", t.pull(topic, group, sysFlag=0, expression=None, subVersion=1001), 25)


@remoting_case("PullMessageProcessor.processRequest")
def a_tag_subscription_without_tag_codes_matches_no_message(t: RemotingContext) -> None:
    """Only the codes of a TAG subscription in a heartbeat are used: an expression without codes matches nothing."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, t.send(topic, "a", tag="A"))
    data = {"topic": topic, "subString": "A", "expressionType": "TAG", "subVersion": 1, "tagsSet": [], "codeSet": []}
    t.heartbeat(t.new("client"), consumerDataSet=[consumer_data(group, data)])
    t.note("pulled", t.pull(topic, group, sysFlag=0, expression=None), 20)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_stores_its_commit_offset_only_with_the_commit_bit(t: RemotingContext) -> None:
    """A pull with the commit bit in its sysFlag stores its commit offset; without the bit it does not."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.pull(topic, group, offset=2, commitOffset=2)
    t.note("without the bit", t.committed(topic, group), 0)
    t.pull(topic, group, offset=2, commit=2)
    t.note("with the bit", t.committed(topic, group), 0)
    t.pull(topic, group, commit=1)
    t.note("backwards", t.committed(topic, group), 0)


@remoting_case("PullMessageProcessor.processRequest")
def a_lite_pull_returns_the_same_response_as_a_pull(t: RemotingContext) -> None:
    """LITE_PULL_MESSAGE returns the same response as PULL_MESSAGE."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    fields = pull_fields(topic, group, sysFlag=LITE | SUBSCRIPTION)
    t.note("found", t.request(RequestCode.LITE_PULL_MESSAGE, fields), 0)
    fields = pull_fields(topic, group, offset=2, sysFlag=LITE | SUBSCRIPTION)
    t.note("at the end", t.request(RequestCode.LITE_PULL_MESSAGE, fields), 19)


@remoting_case("ConsumeQueueInterface.getMinOffsetInQueue")
def several_groups_pull_the_same_messages(t: RemotingContext) -> None:
    """Messages pulled and committed by one group are still available to every other group."""
    topic, first, second = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 2)
    t.note("first group", t.pull(topic, first, commit=2).bodies)
    t.note("second group", t.pull(topic, second).bodies)
    t.note("first group again", t.pull(topic, first).bodies)
