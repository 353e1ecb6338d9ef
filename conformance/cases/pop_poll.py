"""Pops that wait: how long, and what wakes them."""

from typing import Any

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import copies, filled, texts
from ..worlds.remoting import Remoting
from ..worlds.world import Pending, Stopwatch

SECOND_FORM = {"enableRetryTopicV2": "true", "retrieveMessageFromPopRetryTopicV1": "false"}
"""Otherwise a pop reads the retry topic of the first form instead in half of all cases."""


def waiting(t: Remoting, topic: str, group: str, *, poll_ms: int = 10_000, **more: Any) -> Pending:
    """Begin a pop on a connection of its own, and return when it waits."""
    pending = t.start_pop(topic, group, poll_ms=poll_ms, to=t.connect(), **more)
    t.wait(0.3)
    return pending


def arrived(t: Remoting, pending: Pending, seconds: float = 25) -> Answer:
    """The answer as soon as it is there, so that a stopwatch shows when that was."""
    answer = t.until(pending.arrived, seconds)
    t.require(answer, "a waiting pop was never answered")
    assert answer is not None
    return answer


def see_woken(t: Remoting, pending: Pending, watch: Stopwatch, low: float = 0, high: float = 2) -> None:
    """Note the code and bodies of an answer, and whether it came between so many seconds."""
    answer = arrived(t, pending)
    t.see("answer", [answer.code, texts(answer)])
    t.see("after", watch.between(low, high))


@remoting_case("PopLongPollingService.run")
def an_empty_poll_ends_in_time(t: Remoting) -> None:
    """A pop that waits and finds nothing is answered when its time is over."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    t.see("answer", arrived(t, waiting(t, topic, group, poll_ms=3000)), 210)
    t.see("after", watch.between(2.85, 4.5))


@remoting_case("PopLongPollingService.polling")
def no_poll_time_does_not_wait(t: Remoting) -> None:
    """A pop with a poll time of 0 or less is answered at once."""
    topic, group = t.topic(queues=1), t.group()
    for poll in (0, -1):
        watch = t.stopwatch()
        t.see(f"{poll} ms", t.pop(topic, group, poll_ms=poll), 210)
        t.see("after", watch.between(0, 1))


@remoting_case("PopLongPollingService.polling")
def a_poll_is_counted_from_the_time_of_birth(t: Remoting) -> None:
    """A pop waits until its poll time after its birth is over, not after its arrival."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    pending = waiting(t, topic, group, poll_ms=6000, bornTime=t.now_ms() - 4000)
    t.see("answer", arrived(t, pending), 210)
    t.see("after", watch.between(1.8, 3.5))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_wakes_a_poll(t: Remoting) -> None:
    """A waiting pop gets a message as soon as it is stored."""
    topic, group = t.topic(queues=1), t.group()
    pending = waiting(t, topic, group)
    watch = t.stopwatch()
    t.sent(topic)
    t.see("answer", arrived(t, pending), 0)
    t.see("after", watch.between(0, 2))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def any_queue_wakes_a_poll_of_all(t: Remoting) -> None:
    """A pop that waits for all queues is woken by a message of any of them."""
    topic, group = t.topic(queues=4), t.group()
    for queue in (3, 0):
        pending = waiting(t, topic, group)
        watch = t.stopwatch()
        t.sent(topic, queue=queue)
        answer = arrived(t, pending)
        t.see(f"queue {queue}", [answer.code, answer["msgOffsetInfo"], watch.between(0, 2)])


@remoting_case("PopLongPollingService.notifyMessageArriving")
def another_queue_wakes_no_poll_of_one(t: Remoting) -> None:
    """A pop that waits for one queue is not woken by a message of another, and is by one of its own."""
    topic, group = t.topic(queues=2), t.group()
    pending = waiting(t, topic, group, queue=0)
    t.sent(topic, queue=1)
    t.wait(1)
    t.see("after a message of queue 1", pending.arrived())
    watch = t.stopwatch()
    t.sent(topic, queue=0)
    see_woken(t, pending, watch)


@remoting_case("PopLongPollingService.wakeUp")
def another_tag_wakes_no_poll(t: Remoting) -> None:
    """A pop that waits for a tag is not woken by a message of another tag, and is by one of its own."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, tag="A")  # the first message of a queue wakes everyone
    t.pop(topic, group)
    pending = waiting(t, topic, group, expression="A")
    t.sent(topic, tag="B")
    t.wait(1)
    t.see("after a message of tag B", pending.arrived())
    watch = t.stopwatch()
    t.sent(topic, tag="A")
    see_woken(t, pending, watch)


@remoting_case("PopLongPollingService.wakeUp")
def a_tag_that_only_looks_alike_wakes_no_poll(t: Remoting) -> None:
    """A pop whose filter does not match ends empty at its deadline, with the offset behind what it passed over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, tag="A")
    t.pop(topic, group)
    watch = t.stopwatch()
    pending = waiting(t, topic, group, expression="A", poll_ms=3000)
    t.sent(topic, 2, tag="a")
    t.see("answer", arrived(t, pending), 210)
    t.see("after", watch.between(2.85, 4.5))
    t.see("committed", t.committed(topic, group), 0)


