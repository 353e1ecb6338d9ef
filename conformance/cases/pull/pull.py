"""PULL_MESSAGE: the messages that a pull returns, its limits, and its rejections."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_starts_at_its_offset(t: Remoting) -> None:
    """A pull returns the messages from its offset on and the next offset."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3, tag="A", keys="k", properties={"color": "red"})
    t.see("all", t.pull(topic, group), 0)
    t.see("from 1", t.pull(topic, group, offset=1), 0)
    t.see("one from 1", t.pull(topic, group, offset=1, max_messages=1), 0)


@remoting_case("DefaultMessageStore.getMessage")
def one_message_is_the_least_that_a_pull_asks_for(t: Remoting) -> None:
    """A pull for 0 or fewer messages returns one."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.see("0 messages", t.pull(topic, group, max_messages=0), 0)
    t.see("-1 messages", t.pull(topic, group, max_messages=-1), 0)


@remoting_case("DefaultMessageStore.isTheBatchFull")
def thirty_two_messages_are_the_most_that_a_pull_brings(t: Remoting) -> None:
    """A pull returns at most 32 messages, even if it requests more."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 40)
    for wanted in (32, 33, 100):
        answer = t.pull(topic, group, max_messages=wanted)
        t.see(f"{wanted} wanted", [answer.code, answer["nextBeginOffset"], len(answer.messages)])
    t.see("the rest", t.pull(topic, group, offset=32, max_messages=100).bodies)


@remoting_case("DefaultMessageStore.isTheBatchFull")
def a_pull_brings_no_more_than_256_kib(t: Remoting) -> None:
    """A pull ends before the message that would take it over 256 KiB; maxMsgBytes has no effect."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, *(t.send(topic, b"x" * 60_000) for _ in range(6)))
    t.see("next offset", t.pull(topic, group)["nextBeginOffset"])
    t.see("next offset, 10 bytes wanted", t.pull(topic, group, maxMsgBytes=10)["nextBeginOffset"])
    t.readable(topic, t.send(topic, b"y" * 300_000))
    t.see("one that is larger", len(t.pull(topic, group, offset=6).messages))


@remoting_case("PullMessageProcessor.composeResponseHeader")
def an_offset_outside_the_queue_is_moved(t: Remoting) -> None:
    """A pull at an offset outside the queue returns PULL_OFFSET_MOVED with the nearest existing offset."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.see("at the end", t.pull(topic, group, offset=3), 19)
    t.see("beyond the end", t.pull(topic, group, offset=4), 21)
    t.see("before the beginning", t.pull(topic, group, offset=-1), 21)
    t.see("far before the beginning", t.pull(topic, group, offset=-5), 21)
    t.see("beyond the end, although it would wait", t.pull(topic, group, offset=4, suspend_ms=5000), 21)


@remoting_case("PullMessageProcessor.composeResponseHeader")
def an_empty_queue_is_pulled_at_0(t: Remoting) -> None:
    """A pull of an empty queue returns PULL_NOT_FOUND at offset 0, and PULL_OFFSET_MOVED to 0 at any other offset."""
    topic, group = t.topic(queues=1), t.group()
    t.see("at 0", t.pull(topic, group), 19)
    t.see("at 5", t.pull(topic, group, offset=5), 21)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_of_an_unknown_topic_is_refused(t: Remoting) -> None:
    """A pull of an unknown topic is rejected and does not create the topic."""
    topic, group = t.new(), t.group()
    t.see("pulled", t.pull(topic, group), 17)
    t.see("its route", t.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, to=t.namesrv), 17)


@remoting_case("PullMessageProcessor.processRequest")
def a_queue_that_the_topic_has_not_is_refused(t: Remoting) -> None:
    """A pull of a queue id outside the topic's read queues is an invalid parameter."""
    topic, group = t.topic(read=2, write=1), t.group()
    t.see("queue 2", t.pull(topic, group, queue=2), 29)
    t.see("queue -1", t.pull(topic, group, queue=-1), 29)
    t.see("queue 1, which cannot be written", t.pull(topic, group, queue=1), 19)


@remoting_case("PullMessageProcessor.processRequest")
def a_topic_without_read_permission_is_not_pulled(t: Remoting) -> None:
    """A pull of a topic without read permission returns NO_PERMISSION with forbidden type 3."""
    t.see("pulled", t.pull(t.topic(queues=1, perm=2), t.group()), 16)


@remoting_case("PullMessageProcessor.processRequest")
def a_group_that_may_not_consume_is_refused(t: Remoting) -> None:
    """A pull by a group with consumeEnable=false returns NO_PERMISSION with forbidden type 2."""
    t.see("pulled", t.pull(t.topic(queues=1), t.group(consumeEnable=False)), 16)


