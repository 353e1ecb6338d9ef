"""Pops that read the retry topic as well as the topic."""

from rocketmq_testkit.emulator.message.names import dlq_topic, pop_retry_topic

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.pops import PopGroup, popping
from ...helpers.settings import ODD, VARIED, with_keys

FIRST = with_keys(VARIED, "popFromRetryProbability")
LAST = with_keys(ODD, "popFromRetryProbability")
BOTH_FORMS = {"enableRetryTopicV2": "true"}
SECOND_FORM = {**BOTH_FORMS, "retrieveMessageFromPopRetryTopicV1": "false"}
"""Otherwise half of the pops read the V1 retry topic instead."""


def with_copies(t: Remoting, count: int) -> PopGroup:
    """Create a group with `count` redelivered messages and as many new ones: `n0`, `n1`, ..."""
    group = popping(t, count)
    group.bring_back(count)
    t.readable(group.topic, *(group.send(f"n{number}") for number in range(count)))
    return group


def see_two_three_and_the_rest(t: Remoting, group: PopGroup) -> None:
    """Record pops for two messages, for three, and for all the rest."""
    t.see("two", shown(group.pop(max_messages=2)))
    t.see("three", shown(group.pop(max_messages=3)))
    t.see("the rest", shown(group.pop()))


def shown(answer: Answer) -> list[object]:
    """Return bodies in their order, start and offset infos, and the rest number."""
    return [answer.bodies, answer["startOffsetInfo"], answer["msgOffsetInfo"], answer["restNum"]]


@remoting_case("PopMessageProcessor.processRequest", settings=LAST)
def copies_come_last(t: Remoting) -> None:
    """A pop that reads the topic first reads the retry topic only if there is room left."""
    see_two_three_and_the_rest(t, with_copies(t, 3))


@remoting_case("PopMessageProcessor.processRequest", settings=FIRST)
def copies_come_first(t: Remoting) -> None:
    """A pop that reads the retry topic first reads the topic if there is room left."""
    see_two_three_and_the_rest(t, with_copies(t, 3))


@remoting_case("PopMessageProcessor.processRequest")
def copies_are_read_first_now_and_then(t: Remoting) -> None:
    """A pop reads the retry topic first in one of five cases, otherwise only if the topic leaves room."""
    group = popping(t)
    name = t.topic(queues=1, name=group.retry_topic)
    group.fill(400)
    t.sent(name, 400)
    _see_share(t, _digits(group, 400), 1, 12, 28)


@remoting_case("PopMessageProcessor.processRequest")
def one_pop_finds_copies_and_new_messages(t: Remoting) -> None:
    """A pop with room for all messages returns redelivered and new ones together, in either reading order."""
    group = with_copies(t, 2)
    answer = group.pop()
    t.see("messages", sorted(answer.bodies))
    t.see("starts", sorted(answer["startOffsetInfo"].split(";")))
    t.see("offsets", sorted(answer["msgOffsetInfo"].split(";")))
    t.see("handles", sorted(handle for _, handle in t.popped(answer)))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def only_copies_bring_their_handle(t: Remoting) -> None:
    """A redelivered message has its handle as a property, a new one does not. Both show the topic's name."""
    group = with_copies(t, 1)
    found = {message.body.decode(): message for message in group.pop().messages}
    t.see("copy", found["m0"])
    t.see("new", found["n0"])


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_of_one_queue_reads_copies_too(t: Remoting) -> None:
    """A pop of one queue returns redelivered messages of every queue."""
    group = popping(t, queues=2)
    group.fill(queue=1)
    group.bring_back()
    t.see("queue 0", group.pop(queue=0), 0)


@remoting_case("PopMessageProcessor.processRequest")
def an_ordered_pop_reads_no_copies(t: Remoting) -> None:
    """An ordered pop does not read the retry topic."""
    group = popping(t, 1)
    group.bring_back()
    t.see("in order", group.pop(order=True), 210)
    t.see("without", group.pop().bodies)


@remoting_case("PopMessageProcessor.getInitOffset")
def copies_are_read_from_the_first(t: Remoting) -> None:
    """A retry topic that the group never read is popped from its beginning, even with init mode MAX."""
    group = popping(t)
    name = t.topic(queues=1, name=group.retry_topic)
    t.readable(name, *(t.send(name, f"own {number}") for number in range(2)))
    answer = t.see("popped", group.pop(init_mode=1), 0)
    t.see("handles", group.handles_of(answer))


