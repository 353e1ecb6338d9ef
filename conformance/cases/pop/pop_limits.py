"""Configurable limits of pops: messages in flight, waiting pops and the retry topics that are read."""

from collections.abc import Mapping

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import bodies, popping
from .notification import waiting as waiting_notification
from .pop_retry import ONLY_V2

IN_FLIGHT: Mapping[str, str] = {"enablePopMessageThreshold": "true", "popInflightMessageThreshold": "3"}
FEW_WAIT: Mapping[str, str] = {"maxPopPollingSize": "2"}


@remoting_case("PopInflightMessageCounter.getGroupPopInFlightMessageNum", settings=IN_FLIGHT)
def messages_in_flight_are_counted_by_queue_and_group(t: RemotingContext) -> None:
    """Too many messages in flight in one queue of a group block neither other queues nor other groups."""
    popper = popping(t, queues=2)
    popper.fill(6)
    popper.fill(1, queue=1)
    popper.pop(queue=0, max_messages=4)
    t.note("the same queue", popper.pop(queue=0), 210)
    # With bornTime=0 the broker uses its own time, so a busy broker does not reject a pop that it processes late.
    popped = popper.pop(bornTime=0).messages
    t.note("all queues", [[each.queue_id, each.body.decode()] for each in popped])
    t.note("another group", len(popper.with_group(t.group()).pop(queue=0).messages))


@remoting_case("PopInflightMessageCounter.decrementInFlightMessageNum", settings=IN_FLIGHT)
def redelivered_messages_no_longer_count_as_in_flight(t: RemotingContext) -> None:
    """Messages stored again in the retry topic no longer count as in flight, so pops read their queue again."""
    popper = popping(t, 6)
    popper.pop(max_messages=4, invisible_ms=1000)
    t.note("stopped", popper.pop(), 210)
    t.note("came back", bodies(popper.wait_for_copies(4)))
    t.note("popped", sorted(popper.pop().bodies))


@remoting_case("PopInflightMessageCounter.decrementInFlightMessageNum", settings=IN_FLIGHT)
def a_message_with_a_changed_invisible_duration_stays_in_flight(t: RemotingContext) -> None:
    """A message whose invisible duration was changed counts as in flight until it is acknowledged."""
    popper = popping(t, 6)
    handles = popper.handles(max_messages=4)
    changed = popper.change(handles[0], 0, 30_000)
    t.note("stopped", popper.pop(), 210)
    fields = handles[0].split(" ")
    newer = " ".join(["0", changed["popTime"], changed["invisibleTime"], changed["reviveQid"], *fields[4:]])
    popper.ack(newer, 0)
    t.note("acknowledged", popper.pop(max_messages=1).bodies)
    popper.ack(handles[1], 1)
    t.note("two", popper.pop(max_messages=1).bodies)


@remoting_case("PopMessageProcessor.processRequest", settings=IN_FLIGHT)
def an_ack_wakes_a_pop_held_by_the_in_flight_threshold(t: RemotingContext) -> None:
    """A pop waiting because of too many messages in flight returns as soon as enough of them are acknowledged."""
    popper = popping(t, 6)
    handles = popper.handles(max_messages=4)
    waiting = popper.waiting(max_messages=1)
    t.note("waits", waiting.arrived())
    popper.ack(handles[0], 0)
    t.note("popped", t.arrival(waiting, 3).bodies)


@remoting_case("PopInflightMessageCounter.clearInFlightMessageNum", settings=IN_FLIGHT)
def an_ordered_pop_above_the_in_flight_threshold_returns_nothing(t: RemotingContext) -> None:
    """With too many messages in flight, an ordered pop returns nothing and does not reset their count."""
    popper = popping(t, 9)
    popper.pop(max_messages=4)
    t.note("stopped", popper.pop(max_messages=1).bodies)
    t.note("in order", popper.pop_in_order(1).bodies)
    t.note("then", popper.pop(max_messages=1).bodies)


@remoting_case("PopLongPollingService.polling", settings=FEW_WAIT, alone=True)
def pops_beyond_max_pop_polling_size_are_refused(t: RemotingContext) -> None:
    """When the broker holds more than maxPopPollingSize pops in total, further ones return POLLING_FULL at once."""
    poppers = [popping(t) for _ in range(4)]
    pending = [popper.waiting(poll_ms=20_000) for popper in poppers]
    t.wait(2)
    t.note("at once", [None if (response := each.arrived()) is None else response.code for each in pending])
    notification = waiting_notification(popping(t), poll_ms=20_000)
    t.wait(1)
    t.note("a notification at once", notification.arrived())
    poppers[0].fill()
    t.note("woken", t.until(pending[0].arrived), 0)
    more = popping(t).waiting(poll_ms=20_000)
    t.wait(1)
    t.note("one more", more.arrived())


@remoting_case("PopMessageProcessor.processRequest", settings=ONLY_V2)
def v1_retry_topics_are_not_read_if_their_retrieval_is_disabled(t: RemotingContext) -> None:
    """Without retrieveMessageFromPopRetryTopicV1 a broker with enableRetryTopicV2 does not read V1 retry topics."""
    popper = popping(t, 1)
    t.topic(queues=1, name=popper.retry_topic)
    t.sent(popper.retry_topic)
    popper.pop(invisible_ms=0)
    t.note("came back", bodies(popper.wait_for_copies(v2=True)))
    pops = [popper.pop(max_messages=1) for _ in range(12)]
    found = [(each["startOffsetInfo"], each.bodies) for each in pops if each.messages]
    t.note("popped", found)