@remoting_case("PullMessageProcessor.processRequest")
def a_group_that_may_not_broadcast_is_refused(t: Remoting) -> None:
    """A broadcasting consumer's pull returns NO_PERMISSION with forbidden type 4 if its group forbids broadcasting."""
    topic, group = t.topic(queues=1), t.group(consumeBroadcastEnable=False)
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, model="BROADCASTING", version=1)
    t.see("pulled", t.pull(topic, group, sysFlag=0, expression=None), 16)


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def the_first_pull_makes_its_group(t: Remoting) -> None:
    """A pull by an unknown group creates the group with the defaults."""
    topic, group = t.topic(queues=1), t.new("group")
    t.see("pulled", t.pull(topic, group), 19)
    listed = t.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json["subscriptionGroupTable"]
    t.see("its configuration", listed[group])


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_pull_with_a_bad_group_name_is_refused(t: Remoting) -> None:
    """An unknown group with an illegal character or more than 255 characters in its name is rejected."""
    topic = t.topic(queues=1)
    t.see("a blank", t.pull(topic, "bad group"), 26)
    t.see("255 characters", t.pull(topic, t.new("group").ljust(255, "x")).code)
    t.see("256 characters", t.pull(topic, t.new("group").ljust(256, "x")).code)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_numbers_is_an_error(t: Remoting) -> None:
    """A pull with only group and topic returns an error because its queue id is missing."""
    ext = {"consumerGroup": t.group(), "topic": t.topic(queues=1)}
    t.see("pulled", t.ask(RequestCode.PULL_MESSAGE, ext), 1)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_without_a_subscription_needs_a_consumer(t: Remoting) -> None:
    """A pull without a subscription returns SUBSCRIPTION_NOT_EXIST unless a consumer of its group has sent one."""
    topic, group = t.topic(queues=1), t.group()
    t.see("no consumer", t.pull(topic, group, sysFlag=0, expression=None), 24)
    t.heartbeat(t.new("client"), groups={group: {t.topic(): "*"}})
    t.see("a consumer of another topic", t.pull(topic, group, sysFlag=0, expression=None), 24)


@remoting_case("PullMessageProcessor.processRequest")
def the_first_objection_counts(t: Remoting) -> None:
    """The broker checks the group of a pull first, then topic, queue id and finally the group's subscription."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, version=1)
    wrong: dict[str, object] = {"consumerGroup": "bad!", "topic": t.new(), "queueId": 9, "subVersion": 2}
    right = t.pull_fields(topic, group, sysFlag=0, expression=None)
    for name in list(wrong):
        answer = t.ask(RequestCode.PULL_MESSAGE, {**right, **wrong})
        t.see(f"with a wrong {name}", [answer.code, answer.remark])
        del wrong[name]
    t.see("nothing wrong", t.ask(RequestCode.PULL_MESSAGE, right), 19)
    t.see("no consumer, unknown topic", t.pull(t.new(), t.group(), sysFlag=0, expression=None), 17)
    t.see("no tag, unknown queue", t.pull(topic, group, queue=9, expression="||"), 29)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_uses_the_subscription_of_the_heartbeat(t: Remoting) -> None:
    """A pull without a subscription is filtered by the tag codes of the group's heartbeat."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, t.send(topic, "a", tag="A"), t.send(topic, "b", tag="B"))
    t.heartbeat(t.new("client"), groups={group: {topic: "B"}}, version=1000)
    t.see("as told", t.pull(topic, group, sysFlag=0, expression=None, subVersion=1000), 0)
    t.see("an older version", t.pull(topic, group, sysFlag=0, expression=None, subVersion=1), 0)
    t.see("a newer version", t.pull(topic, group, sysFlag=0, expression=None, subVersion=1001), 25)


@remoting_case("PullMessageProcessor.processRequest")
def a_subscription_without_codes_matches_nothing(t: Remoting) -> None:
    """Only the codes of a TAG subscription in a heartbeat are used: an expression without codes matches nothing."""
    topic, group = t.topic(queues=1), t.group()
    t.readable(topic, t.send(topic, "a", tag="A"))
    data = {"topic": topic, "subString": "A", "expressionType": "TAG", "subVersion": 1, "tagsSet": [], "codeSet": []}
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": [data],
    }
    t.heartbeat(t.new("client"), consumerDataSet=[consumer])
    t.see("pulled", t.pull(topic, group, sysFlag=0, expression=None), 20)


@remoting_case("PullMessageProcessor.processRequest")
def a_pull_commits_an_offset(t: Remoting) -> None:
    """A pull with the commit bit in its sysFlag stores its commit offset; without the bit it does not."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    t.pull(topic, group, offset=2, commitOffset=2)
    t.see("without the bit", t.committed(topic, group), 0)
    t.pull(topic, group, offset=2, commit=2)
    t.see("with the bit", t.committed(topic, group), 0)
    t.pull(topic, group, commit=1)
    t.see("backwards", t.committed(topic, group), 0)


@remoting_case("PullMessageProcessor.processRequest")
def a_lite_pull_is_a_pull(t: Remoting) -> None:
    """LITE_PULL_MESSAGE returns the same response as PULL_MESSAGE."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    fields = t.pull_fields(topic, group, sysFlag=20)
    t.see("found", t.ask(RequestCode.LITE_PULL_MESSAGE, fields), 0)
    fields = t.pull_fields(topic, group, offset=2, sysFlag=20)
    t.see("at the end", t.ask(RequestCode.LITE_PULL_MESSAGE, fields), 19)


@remoting_case("ConsumeQueueInterface.getMinOffsetInQueue")
def several_groups_pull_the_same_messages(t: Remoting) -> None:
    """Messages pulled and committed by one group are still available to every other group."""
    topic, first, second = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 2)
    t.see("first group", t.pull(topic, first, commit=2).bodies)
    t.see("second group", t.pull(topic, second).bodies)
    t.see("first group again", t.pull(topic, first).bodies)
