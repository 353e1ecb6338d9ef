"""Pops that read the retry topic as well as the topic."""

from rocketmq_testkit.emulator.message.names import dlq_topic, pop_retry_topic

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, popping
from ...helpers.settings import CHANGED_KEYS, FURTHER_CHANGED_KEYS, shared_settings

RETRY_TOPIC_FIRST = shared_settings(CHANGED_KEYS, "popFromRetryProbability")
RETRY_TOPIC_LAST = shared_settings(FURTHER_CHANGED_KEYS, "popFromRetryProbability")
V1_AND_V2 = {"enableRetryTopicV2": "true"}
ONLY_V2 = {**V1_AND_V2, "retrieveMessageFromPopRetryTopicV1": "false"}
"""Otherwise half of the pops read the V1 retry topic instead."""


def with_redelivered(t: RemotingContext, count: int) -> PopGroup:
    """Create a group with `count` redelivered messages and as many new ones: `n0`, `n1`, ..."""
    group = popping(t, count)
    group.fail_and_wait_for_retry(count)
    t.readable(group.topic, *(group.send(f"n{number}") for number in range(count)))
    return group


def note_two_three_and_the_rest(t: RemotingContext, group: PopGroup) -> None:
    """Record pops for two messages, for three, and for all the rest."""
    t.note("two", pop_fields(group.pop(max_messages=2)))
    t.note("three", pop_fields(group.pop(max_messages=3)))
    t.note("the rest", pop_fields(group.pop()))


def pop_fields(response: DecodedResponse) -> list[object]:
    """Return bodies in their order, start and offset infos, and the rest number."""
    return [response.bodies, response["startOffsetInfo"], response["msgOffsetInfo"], response["restNum"]]


@remoting_case("PopMessageProcessor.processRequest", settings=RETRY_TOPIC_LAST)
def the_retry_topic_is_read_last_with_probability_0(t: RemotingContext) -> None:
    """A pop that reads the topic first reads the retry topic only if there is room left."""
    note_two_three_and_the_rest(t, with_redelivered(t, 3))


@remoting_case("PopMessageProcessor.processRequest", settings=RETRY_TOPIC_FIRST)
def the_retry_topic_is_read_first_with_probability_100(t: RemotingContext) -> None:
    """A pop that reads the retry topic first reads the topic if there is room left."""
    note_two_three_and_the_rest(t, with_redelivered(t, 3))


@remoting_case("PopMessageProcessor.processRequest")
def one_in_five_pops_reads_the_retry_topic_first(t: RemotingContext) -> None:
    """A pop reads the retry topic first in one of five cases, otherwise only if the topic leaves room."""
    group = popping(t)
    name = t.topic(queues=1, name=group.retry_topic)
    group.fill(400)
    t.sent(name, 400)
    _note_share(t, _digits(group, 400), 1, low=12, high=28)


@remoting_case("PopMessageProcessor.processRequest")
def one_pop_returns_redelivered_and_new_messages(t: RemotingContext) -> None:
    """A pop with room for all messages returns redelivered and new ones together, in either reading order."""
    group = with_redelivered(t, 2)
    response = group.pop()
    t.note("messages", sorted(response.bodies))
    t.note("starts", sorted(response["startOffsetInfo"].split(";")))
    t.note("offsets", sorted(response["msgOffsetInfo"].split(";")))
    t.note("handles", sorted(handle for _, handle in t.popped(response)))


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def only_redelivered_messages_have_a_handle_property(t: RemotingContext) -> None:
    """A redelivered message has its handle as a property, a new one does not. Both show the topic's name."""
    group = with_redelivered(t, 1)
    found = {message.body.decode(): message for message in group.pop().messages}
    t.note("copy", found["m0"])
    t.note("new", found["n0"])


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_of_one_queue_returns_redelivered_messages_of_every_queue(t: RemotingContext) -> None:
    """A pop of one queue returns redelivered messages of every queue."""
    group = popping(t, queues=2)
    group.fill(queue=1)
    group.fail_and_wait_for_retry()
    t.note("queue 0", group.pop(queue=0), 0)


@remoting_case("PopMessageProcessor.processRequest")
def an_ordered_pop_does_not_read_the_retry_topic(t: RemotingContext) -> None:
    """An ordered pop does not read the retry topic."""
    group = popping(t, 1)
    group.fail_and_wait_for_retry()
    t.note("in order", group.pop(order=True), 210)
    t.note("without", group.pop().bodies)


@remoting_case("PopMessageProcessor.getInitOffset")
def an_unread_retry_topic_is_popped_from_the_beginning(t: RemotingContext) -> None:
    """A retry topic that the group never read is popped from its beginning, even with init mode MAX."""
    group = popping(t)
    name = t.topic(queues=1, name=group.retry_topic)
    t.readable(name, *(t.send(name, f"own {number}") for number in range(2)))
    response = t.note("popped", group.pop(init_mode=1), 0)
    t.note("handles", group.handles_of(response))


