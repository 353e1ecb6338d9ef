"""NOTIFICATION: long polling for the arrival of messages that a pop would find."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.pending import Pending
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.pops import PopGroup, popping, see_refused_places
from ...helpers.settings import ODD, STRICT, VARIED, with_keys


def notification_fields(group: PopGroup, queue: int = -1, *, poll_ms: int = 0, **fields: object) -> dict[str, object]:
    """Return the ext fields of a NOTIFICATION request."""
    return {
        "consumerGroup": group.name,
        "topic": group.topic,
        "queueId": queue,
        "pollTime": poll_ms,
        "bornTime": group.t.now_ms(),
        "order": False,
        **fields,
    }


def notification(group: PopGroup, queue: int = -1, **more: Any) -> Answer:
    """Send a NOTIFICATION request and return its response."""
    return group.t.ask(RequestCode.NOTIFICATION, notification_fields(group, queue, **more))


def waiting(group: PopGroup, queue: int = -1, *, poll_ms: int = 10_000, **more: Any) -> Pending:
    """Send a NOTIFICATION request on its own connection, and return while the broker holds it."""
    t = group.t
    fields = notification_fields(group, queue, poll_ms=poll_ms, **more)
    pending = t.start(RequestCode.NOTIFICATION, fields, to=t.connect())
    t.wait(0.3)
    return pending


@remoting_case("NotificationProcessor.processRequest")
def a_backlog_is_told_at_once(t: Remoting) -> None:
    """A notification returns hasMsg=true at once while a pop would find a message."""
    group = popping(t, 1)
    t.see("a message is there", notification(group), 0)
    t.see("and is not taken", notification(group, poll_ms=5000), 0)
    group.pop()
    group.reaches(1)
    t.see("popped", notification(group), 0)


def _see_copy(t: Remoting) -> None:
    """Record ten notifications for all queues and for queue 1. The group's only message is in its retry topic."""
    group = popping(t, 1, queues=2)
    group.bring_back(1)
    for queue in (-1, 1):
        t.see(f"queue {queue}", [notification(group, queue=queue)["hasMsg"] for _ in range(10)])
    group.pop()
    group.copies(1)
    t.see("popped", notification(group), 0)


@remoting_case("NotificationProcessor.processRequest", settings=with_keys(VARIED, "popFromRetryProbability"))
def a_copy_is_told_that_is_looked_for_first(t: Remoting) -> None:
    """With popFromRetryProbability=100 a notification for any queue reports a message in the retry topic every time."""
    _see_copy(t)


@remoting_case("NotificationProcessor.processRequest", settings=with_keys(ODD, "popFromRetryProbability"))
def a_copy_is_told_that_is_looked_for_last(t: Remoting) -> None:
    """With popFromRetryProbability=0 a notification still reports a message in the retry topic every time."""
    _see_copy(t)


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_queue_is_asked_for_alone(t: Remoting) -> None:
    """A notification for one queue ignores the other queues."""
    group = popping(t, queues=2)
    group.fill(queue=1)
    t.see("queue 0", notification(group, queue=0), 0)
    t.see("queue 1", notification(group, queue=1), 0)
    t.see("all", notification(group), 0)


