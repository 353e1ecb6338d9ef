"""Rejected pops, and unusual pops that are accepted."""

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, SCHEDULE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import popping
from .notification import notification
from .peek import peek
from .polling_info import polling_info

SMALLEST, LARGEST = -(2**63), 2**63 - 1


@remoting_case("PopMessageProcessor.processRequest")
def an_unknown_topic_is_refused(t: RemotingContext) -> None:
    """A pop of an unknown topic returns TOPIC_NOT_EXIST, with zeros in the response header."""
    t.note("unknown", t.pop(t.new(), t.group()), 17)
    t.note("blank", t.pop("", t.group()))


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_group_with_an_illegal_name_is_refused(t: RemotingContext) -> None:
    """A pop creates the group that it names if the name is legal and has at most 255 characters."""
    topic = t.topic(queues=1)
    t.note("blank inside", t.pop(topic, "a b"), 26)
    t.note("exclamation mark", t.pop(topic, "bad!"), 26)
    t.note("256 characters", t.pop(topic, "g" * 256).code)
    t.note("255 characters", t.pop(topic, t.new("group").ljust(255, "g")).code)
    t.note("empty", t.pop(topic, ""))
    group = t.new("group")
    t.note("unknown", t.pop(topic, group), 210)
    t.note("its configuration", t.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group}).json["groupName"])


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_for_more_than_32_messages_is_refused(t: RemotingContext) -> None:
    """A pop for more than 32 messages is rejected. A pop for 0 or fewer returns nothing and changes nothing."""
    group = popping(t, 2)
    t.note("33", group.pop(max_messages=33), 29)
    t.note("2147483647", group.pop(max_messages=2**31 - 1), 29)
    t.note("0", group.pop(max_messages=0), 210)
    t.note("-1", group.pop(max_messages=-1))
    t.note("-2147483648", group.pop(max_messages=-(2**31)))
    t.note("afterwards", group.pop().bodies)


@remoting_case("PopMessageProcessor.processRequest")
def a_queue_id_beyond_the_last_queue_is_refused(t: RemotingContext) -> None:
    """A pop of a queue id beyond the last queue is rejected; every negative id means all queues."""
    group = popping(t, queues=4)
    t.note("4 of 4", group.pop(queue=4), 29)
    t.note("2147483647", group.pop(queue=2**31 - 1), 29)
    for queue in (-2, -5, -(2**31)):
        group.fill(queue=3)
        t.note(str(queue), group.pop(queue=queue).code)


@remoting_case("PopMessageProcessor.processRequest")
def a_topic_must_be_readable(t: RemotingContext) -> None:
    """A pop of a topic without read permission is rejected."""
    topic = t.topic(queues=1, perm=2)
    t.note("write only", t.pop(topic, t.group()), 16)
    t.note("neither", t.pop(t.topic(queues=1, perm=0), t.group()), 16)


@remoting_case("PopMessageProcessor.processRequest")
def a_group_must_be_enabled(t: RemotingContext) -> None:
    """A pop by a group with consumeEnable=false is rejected."""
    topic, group = t.topic(queues=1), t.group(consumeEnable=False)
    t.note("disabled", t.pop(topic, group), 16)


@remoting_case("FilterAPI.build")
def an_unusable_expression_is_refused(t: RemotingContext) -> None:
    """A tag expression without tags and an unknown expression type are rejected."""
    group = popping(t)
    t.note("no tag", group.pop(expression="||"), 23)
    t.note("unknown type", group.pop(expression="A", type="FOO"), 23)
    t.note("small letters", group.pop(expression="A", type="tag"), 23)
    t.note("nothing of SQL", group.pop(expression="", type="SQL92"))


@remoting_case("PopMessageRequestHeader.isTimeoutTooMuch")
def a_pop_that_arrives_after_its_poll_time_is_refused(t: RemotingContext) -> None:
    """A pop that arrives over 0.5 s after its bornTime plus pollTime is not processed and returns POLLING_TIMEOUT."""
    group = popping(t, 1)
    now = t.now_ms()
    t.note("5 s ago", group.pop(bornTime=now - 5000), 210)
    t.note("60 s ago, with 1 s to wait", group.pop(bornTime=now - 60_000, poll_ms=1000), 210)
    t.note("born at 1", group.pop(bornTime=1), 210)
    t.note("born at -1", group.pop(bornTime=-1))
    t.note("60 s ago, with 100 s to wait", group.pop(bornTime=now - 60_000, poll_ms=100_000).bodies)