@remoting_case("KeyBuilder.buildPopRetryTopic")
def anything_in_the_retry_topic_is_popped(t: Remoting) -> None:
    """A message that a client sends to the retry topic is returned by a pop of the topic, under the topic's name."""
    group = popping(t)
    name = t.topic(queues=2, name=group.retry_topic)
    t.sent(name, queue=0)
    t.sent(name, queue=1)
    answer = group.pop()
    t.see("topics", [message.topic for message in answer.messages])
    t.see("offsets", sorted(answer["msgOffsetInfo"].split(";")))


@remoting_case("PopMessageProcessor.popMsgFromQueue", settings=with_keys(ODD, "popResponseReturnActualRetryTopic"))
def copies_may_show_their_own_topic(t: Remoting) -> None:
    """With popResponseReturnActualRetryTopic a redelivered message shows the retry topic's name and has no handle."""
    group = popping(t, 1)
    group.bring_back()
    t.see("popped", group.pop(), 0)


@remoting_case("KeyBuilder.buildPopRetryTopicV2", settings=SECOND_FORM)
def the_second_form_has_a_plus(t: Remoting) -> None:
    """With enableRetryTopicV2 the retry topic's name joins group and topic by a plus. Handles mark it with digit 2."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    t.see("copy", group.copies(v2=True))
    t.see("in the first form", group.copied())
    answer = t.see("popped", group.pop(), 0)
    [handle] = group.handles_of(answer)
    second_form = pop_retry_topic(group.topic, group.name, v2=True)
    t.see("acknowledged", group.at(second_form).ack(handle, 0), 0)


@remoting_case("PopReviveService.reviveRetry", settings=SECOND_FORM)
def copies_of_the_second_form_stay_there(t: Remoting) -> None:
    """A V2 copy that is redelivered returns to its V2 retry topic with its reconsume times increased by one."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.copies(v2=True)
    t.until(lambda: group.pop(invisible_ms=0).messages)
    found = group.copies(2, v2=True)
    t.see("copies", [[each.queue_offset, each.reconsume_times] for each in found])


@remoting_case("PopMessageProcessor.processRequest", settings=BOTH_FORMS)
def old_copies_of_the_first_form_are_read(t: Remoting) -> None:
    """With enableRetryTopicV2 some pops, chosen at random, read the V1 retry topic as well."""
    group = popping(t)
    name = t.topic(queues=1, name=group.retry_topic)
    t.sent(name)
    found = t.until(lambda: group.pop().messages)
    t.see("popped", found)


@remoting_case("PopMessageProcessor.processRequest", settings={**BOTH_FORMS, "popFromRetryProbability": "100"})
def each_form_is_read_in_half_of_the_pops(t: Remoting) -> None:
    """If both retry topics have messages, a pop reads only one of them, each with a probability of one half."""
    group = popping(t, 200)
    for _ in range(7):
        group.pop(invisible_ms=5000)  # so that none is redelivered before the last pop
    second_form = pop_retry_topic(group.topic, group.name, v2=True)
    t.require(t.until(lambda: t.max_offset(second_form) >= 200), "not all messages came back")
    t.sent(t.topic(queues=1, name=group.retry_topic), 200)
    _see_share(t, _digits(group, 200), 1, 35, 65)


def _digits(group: PopGroup, count: int) -> list[int]:
    """Return the topic kinds that `count` pops of one message read: 0 the topic, 1 and 2 its retry topics."""
    return [int(group.pop_one()["startOffsetInfo"].split(" ")[0]) for _ in range(count)]


def _see_share(t: Remoting, digits: list[int], digit: int, low: int, high: int) -> None:
    """Record whether a topic kind's share is between `low` and `high` percent."""
    share = 100 * digits.count(digit) / len(digits)
    kinds = sorted(set(digits))
    t.see("kinds", kinds)
    t.see(f"share of {digit}", f"{low} to {high} %" if low <= share <= high else f"{share:.1f} %")


@remoting_case("PopReviveService.reviveRetry")
def no_limit_of_tries_holds_for_pops(t: Remoting) -> None:
    """An unacknowledged popped message is redelivered even if its group allows no retries and no retry queues."""
    group = PopGroup(t, t.topic(queues=1), t.group(retryMaxTimes=0, retryQueueNums=0))
    group.fill(1)
    for count in range(1, 4):
        t.until(lambda: group.pop(invisible_ms=0).messages)
        found = group.copies(count)
        t.see(f"come again: {count}", [each.reconsume_times for each in found])
    t.see("its dead letter topic", t.config_of(dlq_topic(group.name)), 17)