@remoting_case("PopLongPollingService.wakeUp")
def a_sql_filter_wakes_by_properties(t: Remoting) -> None:
    """A pop that waits with an SQL92 expression is woken only by a message whose properties match."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group)
    pending = waiting(t, topic, group, expression="a = 1", type="SQL92")
    t.sent(topic, properties={"a": "2"})
    t.wait(1)
    t.see("after a = 2", pending.arrived())
    watch = t.stopwatch()
    t.sent(topic, properties={"a": "1"})
    see_woken(t, pending, watch)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def one_message_wakes_one_poll(t: Remoting) -> None:
    """Of two pops of a group that wait for the same, one gets the message and the other waits on to its deadline."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    pops = [waiting(t, topic, group, poll_ms=4000), waiting(t, topic, group, poll_ms=4000)]
    t.sent(topic)
    answers = [arrived(t, each) for each in pops]
    t.see("codes", sorted(answer.code for answer in answers))
    t.see("after", watch.between(3.8, 6))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def each_group_is_woken(t: Remoting) -> None:
    """One message wakes a waiting pop of every group."""
    topic, groups = t.topic(queues=1), [t.group(), t.group()]
    pops = [waiting(t, topic, group) for group in groups]
    watch = t.stopwatch()
    t.sent(topic)
    for pending in pops:
        see_woken(t, pending, watch)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def polls_of_one_queue_and_of_all_are_both_woken(t: Remoting) -> None:
    """A message wakes one pop that waits for its queue and one that waits for all; two messages serve both."""
    topic, group = t.topic(queues=2), t.group()
    pops = [waiting(t, topic, group, queue=1, max_messages=1), waiting(t, topic, group, max_messages=1)]
    watch = t.stopwatch()
    t.sent(topic, 2, queue=1)
    found = [text for each in pops for text in texts(arrived(t, each))]
    t.see("messages", sorted(found))
    t.see("after", watch.between(0, 2.5))


@remoting_case("PopMessageProcessor.processRequest")
def what_is_left_wakes_the_next_poll(t: Remoting) -> None:
    """A pop that leaves messages behind wakes another one that waits."""
    topic, group = t.topic(queues=1), t.group()
    pops = [waiting(t, topic, group, max_messages=1) for _ in range(3)]
    watch = t.stopwatch()
    t.sent(topic, 3)
    t.see("messages", sorted(text for each in pops for text in texts(arrived(t, each))))
    t.see("after", watch.between(0, 3))


@remoting_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic")
def a_copy_wakes_no_poll(t: Remoting) -> None:
    """A pop that waits is not woken when a message comes back, but finds it when its time is over."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    watch = t.stopwatch()
    pending = waiting(t, topic, group, poll_ms=8000)
    copies(t, topic, group)
    t.wait(0.5)
    t.see("when the copy is there", pending.arrived())
    see_woken(t, pending, watch, 7.8, 10)


@remoting_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic")
def a_new_message_brings_copies_along(t: Remoting) -> None:
    """A waiting pop that is woken by a message of its topic gets the copies of the retry topic as well."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    pending = waiting(t, topic, group, poll_ms=20_000)
    copies(t, topic, group)
    watch = t.stopwatch()
    t.sent(topic)
    answer = arrived(t, pending)
    t.see("reconsumptions", sorted(message.reconsume_times for message in answer.messages))
    t.see("after", watch.between(0, 2))


@remoting_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic", settings=SECOND_FORM)
def a_copy_of_the_second_form_wakes_a_poll(t: Remoting) -> None:
    """With enableRetryTopicV2 a waiting pop is woken when a message comes back."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    watch = t.stopwatch()
    see_woken(t, waiting(t, topic, group, poll_ms=20_000), watch, 1.5, 10)


@remoting_case("PopLongPollingService.polling", settings={"popPollingSize": "1"})
def too_many_polls_are_refused(t: Remoting) -> None:
    """When a queue has more than popPollingSize waiting pops, further ones are told so at once."""
    topic, group = t.topic(queues=1), t.group()
    pops = [waiting(t, topic, group, poll_ms=6000) for _ in range(4)]
    for number, pending in enumerate(pops):
        t.see(f"pop {number + 1} at once", pending.arrived())
    other = waiting(t, topic, t.group(), poll_ms=3000)
    t.see("another group", other.arrived())
    for number, pending in enumerate(pops):
        t.see(f"pop {number + 1}", arrived(t, pending).code)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_lost_connection_takes_no_message(t: Remoting) -> None:
    """A pop whose connection has gone does not keep a message from the next one that waits."""
    topic, group = t.topic(queues=1), t.group()
    lost = t.connect()
    t.start_pop(topic, group, poll_ms=15_000, to=lost)
    t.wait(0.3)
    t.disconnect(lost)
    t.wait(0.5)
    pending = waiting(t, topic, group, poll_ms=8000)
    t.sent(topic, 2)
    answer = arrived(t, pending)
    t.see("code", answer.code)
    t.see("last message", texts(answer)[-1:])


@remoting_case("PopMessageProcessor.processRequest")
def a_poll_of_a_deleted_topic_ends(t: Remoting) -> None:
    """A pop that waits when its topic is deleted is answered at its deadline."""
    topic, group = t.topic(queues=1), t.group()
    watch = t.stopwatch()
    pending = waiting(t, topic, group, poll_ms=3000)
    t.ask(215, {"topic": topic})
    t.see("answer", arrived(t, pending))
    t.see("after", watch.between(0, 6))


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_of_none_waits_in_vain(t: Remoting) -> None:
    """A pop of 0 messages waits, although there are some, and ends empty at its deadline."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    watch = t.stopwatch()
    t.see("answer", arrived(t, waiting(t, topic, group, max_messages=0, poll_ms=2000)), 210)
    t.see("after", watch.between(1.85, 3.5))