@remoting_case("PopMessageProcessor.processRequest")
def a_missing_zero_or_future_born_time_is_accepted(t: RemotingContext) -> None:
    """A pop with a bornTime that is missing, 0 or in the future is processed."""
    topic = t.topic(queues=1)
    t.sent(topic)
    t.note("0", t.pop(topic, t.group(), bornTime=0).bodies)
    t.note("none", t.pop(topic, t.group(), bornTime=None).bodies)
    t.note("in an hour", t.pop(topic, t.group(), bornTime=t.now_ms() + 3_600_000).bodies)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_with_several_faults_is_refused_for_the_first_checked(t: RemotingContext) -> None:
    """The broker checks a pop's age first, then message count, topic, queue id, group and expression."""
    topic = t.topic(queues=1)
    wrong: dict[str, object] = {
        "bornTime": 1,
        "maxMsgNums": 33,
        "topic": t.new(),
        "queueId": 9,
        "consumerGroup": "bad!",
        "exp": "||",
    }
    right = t.pop_fields(topic, t.group())
    for name in list(wrong):
        response = t.request(RequestCode.POP_MESSAGE, {**right, **wrong})
        t.note(f"with a wrong {name}", [response.code, response.remark])
        del wrong[name]
    t.note("nothing wrong", t.request(RequestCode.POP_MESSAGE, right), 210)


@remoting_case("PopMessageProcessor.processRequest", settings={"brokerPermission": "2"})
def a_broker_without_read_permission_refuses_pops(t: RemotingContext) -> None:
    """A broker without read permission rejects pops, peeks, notifications and POLLING_INFO."""
    group = popping(t, 1)
    t.note("pop", group.pop(), 16)
    t.note("notification", notification(group), 16)
    t.note("peek", peek(group, 0), 16)
    t.note("polling info", polling_info(group), 16)
    t.note("asked too late", group.pop(bornTime=1))
    t.note("33 messages", group.pop(max_messages=33))
    t.note("unknown topic", group.with_topic(t.new()).pop())


@remoting_case("PopMessageProcessor.processRequest", settings={"timerWheelEnable": "false"})
def a_broker_without_timer_wheel_refuses_pops(t: RemotingContext) -> None:
    """A broker without timer wheel rejects pops, but accepts notifications, peeks and POLLING_INFO."""
    group = popping(t, 1)
    t.note("pop", group.pop(), 1)
    t.note("in order", group.pop(order=True), 1)
    t.note("notification", notification(group), 0)
    t.note("peek", peek(group, 0).bodies)
    t.note("polling info", polling_info(group), 0)
    t.note("asked too late", group.pop(bornTime=1))
    t.note("33 messages", group.pop(max_messages=33))
    t.note("unknown topic", group.with_topic(t.new()).pop())


@remoting_case("PopLongPollingService.polling, PopRequest.isTimeout")
def a_pop_with_an_overflowing_deadline_returns_at_once(t: RemotingContext) -> None:
    """A pop whose bornTime plus pollTime overflows 64 bits returns at once. Smaller sums are held."""
    group = popping(t)
    now = t.now_ms()
    for what, born, poll in (
        ("the longest poll time", now, LARGEST),
        ("the shortest", now, SMALLEST),
        ("the last time of birth", LARGEST, 10_000),
        ("the first", SMALLEST, 10_000),
        ("both the largest", LARGEST, LARGEST),
        ("both the smallest", SMALLEST, SMALLEST),
    ):
        watch = t.stopwatch()
        response = t.arrival(group.start_pop(bornTime=born, poll_ms=poll, to=t.connect()), 5)
        t.note(what, [response.code, response.remark, watch.between(0, 2)])
    for poll in (10**12, 2**62):
        pending = group.waiting(poll_ms=poll)
        t.wait(1)
        t.note(f"{poll} ms, after 1 s", pending.arrived())
        group.fill()
        t.note(f"{poll} ms, with a message", t.arrival(pending).bodies)