@remoting_case("KeyBuilder.buildPopRetryTopic")
def messages_sent_by_clients_to_the_retry_topic_are_popped(t: RemotingContext) -> None:
    """A message that a client sends to the retry topic is returned by a pop of the topic, under the topic's name."""
    group = popping(t)
    name = t.topic(queues=2, name=group.retry_topic)
    t.sent(name, queue=0)
    t.sent(name, queue=1)
    response = group.pop()
    t.note("topics", [message.topic for message in response.messages])
    t.note("offsets", sorted(response["msgOffsetInfo"].split(";")))


@remoting_case(
    "PopMessageProcessor.popMsgFromQueue",
    settings=shared_settings(FURTHER_CHANGED_KEYS, "popResponseReturnActualRetryTopic"),
)
def redelivered_messages_can_show_the_actual_retry_topic(t: RemotingContext) -> None:
    """With popResponseReturnActualRetryTopic a redelivered message shows the retry topic's name and has no handle."""
    group = popping(t, 1)
    group.fail_and_wait_for_retry()
    t.note("popped", group.pop(), 0)


@remoting_case("KeyBuilder.buildPopRetryTopicV2", settings=ONLY_V2)
def the_v2_retry_topic_joins_group_and_topic_by_a_plus(t: RemotingContext) -> None:
    """With enableRetryTopicV2 the retry topic's name joins group and topic by a plus. Handles mark it with digit 2."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    t.note("copy", group.wait_for_copies(v2=True))
    t.note("in the first form", group.count_copies())
    response = t.note("popped", group.pop(), 0)
    [handle] = group.handles_of(response)
    second_form = pop_retry_topic(group.topic, group.name, v2=True)
    t.note("acknowledged", group.with_topic(second_form).ack(handle, 0), 0)


@remoting_case("PopReviveService.reviveRetry", settings=ONLY_V2)
def redelivered_messages_stay_in_the_v2_retry_topic(t: RemotingContext) -> None:
    """A V2 copy that is redelivered returns to its V2 retry topic with its reconsume times increased by one."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.wait_for_copies(v2=True)
    t.until(lambda: group.pop(invisible_ms=0).messages)
    found = group.wait_for_copies(2, v2=True)
    t.note("copies", [[each.queue_offset, each.reconsume_times] for each in found])


@remoting_case("PopMessageProcessor.processRequest", settings=V1_AND_V2)
def v1_retry_topics_are_read_with_v2_enabled(t: RemotingContext) -> None:
    """With enableRetryTopicV2 some pops, chosen at random, read the V1 retry topic as well."""
    group = popping(t)
    name = t.topic(queues=1, name=group.retry_topic)
    t.sent(name)
    found = t.until(lambda: group.pop().messages)
    t.note("popped", found)


@remoting_case("PopMessageProcessor.processRequest", settings={**V1_AND_V2, "popFromRetryProbability": "100"})
def half_of_the_pops_read_the_v1_and_half_the_v2_retry_topic(t: RemotingContext) -> None:
    """If both retry topics have messages, a pop reads only one of them, each with a probability of one half."""
    group = popping(t, 200)
    for _ in range(7):
        group.pop(invisible_ms=5000)  # so that none is redelivered before the last pop
    second_form = pop_retry_topic(group.topic, group.name, v2=True)
    t.require(t.until(lambda: t.max_offset(second_form) >= 200), "not all messages were redelivered")
    t.sent(t.topic(queues=1, name=group.retry_topic), 200)
    _note_share(t, _digits(group, 200), 1, low=35, high=65)


def _digits(group: PopGroup, count: int) -> list[int]:
    """Return the topic kinds that `count` pops of one message read: 0 the topic, 1 and 2 its retry topics."""
    return [int(group.pop_one()["startOffsetInfo"].split(" ")[0]) for _ in range(count)]


def _note_share(t: RemotingContext, digits: list[int], digit: int, *, low: int, high: int) -> None:
    """Record whether a topic kind's share is between `low` and `high` percent."""
    share = 100 * digits.count(digit) / len(digits)
    kinds = sorted(set(digits))
    t.note("kinds", kinds)
    t.note(f"share of {digit}", f"{low} to {high} %" if low <= share <= high else f"{share:.1f} %")


@remoting_case("PopReviveService.reviveRetry")
def popped_messages_are_redelivered_without_a_retry_limit(t: RemotingContext) -> None:
    """An unacknowledged popped message is redelivered even if its group allows no retries and no retry queues."""
    group = PopGroup(t, t.topic(queues=1), t.group(retryMaxTimes=0, retryQueueNums=0))
    group.fill(1)
    for count in range(1, 4):
        t.until(lambda: group.pop(invisible_ms=0).messages)
        found = group.wait_for_copies(count)
        t.note(f"come again: {count}", [each.reconsume_times for each in found])
    t.note("its dead letter queue", t.config_of(dlq_topic(group.name)), 17)
