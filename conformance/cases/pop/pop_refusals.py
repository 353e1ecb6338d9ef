"""Rejected pops, and unusual pops that are accepted."""

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC, SCHEDULE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.pops import popping
from ...worlds.remoting import Remoting
from .notification import notification
from .peek import peek
from .polling_info import polling_info

SMALLEST, LARGEST = -(2**63), 2**63 - 1


@remoting_case("PopMessageProcessor.processRequest")
def an_unknown_topic_is_refused(t: Remoting) -> None:
    """A pop of an unknown topic returns TOPIC_NOT_EXIST, with zeros in the response header."""
    t.see("unknown", t.pop(t.new(), t.group()), 17)
    t.see("blank", t.pop("", t.group()))


@remoting_case("SubscriptionGroupManager.findSubscriptionGroupConfig")
def a_group_must_have_a_proper_name(t: Remoting) -> None:
    """A pop creates the group that it names if the name is legal and has at most 255 characters."""
    topic = t.topic(queues=1)
    t.see("blank inside", t.pop(topic, "a b"), 26)
    t.see("exclamation mark", t.pop(topic, "bad!"), 26)
    t.see("256 characters", t.pop(topic, "g" * 256).code)
    t.see("255 characters", t.pop(topic, t.new("group").ljust(255, "g")).code)
    t.see("empty", t.pop(topic, ""))
    group = t.new("group")
    t.see("unknown", t.pop(topic, group), 210)
    t.see("its configuration", t.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group}).json["groupName"])


@remoting_case("PopMessageProcessor.processRequest")
def a_number_of_messages_has_bounds(t: Remoting) -> None:
    """A pop for more than 32 messages is rejected. A pop for 0 or fewer returns nothing and changes nothing."""
    group = popping(t, 2)
    t.see("33", group.pop(max_messages=33), 29)
    t.see("2147483647", group.pop(max_messages=2**31 - 1), 29)
    t.see("0", group.pop(max_messages=0), 210)
    t.see("-1", group.pop(max_messages=-1))
    t.see("-2147483648", group.pop(max_messages=-(2**31)))
    t.see("afterwards", group.pop().bodies)


@remoting_case("PopMessageProcessor.processRequest")
def a_queue_id_has_bounds(t: Remoting) -> None:
    """A pop of a queue id beyond the last queue is rejected; every negative id means all queues."""
    group = popping(t, queues=4)
    t.see("4 of 4", group.pop(queue=4), 29)
    t.see("2147483647", group.pop(queue=2**31 - 1), 29)
    for queue in (-2, -5, -(2**31)):
        group.fill(queue=3)
        t.see(str(queue), group.pop(queue=queue).code)


@remoting_case("PopMessageProcessor.processRequest")
def a_topic_must_be_readable(t: Remoting) -> None:
    """A pop of a topic without read permission is rejected."""
    topic = t.topic(queues=1, perm=2)
    t.see("write only", t.pop(topic, t.group()), 16)
    t.see("neither", t.pop(t.topic(queues=1, perm=0), t.group()), 16)


@remoting_case("PopMessageProcessor.processRequest")
def a_group_must_be_enabled(t: Remoting) -> None:
    """A pop by a group with consumeEnable=false is rejected."""
    topic, group = t.topic(queues=1), t.group(consumeEnable=False)
    t.see("disabled", t.pop(topic, group), 16)


@remoting_case("FilterAPI.build")
def an_unusable_expression_is_refused(t: Remoting) -> None:
    """A tag expression without tags and an unknown expression type are rejected."""
    group = popping(t)
    t.see("no tag", group.pop(expression="||"), 23)
    t.see("unknown type", group.pop(expression="A", type="FOO"), 23)
    t.see("small letters", group.pop(expression="A", type="tag"), 23)
    t.see("nothing of SQL", group.pop(expression="", type="SQL92"))


@remoting_case("PopMessageRequestHeader.isTimeoutTooMuch")
def an_old_request_is_refused(t: Remoting) -> None:
    """A pop that arrives over 0.5 s after its bornTime plus pollTime is not processed and returns POLLING_TIMEOUT."""
    group = popping(t, 1)
    now = t.now_ms()
    t.see("5 s ago", group.pop(bornTime=now - 5000), 210)
    t.see("60 s ago, with 1 s to wait", group.pop(bornTime=now - 60_000, poll_ms=1000), 210)
    t.see("born at 1", group.pop(bornTime=1), 210)
    t.see("born at -1", group.pop(bornTime=-1))
    t.see("60 s ago, with 100 s to wait", group.pop(bornTime=now - 60_000, poll_ms=100_000).bodies)


@remoting_case("PopMessageProcessor.processRequest")
def no_time_of_birth_counts_as_now(t: Remoting) -> None:
    """A pop with a bornTime that is missing, 0 or in the future is processed."""
    topic = t.topic(queues=1)
    t.sent(topic)
    t.see("0", t.pop(topic, t.group(), bornTime=0).bodies)
    t.see("none", t.pop(topic, t.group(), bornTime=None).bodies)
    t.see("in an hour", t.pop(topic, t.group(), bornTime=t.now_ms() + 3_600_000).bodies)


@remoting_case("PopMessageProcessor.processRequest")
def the_first_objection_counts(t: Remoting) -> None:
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
        answer = t.ask(RequestCode.POP_MESSAGE, {**right, **wrong})
        t.see(f"with a wrong {name}", [answer.code, answer.remark])
        del wrong[name]
    t.see("nothing wrong", t.ask(RequestCode.POP_MESSAGE, right), 210)


