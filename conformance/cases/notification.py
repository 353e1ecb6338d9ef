"""Waiting until a pop would find something."""

from typing import Any

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import committed, copies, filled
from ..worlds.remoting import Remoting
from ..worlds.world import Pending
from .pop_order import order_pop
from .pop_poll import arrived

NOTIFICATION = 200054


def notification_fields(
    t: Remoting, topic: str, group: str, *, queue: int = -1, poll_ms: int = 0, **fields: object
) -> dict[str, object]:
    """The ext fields of a notification."""
    ext = {"consumerGroup": group, "topic": topic, "queueId": queue, "pollTime": poll_ms, "bornTime": t.now_ms()}
    return {**ext, "order": False, **fields}


def notification(t: Remoting, topic: str, group: str, **more: Any) -> Answer:
    """Ask whether there are messages."""
    return t.ask(NOTIFICATION, notification_fields(t, topic, group, **more))


def waiting(t: Remoting, topic: str, group: str, *, poll_ms: int = 10_000, **more: Any) -> Pending:
    """Begin a notification on a connection of its own, and return when it waits."""
    pending = t.start(NOTIFICATION, notification_fields(t, topic, group, poll_ms=poll_ms, **more), to=t.connect())
    t.wait(0.3)
    return pending


@remoting_case("NotificationProcessor.processRequest")
def a_backlog_is_told_at_once(t: Remoting) -> None:
    """A notification is answered at once with yes as long as a pop would find something."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.see("a message is there", notification(t, topic, group), 0)
    t.see("and is not taken", notification(t, topic, group, poll_ms=5000), 0)
    t.pop(topic, group)
    committed(t, topic, group, 1)
    t.see("popped", notification(t, topic, group), 0)


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_queue_is_asked_for_alone(t: Remoting) -> None:
    """A notification for one queue does not look at the others."""
    topic, group = t.topic(queues=2), t.group()
    filled(t, topic, queue=1)
    t.see("queue 0", notification(t, topic, group, queue=0), 0)
    t.see("queue 1", notification(t, topic, group, queue=1), 0)
    t.see("all", notification(t, topic, group), 0)


@remoting_case("PopLongPollingService.run")
def an_empty_wait_ends_with_no(t: Remoting) -> None:
    """A notification that waits in vain is answered with no when its time is over."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    t.see("answer", arrived(t, waiting(t, topic, group, poll_ms=3000)), 0)
    t.see("after", watch.between(2.85, 4.5))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_ends_the_wait(t: Remoting) -> None:
    """A waiting notification is answered with yes as soon as a message is stored."""
    topic, group = t.topic(queues=2), t.group()
    pending = waiting(t, topic, group)
    watch = t.stopwatch()
    t.sent(topic, queue=1)
    t.see("answer", arrived(t, pending), 0)
    t.see("after", watch.between(0, 2))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def another_queue_does_not_end_the_wait(t: Remoting) -> None:
    """A notification that waits for one queue is not answered for a message of another."""
    topic, group = t.topic(queues=2), t.group()
    pending = waiting(t, topic, group, queue=0)
    t.sent(topic, queue=1)
    t.wait(1)
    t.see("after a message of queue 1", pending.arrived())
    t.sent(topic, queue=0)
    t.see("answer", arrived(t, pending), 0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_ends_one_wait_of_a_group(t: Remoting) -> None:
    """Of two notifications of a group one is told of a message at once, the one with the later deadline."""
    topic, group = t.topic(queues=1), t.group()
    early, late = waiting(t, topic, group, poll_ms=4000), waiting(t, topic, group, poll_ms=8000)
    watch = t.stopwatch()
    t.sent(topic)
    t.see("late", arrived(t, late))
    t.see("after", watch.between(0, 2))
    t.see("early, meanwhile", early.arrived())
    t.see("early", arrived(t, early))
    t.see("after", watch.between(2.5, 6))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def pops_and_notifications_are_both_woken(t: Remoting) -> None:
    """A message is told to a waiting notification and given to a waiting pop of the same group."""
    topic, group = t.topic(queues=1), t.group()
    pending = waiting(t, topic, group, poll_ms=5000)
    pop = t.start_pop(topic, group, poll_ms=10_000, to=t.connect())
    t.wait(0.3)
    watch = t.stopwatch()
    t.sent(topic)
    t.see("pop", arrived(t, pop).code)
    t.see("notification", arrived(t, pending).code)
    t.see("after", watch.between(0, 7))


@remoting_case("NotificationProcessor.hasMsgFromTopic")
def a_copy_counts(t: Remoting) -> None:
    """A message in the retry topic of the group is told like any other."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    committed(t, topic, group, 1)
    t.see("while it is out", notification(t, topic, group), 0)
    copies(t, topic, group)
    t.see("when it is back", notification(t, topic, group), 0)
    t.see("in the words of one queue", notification(t, topic, group, queue=0), 0)


@remoting_case("NotificationProcessor.hasMsgFromQueue")
def a_blocked_queue_counts_as_empty(t: Remoting) -> None:
    """A notification in order does not count a queue whose batch is out, and one without order does."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    order_pop(t, topic, group, 1, invisible_ms=60_000, attempt_id="a")
    t.see("in order", notification(t, topic, group, order=True), 0)
    t.see("by the attempt", notification(t, topic, group, order=True, attemptId="a"), 0)
    t.see("by another", notification(t, topic, group, order=True, attemptId="b"), 0)
    t.see("without order", notification(t, topic, group), 0)


@remoting_case("ConsumerOrderInfoLockManager, NotificationProcessor")
def a_free_queue_ends_the_wait(t: Remoting) -> None:
    """A notification in order is answered when the batch of its queue has been acknowledged or is over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    [(_, handle)] = t.popped(order_pop(t, topic, group, 1, invisible_ms=60_000))
    pending = waiting(t, topic, group, order=True)
    watch = t.stopwatch()
    t.ack(topic, group, handle, 0)
    t.see("answer", arrived(t, pending), 0)
    t.see("after", watch.between(0, 2))
    order_pop(t, topic, group, 1, invisible_ms=2000)
    watch = t.stopwatch()
    t.see("answer", arrived(t, waiting(t, topic, group, order=True)), 0)
    t.see("after", watch.between(1.8, 4))


@remoting_case("NotificationProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """A notification is refused for an unknown topic, queue or group, and where reading is not allowed."""
    topic, group = t.topic(queues=1), t.group()
    t.see("unknown topic", notification(t, t.new(), group), 17)
    t.see("queue 9", notification(t, topic, group, queue=9), 29)
    t.see("queue -5", notification(t, topic, group, queue=-5), 0)
    t.see("illegal group", notification(t, topic, "bad!"), 26)
    t.see("unknown group", notification(t, topic, t.new("group")), 0)
    t.see("write only", notification(t, t.topic(queues=1, perm=2), group), 16)
    t.see("disabled group", notification(t, topic, t.group(consumeEnable=False)), 16)


@remoting_case("NotificationProcessor.processRequest")
def age_does_not_matter(t: Remoting) -> None:
    """An old notification is answered, unlike an old pop; without time left it does not wait."""
    topic, group = t.topic(queues=1), t.group()
    t.see("60 s ago", notification(t, topic, group, bornTime=t.now_ms() - 60_000, poll_ms=1000), 0)
    filled(t, topic)
    t.see("with a message", notification(t, topic, group, bornTime=t.now_ms() - 60_000, poll_ms=1000), 0)
    t.see("topic and group alone", t.ask(NOTIFICATION, {"topic": topic, "consumerGroup": group}), 0)
    t.see("no topic", t.ask(NOTIFICATION, {"consumerGroup": group}), 1)
    t.see("no group", t.ask(NOTIFICATION, {"topic": topic}), 1)


@remoting_case("PopLongPollingService.polling", settings={"popPollingSize": "1"})
def too_many_waits_are_refused(t: Remoting) -> None:
    """When more than popPollingSize notifications wait, further ones are answered at once that it is full."""
    topic, group = t.topic(queues=1), t.group()
    pending = [waiting(t, topic, group, poll_ms=5000) for _ in range(3)]
    for number, each in enumerate(pending):
        t.see(f"notification {number + 1} at once", each.arrived())
    for number, each in enumerate(pending):
        t.see(f"notification {number + 1}", arrived(t, each))
