"""NOTIFICATION: long polling for the arrival of messages that a pop would find."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.pending import Pending
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, note_refused_places, popping
from ...helpers.settings import CHANGED_KEYS, FURTHER_CHANGED_KEYS, NO_AUTO_CREATE, shared_settings


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


def notification(group: PopGroup, queue: int = -1, **more: Any) -> DecodedResponse:
    """Send a NOTIFICATION request and return its response."""
    return group.t.request(RequestCode.NOTIFICATION, notification_fields(group, queue, **more))


def waiting(group: PopGroup, queue: int = -1, *, poll_ms: int = 10_000, **more: Any) -> Pending:
    """Send a NOTIFICATION request on its own connection, and return while the broker holds it."""
    t = group.t
    fields = notification_fields(group, queue, poll_ms=poll_ms, **more)
    pending = t.start(RequestCode.NOTIFICATION, fields, to=t.connect())
    t.wait(0.3)
    return pending


@remoting_case("NotificationProcessor.processRequest")
def a_notification_returns_at_once_while_messages_exist(t: RemotingContext) -> None:
    """A notification returns hasMsg=true at once while a pop would find a message."""
    group = popping(t, 1)
    t.note("a message is there", notification(group), 0)
    t.note("and is not taken", notification(group, poll_ms=5000), 0)
    group.pop()
    group.wait_until_committed(1)
    t.note("popped", notification(group), 0)


def _note_copy(t: RemotingContext) -> None:
    """Record ten notifications for all queues and for queue 1. The group's only message is in its retry topic."""
    group = popping(t, 1, queues=2)
    group.fail_and_wait_for_retry(1)
    for queue in (-1, 1):
        t.note(f"queue {queue}", [notification(group, queue=queue)["hasMsg"] for _ in range(10)])
    group.pop()
    group.wait_for_copies(1)
    t.note("popped", notification(group), 0)


@remoting_case(
    "NotificationProcessor.processRequest", settings=shared_settings(CHANGED_KEYS, "popFromRetryProbability")
)
def a_redelivered_message_is_reported_with_retry_probability_100(t: RemotingContext) -> None:
    """With popFromRetryProbability=100 a notification for any queue reports a message in the retry topic every time."""
    _note_copy(t)


@remoting_case(
    "NotificationProcessor.processRequest", settings=shared_settings(FURTHER_CHANGED_KEYS, "popFromRetryProbability")
)
def a_redelivered_message_is_reported_with_retry_probability_0(t: RemotingContext) -> None:
    """With popFromRetryProbability=0 a notification still reports a message in the retry topic every time."""
    _note_copy(t)


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_notification_for_one_queue_ignores_other_queues(t: RemotingContext) -> None:
    """A notification for one queue ignores the other queues."""
    group = popping(t, queues=2)
    group.fill(queue=1)
    t.note("queue 0", notification(group, queue=0), 0)
    t.note("queue 1", notification(group, queue=1), 0)
    t.note("all", notification(group), 0)