@remoting_case("PopMessageProcessor.processRequest", settings={"brokerPermission": "2"})
def a_broker_must_be_readable(t: Remoting) -> None:
    """A broker without read permission rejects pops, peeks, notifications and POLLING_INFO."""
    group = popping(t, 1)
    t.see("pop", group.pop(), 16)
    t.see("notification", notification(group), 16)
    t.see("peek", peek(group, 0), 16)
    t.see("polling info", polling_info(group), 16)
    t.see("asked too late", group.pop(bornTime=1))
    t.see("33 messages", group.pop(max_messages=33))
    t.see("unknown topic", group.at(t.new()).pop())


@remoting_case("PopMessageProcessor.processRequest", settings={"timerWheelEnable": "false"})
def a_broker_must_have_a_timer(t: Remoting) -> None:
    """A broker without timer wheel rejects pops, but accepts notifications, peeks and POLLING_INFO."""
    group = popping(t, 1)
    t.see("pop", group.pop(), 1)
    t.see("in order", group.pop(order=True), 1)
    t.see("notification", notification(group), 0)
    t.see("peek", peek(group, 0).bodies)
    t.see("polling info", polling_info(group), 0)
    t.see("asked too late", group.pop(bornTime=1))
    t.see("33 messages", group.pop(max_messages=33))
    t.see("unknown topic", group.at(t.new()).pop())


@remoting_case("PopLongPollingService.polling, PopRequest.isTimeout")
def a_poll_time_may_be_absurd(t: Remoting) -> None:
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
        answer = t.arrival(group.start_pop(bornTime=born, poll_ms=poll, to=t.connect()), 5)
        t.see(what, [answer.code, answer.remark, watch.between(0, 2)])
    for poll in (10**12, 2**62):
        pending = group.waiting(poll_ms=poll)
        t.wait(1)
        t.see(f"{poll} ms, after 1 s", pending.arrived())
        group.fill()
        t.see(f"{poll} ms, with a message", t.arrival(pending).bodies)


# # Such a check point would affect other check points of the broker.
@remoting_case("PopReviveService.consumeReviveMessage", alone=True)
def an_invisible_time_may_be_too_large_for_its_end(t: Remoting) -> None:
    """If pop time plus invisible duration overflows 64 bits, the invisible duration ends at once."""
    for invisible in (LARGEST, SMALLEST):
        group = popping(t, 1)
        watch = t.stopwatch()
        answer = t.see(f"{invisible} ms", group.pop(invisible_ms=invisible), 0)
        t.see("handle", group.handles_of(answer))
        t.see("copy", group.copies())
        t.see("after", watch.between(0, 10))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_pop_needs_little(t: Remoting) -> None:
    """Missing numbers of a pop count as 0; a pop without topic or group is rejected."""
    group = popping(t, 1)
    names = {"topic": group.topic, "consumerGroup": group.name}
    t.see("topic and group", t.ask(RequestCode.POP_MESSAGE, names), 210)
    t.see("and a number", t.ask(RequestCode.POP_MESSAGE, {**names, "maxMsgNums": 1}).bodies)
    t.see("no group", t.ask(RequestCode.POP_MESSAGE, {"topic": group.topic}))
    t.see("no topic", t.ask(RequestCode.POP_MESSAGE, {"consumerGroup": group.name}))
    t.see("nothing", t.ask(RequestCode.POP_MESSAGE, {}))


@remoting_case("RemotingCommand.decodeCommandCustomHeader")
def a_pop_s_numbers_must_be_numbers(t: Remoting) -> None:
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
        t.see(f"{name} {value!r}", t.ask(RequestCode.POP_MESSAGE, fields))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def no_invisible_time_is_taken_as_it_is(t: Remoting) -> None:
    """A pop with an invisible duration of 0 or less returns messages that are redelivered at once."""
    for invisible in (0, -1, -(10**6)):
        group = popping(t, 1)
        watch = t.stopwatch()
        answer = t.see(f"{invisible} ms", group.pop(invisible_ms=invisible), 0)
        t.see("handle", group.handles_of(answer))
        t.see("copy", group.copies())
        t.see("after", watch.between(0 if invisible < -2000 else 1.5, 10))


# # Upstream retries to store such a check point at every scan of its buffer, 200 times a second.
@remoting_case("PopBufferMergeService.addCkJustOffset", alone=True)
def an_absurd_invisible_time_is_taken_once(t: Remoting) -> None:
    """A pop with an invisible duration above the timer's maximum returns messages, but the group's offset stays."""
    group = popping(t, 6)
    day = 86_400_000
    for days in (2.9, 3.1, 365, 100_000):
        answer = group.pop(invisible_ms=round(days * day), max_messages=1)
        t.see(f"{days:g} days", [answer.code, answer.bodies, answer["restNum"]])
    answer = group.pop(max_messages=1)
    t.see("60 s", [answer.code, answer.bodies, answer["restNum"]])
    t.wait(1)
    t.see("committed", group.committed())


@remoting_case("PopMessageProcessor.processRequest")
def topics_of_the_system_are_popped(t: Remoting) -> None:
    """A pop of the auto-create template topic or of the delayed message topic is accepted."""
    t.see("the template of new topics", t.pop(AUTO_CREATE_TOPIC, t.group(), queue=5), 210)
    delayed = t.pop(SCHEDULE_TOPIC, t.group(), queue=17, expression="no-such-tag")
    t.see("delayed messages", delayed.code)


@remoting_case("PopMessageProcessor.processRequest")
def a_retry_topic_is_popped_by_name(t: Remoting) -> None:
    """A pop of the retry topic by its name returns redelivered messages as messages of that topic."""
    group = popping(t, 1)
    group.bring_back()
    answer = t.see("popped", group.retry.pop(), 0)
    t.see("handle", group.handles_of(answer) if "POP_CK" in answer.messages[0].properties else None)
    t.see("committed", group.retry.reaches(1), 0)
    t.see("copies", group.copied())