# Such a check point would affect other check points of the broker.
@remoting_case("PopReviveService.consumeReviveMessage", alone=True)
def an_overflowing_invisible_duration_ends_at_once(t: RemotingContext) -> None:
    """If pop time plus invisible duration overflows 64 bits, the invisible duration ends at once."""
    for invisible in (LARGEST, SMALLEST):
        group = popping(t, 1)
        watch = t.stopwatch()
        response = t.note(f"{invisible} ms", group.pop(invisible_ms=invisible), 0)
        t.note("handle", group.handles_of(response))
        t.note("copy", group.wait_for_copies())
        t.note("after", watch.between(0, 10))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def only_topic_and_group_of_a_pop_are_required(t: RemotingContext) -> None:
    """Missing numbers of a pop count as 0; a pop without topic or group is rejected."""
    group = popping(t, 1)
    names = {"topic": group.topic, "consumerGroup": group.name}
    t.note("topic and group", t.request(RequestCode.POP_MESSAGE, names), 210)
    t.note("and a number", t.request(RequestCode.POP_MESSAGE, {**names, "maxMsgNums": 1}).bodies)
    t.note("no group", t.request(RequestCode.POP_MESSAGE, {"topic": group.topic}))
    t.note("no topic", t.request(RequestCode.POP_MESSAGE, {"consumerGroup": group.name}))
    t.note("nothing", t.request(RequestCode.POP_MESSAGE, {}))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_pop_with_a_non_numeric_or_too_large_number_is_refused(t: RemotingContext) -> None:
    """A pop with a non-numeric or too large number is rejected."""
    group = popping(t)
    for name, value in (
        ("queueId", "x"),
        ("maxMsgNums", "1.5"),
        ("maxMsgNums", "4294967297"),
        ("invisibleTime", "9223372036854775808"),
        ("pollTime", ""),
        ("order", "yes"),
    ):
        fields = {**t.pop_fields(group.topic, group.name), name: value}
        t.note(f"{name} {value!r}", t.request(RequestCode.POP_MESSAGE, fields))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def messages_popped_with_no_invisible_duration_are_redelivered_at_once(t: RemotingContext) -> None:
    """A pop with an invisible duration of 0 or less returns messages that are redelivered at once."""
    for invisible in (0, -1, -(10**6)):
        group = popping(t, 1)
        watch = t.stopwatch()
        response = t.note(f"{invisible} ms", group.pop(invisible_ms=invisible), 0)
        t.note("handle", group.handles_of(response))
        t.note("copy", group.wait_for_copies())
        t.note("after", watch.between(0 if invisible < -2000 else 1.5, 10))


# Upstream retries to store such a check point at every scan of its buffer, 200 times a second.
@remoting_case("PopBufferMergeService.addCkJustOffset", alone=True)
def an_invisible_duration_above_the_timer_maximum_keeps_the_offset(t: RemotingContext) -> None:
    """A pop with an invisible duration above the timer's maximum returns messages, but the group's offset stays."""
    group = popping(t, 6)
    day = 86_400_000
    for days in (2.9, 3.1, 365, 100_000):
        response = group.pop(invisible_ms=round(days * day), max_messages=1)
        t.note(f"{days:g} days", [response.code, response.bodies, response["restNum"]])
    response = group.pop(max_messages=1)
    t.note("60 s", [response.code, response.bodies, response["restNum"]])
    t.wait(1)
    t.note("committed", group.committed())


@remoting_case("PopMessageProcessor.processRequest")
def system_topics_can_be_popped(t: RemotingContext) -> None:
    """A pop of the auto-create template topic or of the delayed message topic is accepted."""
    t.note("the template of new topics", t.pop(AUTO_CREATE_TOPIC, t.group(), queue=5), 210)
    delayed = t.pop(SCHEDULE_TOPIC, t.group(), queue=17, expression="no-such-tag")
    t.note("delayed messages", delayed.code)


@remoting_case("PopMessageProcessor.processRequest")
def a_retry_topic_is_popped_by_name(t: RemotingContext) -> None:
    """A pop of the retry topic by its name returns redelivered messages as messages of that topic."""
    group = popping(t, 1)
    group.fail_and_wait_for_retry()
    response = t.note("popped", group.retry.pop(), 0)
    t.note("handle", group.handles_of(response) if "POP_CK" in response.messages[0].properties else None)
    t.note("committed", group.retry.wait_until_committed(1), 0)
    t.note("copies", group.count_copies())