@remoting_case("PopLongPollingService.run")
def a_held_notification_returns_false_when_its_poll_time_ends(t: RemotingContext) -> None:
    """A waiting notification returns hasMsg=false when its poll time ends without a message."""
    group = popping(t)
    watch = t.stopwatch()
    t.note_arrival(waiting(group, poll_ms=3000), watch, 2.85, 4.5, code=0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_wakes_a_held_notification(t: RemotingContext) -> None:
    """A waiting notification returns hasMsg=true as soon as a message is stored."""
    group = popping(t, queues=2)
    pending = waiting(group)
    watch = t.stopwatch()
    group.fill(queue=1)
    t.note_arrival(pending, watch, 0, 2, code=0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_in_another_queue_wakes_no_held_notification(t: RemotingContext) -> None:
    """A notification waiting for one queue is not completed by a message in another queue."""
    group = popping(t, queues=2)
    pending = waiting(group, queue=0)
    group.fill(queue=1)
    t.wait(1)
    t.note("after a message of queue 1", pending.arrived())
    group.fill(queue=0)
    t.note("response", t.arrival(pending), 0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_wakes_only_the_held_notification_with_the_later_deadline(t: RemotingContext) -> None:
    """Of two waiting notifications of a group, a message completes only the one with the later deadline."""
    group = popping(t)
    early, late = waiting(group, poll_ms=4000), waiting(group, poll_ms=8000)
    watch = t.stopwatch()
    group.fill()
    t.note("late", t.arrival(late))
    t.note("after", watch.between(0, 2))
    t.note("early, meanwhile", early.arrived())
    t.note("early", t.arrival(early))
    t.note("after", watch.between(2.5, 6))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_wakes_a_held_pop_and_a_held_notification(t: RemotingContext) -> None:
    """A message completes a waiting notification and also wakes a waiting pop of the same group."""
    group = popping(t)
    pending = waiting(group, poll_ms=5000)
    pop = group.waiting()
    watch = t.stopwatch()
    group.fill()
    t.note("pop", t.arrival(pop).code)
    t.note("notification", t.arrival(pending).code)
    t.note("after", watch.between(0, 7))


@remoting_case("NotificationProcessor.hasMsgFromTopic")
def a_message_in_the_retry_topic_is_reported(t: RemotingContext) -> None:
    """A notification reports a message in the group's retry topic like any other."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    group.wait_until_committed(1)
    t.note("while it is out", notification(group), 0)
    group.wait_for_copies()
    t.note("when it is back", notification(group), 0)
    t.note("in the words of one queue", notification(group, queue=0), 0)


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def an_ordered_notification_ignores_a_blocked_queue(t: RemotingContext) -> None:
    """An ordered notification ignores a queue with an ordered batch in flight; an unordered one counts it."""
    group = popping(t, 2)
    group.pop_in_order(1, invisible_ms=60_000, attempt_id="a")
    t.note("in order", notification(group, order=True), 0)
    t.note("by the attempt", notification(group, order=True, attemptId="a"), 0)
    t.note("by another", notification(group, order=True, attemptId="b"), 0)
    t.note("without order", notification(group), 0)


@remoting_case("ConsumerOrderInfoLockManager.updateLockFreeTimestamp, NotificationProcessor.processRequest")
def an_unblocked_queue_wakes_a_held_ordered_notification(t: RemotingContext) -> None:
    """An ordered notification completes when the queue's batch is acknowledged or its invisible duration ends."""
    group = popping(t, 2)
    [handle] = group.handles_in_order(1, invisible_ms=60_000)
    pending = waiting(group, order=True)
    watch = t.stopwatch()
    group.ack(handle, 0)
    t.note_arrival(pending, watch, 0, 2, code=0)
    group.pop_in_order(1, invisible_ms=2000)
    watch = t.stopwatch()
    t.note_arrival(waiting(group, order=True), watch, 1.8, 4, code=0)


@remoting_case("NotificationProcessor.processRequest")
def an_invalid_topic_queue_or_group_is_refused(t: RemotingContext) -> None:
    """A notification is rejected for an unknown topic or queue, an illegal or disabled group, or a write-only topic."""
    group = popping(t)
    note_refused_places(group, notification, {9: 29, -5: 0}, unknown_group=0)


@remoting_case("NotificationProcessor.processRequest")
def a_notification_with_an_old_born_time_is_accepted(t: RemotingContext) -> None:
    """A notification with an old bornTime is accepted, unlike a pop. If its poll time is over, it is not held."""
    group = popping(t)
    t.note("60 s ago", notification(group, bornTime=t.now_ms() - 60_000, poll_ms=1000), 0)
    group.fill()
    t.note("with a message", notification(group, bornTime=t.now_ms() - 60_000, poll_ms=1000), 0)
    names = {"topic": group.topic, "consumerGroup": group.name}
    t.note("topic and group alone", t.request(RequestCode.NOTIFICATION, names), 0)
    t.note("no topic", t.request(RequestCode.NOTIFICATION, {"consumerGroup": group.name}), 1)
    t.note("no group", t.request(RequestCode.NOTIFICATION, {"topic": group.topic}), 1)


@remoting_case("PopLongPollingService.polling, PopRequest.isTimeout")
def a_notification_with_an_overflowing_deadline_returns_at_once(t: RemotingContext) -> None:
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
        t.note(what, t.arrival(asked, 5), 0)
        t.note("after", watch.between(0, 2))
    pending = waiting(group, poll_ms=2**62)
    group.fill()
    t.note("thousands of years", t.arrival(pending), 0)


@remoting_case("NotificationProcessor.processRequest", settings={"enableRetryTopicV2": "true"})
def messages_in_v1_and_v2_retry_topics_are_reported(t: RemotingContext) -> None:
    """With enableRetryTopicV2 a notification reports messages in the retry topic of either naming form."""
    first, second = popping(t), popping(t, 1)
    t.sent(t.topic(queues=1, name=first.retry_topic))
    second.pop(invisible_ms=0)
    second.wait_for_copies(v2=True)
    for form, group in ("first", first), ("second", second):
        t.note(f"{form} form", [notification(group)["hasMsg"] for _ in range(10)])


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_blocked_queue_hides_the_retry_queue_with_the_same_id(t: RemotingContext) -> None:
    """For an ordered notification, a queue with a batch in flight hides the retry queue of the same number as well."""
    for queue in range(2):
        group = popping(t, queues=2)
        group.fill(queue=queue)
        group.pop_in_order(1, queue=queue, invisible_ms=60_000)
        t.sent(t.topic(queues=1, name=group.retry_topic))
        t.note(f"queue {queue} is out, in order", notification(group, order=True), 0)
        t.note(f"queue {queue} is out, without", notification(group), 0)


@remoting_case("PopLongPollingService.polling", settings=shared_settings(NO_AUTO_CREATE, "popPollingSize"))
def notifications_beyond_pop_polling_size_are_refused(t: RemotingContext) -> None:
    """When more than popPollingSize notifications are held, further ones return POLLING_FULL at once."""
    group = popping(t)
    pending = [waiting(group, poll_ms=5000) for _ in range(3)]
    for number, each in enumerate(pending):
        t.note(f"notification {number + 1} at once", each.arrived())
    for number, each in enumerate(pending):
        t.note(f"notification {number + 1}", t.arrival(each))