@remoting_case("PopLongPollingService.run")
def an_empty_wait_ends_with_no(t: Remoting) -> None:
    """A held notification returns hasMsg=false when its poll time ends without a message."""
    group = popping(t)
    watch = t.stopwatch()
    t.see_arrival(waiting(group, poll_ms=3000), watch, 2.85, 4.5, 0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_ends_the_wait(t: Remoting) -> None:
    """A held notification returns hasMsg=true as soon as a message is stored."""
    group = popping(t, queues=2)
    pending = waiting(group)
    watch = t.stopwatch()
    group.fill(queue=1)
    t.see_arrival(pending, watch, 0, 2, 0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def another_queue_does_not_end_the_wait(t: Remoting) -> None:
    """A notification held for one queue is not completed by a message in another queue."""
    group = popping(t, queues=2)
    pending = waiting(group, queue=0)
    group.fill(queue=1)
    t.wait(1)
    t.see("after a message of queue 1", pending.arrived())
    group.fill(queue=0)
    t.see("answer", t.arrival(pending), 0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_ends_one_wait_of_a_group(t: Remoting) -> None:
    """Of two held notifications of a group, a message completes only the one with the later deadline."""
    group = popping(t)
    early, late = waiting(group, poll_ms=4000), waiting(group, poll_ms=8000)
    watch = t.stopwatch()
    group.fill()
    t.see("late", t.arrival(late))
    t.see("after", watch.between(0, 2))
    t.see("early, meanwhile", early.arrived())
    t.see("early", t.arrival(early))
    t.see("after", watch.between(2.5, 6))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def pops_and_notifications_are_both_woken(t: Remoting) -> None:
    """A message completes a held notification and also wakes a held pop of the same group."""
    group = popping(t)
    pending = waiting(group, poll_ms=5000)
    pop = group.waiting()
    watch = t.stopwatch()
    group.fill()
    t.see("pop", t.arrival(pop).code)
    t.see("notification", t.arrival(pending).code)
    t.see("after", watch.between(0, 7))


@remoting_case("NotificationProcessor.hasMsgFromTopic")
def a_copy_counts(t: Remoting) -> None:
    """A notification reports a message in the group's retry topic like any other."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.reaches(1)
    t.see("while it is out", notification(group), 0)
    group.copies()
    t.see("when it is back", notification(group), 0)
    t.see("in the words of one queue", notification(group, queue=0), 0)


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_blocked_queue_counts_as_empty(t: Remoting) -> None:
    """An ordered notification ignores a queue with an ordered batch in flight; an unordered one counts it."""
    group = popping(t, 2)
    group.pop_in_order(1, invisible_ms=60_000, attempt_id="a")
    t.see("in order", notification(group, order=True), 0)
    t.see("by the attempt", notification(group, order=True, attemptId="a"), 0)
    t.see("by another", notification(group, order=True, attemptId="b"), 0)
    t.see("without order", notification(group), 0)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp, NotificationProcessor.processRequest")
def a_free_queue_ends_the_wait(t: Remoting) -> None:
    """An ordered notification completes when the queue's batch is acknowledged or its invisible duration ends."""
    group = popping(t, 2)
    [handle] = group.handles_in_order(1, invisible_ms=60_000)
    pending = waiting(group, order=True)
    watch = t.stopwatch()
    group.ack(handle, 0)
    t.see_arrival(pending, watch, 0, 2, 0)
    group.pop_in_order(1, invisible_ms=2000)
    watch = t.stopwatch()
    t.see_arrival(waiting(group, order=True), watch, 1.8, 4, 0)


@remoting_case("NotificationProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """A notification is rejected for an unknown topic or queue, an illegal or disabled group, or a write-only topic."""
    group = popping(t)
    see_refused_places(group, notification, {9: 29, -5: 0}, unknown_group=0)


@remoting_case("NotificationProcessor.processRequest")
def age_does_not_matter(t: Remoting) -> None:
    """A notification with an old bornTime is accepted, unlike a pop. If its poll time is over, it is not held."""
    group = popping(t)
    t.see("60 s ago", notification(group, bornTime=t.now_ms() - 60_000, poll_ms=1000), 0)
    group.fill()
    t.see("with a message", notification(group, bornTime=t.now_ms() - 60_000, poll_ms=1000), 0)
    names = {"topic": group.topic, "consumerGroup": group.name}
    t.see("topic and group alone", t.ask(RequestCode.NOTIFICATION, names), 0)
    t.see("no topic", t.ask(RequestCode.NOTIFICATION, {"consumerGroup": group.name}), 1)
    t.see("no group", t.ask(RequestCode.NOTIFICATION, {"topic": group.topic}), 1)


@remoting_case("PopLongPollingService.polling, PopRequest.isTimeout")
def a_poll_time_may_be_absurd(t: Remoting) -> None:
    """A notification whose bornTime plus pollTime overflows 64 bits is completed at once."""
    group = popping(t)
    for what, fields in (
        ("the longest poll time", {"pollTime": 2**63 - 1}),
        ("the shortest", {"pollTime": -(2**63)}),
        ("the last time of birth", {"bornTime": 2**63 - 1, "pollTime": 10_000}),
        ("the first", {"bornTime": -(2**63), "pollTime": 10_000}),
    ):
        watch = t.stopwatch()
        asked = t.start(RequestCode.NOTIFICATION, {**notification_fields(group), **fields}, to=t.connect())
        t.see(what, t.arrival(asked, 5), 0)
        t.see("after", watch.between(0, 2))
    pending = waiting(group, poll_ms=2**62)
    group.fill()
    t.see("thousands of years", t.arrival(pending), 0)


@remoting_case("NotificationProcessor.processRequest", settings={"enableRetryTopicV2": "true"})
def copies_of_both_forms_count(t: Remoting) -> None:
    """With enableRetryTopicV2 a notification reports messages in the retry topic of either naming form."""
    first, second = popping(t), popping(t, 1)
    t.sent(t.topic(queues=1, name=first.retry_topic))
    second.pop(invisible_ms=0)
    second.copies(v2=True)
    for form, group in ("first", first), ("second", second):
        t.see(f"{form} form", [notification(group)["hasMsg"] for _ in range(10)])


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_blocked_queue_hides_copies_of_its_number(t: Remoting) -> None:
    """For an ordered notification, a queue with a batch in flight hides the retry queue of the same number as well."""
    for queue in range(2):
        group = popping(t, queues=2)
        group.fill(queue=queue)
        group.pop_in_order(1, queue=queue, invisible_ms=60_000)
        t.sent(t.topic(queues=1, name=group.retry_topic))
        t.see(f"queue {queue} is out, in order", notification(group, order=True), 0)
        t.see(f"queue {queue} is out, without", notification(group), 0)


@remoting_case("PopLongPollingService.polling", settings=with_keys(STRICT, "popPollingSize"))
def too_many_waits_are_refused(t: Remoting) -> None:
    """When more than popPollingSize notifications are held, further ones return POLLING_FULL at once."""
    group = popping(t)
    pending = [waiting(group, poll_ms=5000) for _ in range(3)]
    for number, each in enumerate(pending):
        t.see(f"notification {number + 1} at once", each.arrived())
    for number, each in enumerate(pending):
        t.see(f"notification {number + 1}", t.arrival(each))
