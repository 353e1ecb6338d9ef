"""Long polling of pops: duration of the wait, and wake-up."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.pending import Pending
from ...context.case_context import Stopwatch
from ...context.remoting import RemotingContext
from ...helpers.pops import popping
from ...helpers.settings import FURTHER_CHANGED_KEYS, NO_AUTO_CREATE, shared_settings
from .notification import waiting as waiting_notification
from .pop_retry import ONLY_V2


def note_woken(  # noqa: PLR0917 - two numbers and pairs: the ranges in order
    t: RemotingContext,
    pending: Pending,
    watch: Stopwatch,
    low: float = 0,
    high: float = 2,
    *others: tuple[float, float],
) -> None:
    """Record code and bodies of a response, and the first of the ranges (in s) that has its time.

    The ranges are `low` to `high` and then `others`.
    """
    response = t.arrival(pending)
    t.note("response", [response.code, response.bodies])
    t.note("after", watch.within((low, high), *others))


@remoting_case("PopLongPollingService.run")
def a_held_pop_returns_when_its_poll_time_ends(t: RemotingContext) -> None:
    """A waiting pop that finds nothing returns when its poll time ends."""
    group = popping(t)
    watch = t.stopwatch()
    t.note_arrival(group.waiting(poll_ms=3000), watch, 2.85, 4.5, code=210)


@remoting_case("PopLongPollingService.polling")
def a_pop_with_no_poll_time_returns_at_once(t: RemotingContext) -> None:
    """A pop with a poll time of 0 or less returns at once."""
    group = popping(t)
    for poll in (0, -1):
        watch = t.stopwatch()
        t.note(f"{poll} ms", group.pop(poll_ms=poll), 210)
        t.note("after", watch.between(0, 1))


@remoting_case("PopLongPollingService.polling")
def the_poll_time_is_counted_from_the_born_time(t: RemotingContext) -> None:
    """The poll time of a waiting pop is counted from its bornTime, not from its arrival."""
    group = popping(t)
    watch = t.stopwatch()
    pending = group.waiting(poll_ms=6000, bornTime=t.now_ms() - 4000)
    t.note_arrival(pending, watch, 1.8, 3.5, code=210)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_new_message_wakes_a_held_pop(t: RemotingContext) -> None:
    """A waiting pop returns a message as soon as it is stored."""
    group = popping(t)
    pending = group.waiting()
    watch = t.stopwatch()
    group.fill()
    t.note_arrival(pending, watch, 0, 2, code=0)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_in_any_queue_wakes_a_pop_held_for_all_queues(t: RemotingContext) -> None:
    """A pop waiting for all queues is woken by a message in any of them."""
    group = popping(t, queues=4)
    for queue in (3, 0):
        pending = group.waiting()
        watch = t.stopwatch()
        group.fill(queue=queue)
        response = t.arrival(pending)
        t.note(f"queue {queue}", [response.code, response["msgOffsetInfo"], watch.between(0, 2)])


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_in_another_queue_wakes_no_pop_held_for_one_queue(t: RemotingContext) -> None:
    """A pop waiting for one queue is woken by a message in that queue only."""
    group = popping(t, queues=2)
    pending = group.waiting(queue=0)
    group.fill(queue=1)
    t.wait(1)
    t.note("after a message of queue 1", pending.arrived())
    watch = t.stopwatch()
    group.fill(queue=0)
    note_woken(t, pending, watch)


@remoting_case("PopLongPollingService.wakeUp")
def a_message_with_another_tag_wakes_no_held_pop(t: RemotingContext) -> None:
    """A pop waiting with a tag is woken by a message with that tag only."""
    group = popping(t)
    group.fill(tag="A")
    group.pop()
    pending = group.waiting(expression="A")
    group.fill(tag="B")
    t.wait(1)
    t.note("after a message of tag B", pending.arrived())
    watch = t.stopwatch()
    group.fill(tag="A")
    note_woken(t, pending, watch)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def the_first_message_of_a_queue_with_another_tag_wakes_no_held_pop(t: RemotingContext) -> None:
    """A pop waiting with a tag on an empty queue is not woken by a first message with another tag."""
    group = popping(t)
    pending = group.waiting(expression="A")
    group.fill(tag="B")
    t.wait(1)
    t.note("after a message of tag B", [pending.arrived(), group.committed()])
    watch = t.stopwatch()
    group.fill(tag="A")
    note_woken(t, pending, watch)


@remoting_case("PopLongPollingService.wakeUp")
def a_tag_differing_only_in_case_wakes_no_held_pop(t: RemotingContext) -> None:
    """A pop without a matching message returns empty at its deadline.

    The group's offset is after the skipped messages.
    """
    group = popping(t)
    group.fill(tag="A")
    group.pop()
    watch = t.stopwatch()
    pending = group.waiting(expression="A", poll_ms=3000)
    group.fill(2, tag="a")
    t.note_arrival(pending, watch, 2.85, 4.5, code=210)
    t.note("committed", group.committed(), 0)


@remoting_case("PopLongPollingService.wakeUp")
def only_a_matching_message_wakes_a_pop_held_with_a_sql_filter(t: RemotingContext) -> None:
    """A pop waiting with an SQL92 expression is woken only by a message whose properties match."""
    group = popping(t, 1)
    group.pop()
    pending = group.waiting(expression="a = 1", type="SQL92")
    group.fill(properties={"a": "2"})
    t.wait(1)
    t.note("after a = 2", pending.arrived())
    watch = t.stopwatch()
    group.fill(properties={"a": "1"})
    note_woken(t, pending, watch)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def one_message_wakes_one_held_pop_of_a_group(t: RemotingContext) -> None:
    """Of two waiting pops of a group, one receives the message and the other waits until its deadline."""
    group = popping(t)
    watch = t.stopwatch()
    pops = [group.waiting(poll_ms=4000), group.waiting(poll_ms=4000)]
    group.fill()
    responses = [t.arrival(each) for each in pops]
    t.note("codes", sorted(response.code for response in responses))
    t.note("after", watch.between(3.8, 6))


@remoting_case("PopLongPollingService.notifyMessageArriving")
def one_message_wakes_a_held_pop_of_each_group(t: RemotingContext) -> None:
    """One message wakes a waiting pop of every group."""
    group = popping(t)
    pops = [each.waiting() for each in (group, group.with_group(t.group()))]
    watch = t.stopwatch()
    group.fill()
    for pending in pops:
        note_woken(t, pending, watch)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_wakes_pops_held_for_one_queue_and_for_all_queues(t: RemotingContext) -> None:
    """A message wakes a pop waiting for its queue and one waiting for all queues. Two messages serve both."""
    group = popping(t, queues=2)
    pops = [group.waiting(queue=1, max_messages=1), group.waiting(max_messages=1)]
    watch = t.stopwatch()
    group.fill(2, queue=1)
    found = [text for each in pops for text in t.arrival(each).bodies]
    t.note("messages", sorted(found))
    t.note("after", watch.between(0, 2.5))


@remoting_case("PopMessageProcessor.processRequest")
def messages_left_by_a_pop_wake_another_held_pop(t: RemotingContext) -> None:
    """A pop that leaves messages in the queue wakes another waiting pop."""
    group = popping(t)
    pops = [group.waiting(max_messages=1) for _ in range(3)]
    watch = t.stopwatch()
    group.fill(3)
    t.note("messages", sorted(text for each in pops for text in t.arrival(each).bodies))
    t.note("after", watch.between(0, 3))


@remoting_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic")
def a_redelivered_message_wakes_no_held_pop(t: RemotingContext) -> None:
    """A waiting pop is not woken by a message in the retry topic, but finds it when its poll time ends."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    watch = t.stopwatch()
    pending = group.waiting(poll_ms=8000)
    group.wait_for_copies()
    t.wait(0.5)
    t.note("when the copy is there", pending.arrived())
    note_woken(t, pending, watch, 7.8, 10, (2, 7))  # later versions wake it


@remoting_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic")
def a_pop_woken_by_a_new_message_returns_redelivered_messages_too(t: RemotingContext) -> None:
    """A waiting pop woken by a message of its topic returns the messages of the retry topic as well."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    pending = group.waiting(poll_ms=20_000)
    group.wait_for_copies()
    watch = t.stopwatch()
    group.fill()
    response = t.arrival(pending)
    t.note("reconsumptions", sorted(message.reconsume_times for message in response.messages))
    t.note("after", watch.between(0, 2))


@remoting_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic", settings=ONLY_V2)
def a_message_in_a_v2_retry_topic_wakes_a_held_pop(t: RemotingContext) -> None:
    """With enableRetryTopicV2 a waiting pop is woken when a message arrives in the retry topic."""
    group = popping(t, 1)
    group.pop(invisible_ms=0)
    watch = t.stopwatch()
    note_woken(t, group.waiting(poll_ms=20_000), watch, 1.5, 10)


@remoting_case(
    "PopLongPollingService.notifyMessageArriving",
    settings=shared_settings(FURTHER_CHANGED_KEYS, "popLongPollingForceNotifyInterval"),
)
def with_force_notify_interval_3_every_third_message_wakes_a_held_pop(t: RemotingContext) -> None:
    """With popLongPollingForceNotifyInterval=3 every third message wakes a waiting pop, even if filtered out."""
    group = popping(t)
    group.fill(tag="A")
    group.pop()
    group.wait_until_committed(1)
    pending = group.waiting(expression="A")
    for offset in (1, 2, 3, 4):
        group.fill(tag="B")
        t.wait(1)
        t.note(f"offset {offset}", [pending.arrived(), group.committed()["offset"]])
    watch = t.stopwatch()
    group.fill(tag="A")
    note_woken(t, pending, watch)


@remoting_case("DefaultMessageStore.notifyMessageArriveIfNecessary", settings={"longPollingEnable": "false"})
def no_message_wakes_a_held_pop_if_long_polling_is_disabled(t: RemotingContext) -> None:
    """With longPollingEnable=false pops and notifications are held, but report a message only at their deadline."""
    group = popping(t)
    watch = t.stopwatch()
    pops = [group.waiting(poll_ms=4000), waiting_notification(group.with_group(t.group()), poll_ms=4000)]
    group.fill()
    t.wait(1)
    t.note("after a message", [each.arrived() for each in pops])
    note_woken(t, pops[0], watch, 3.85, 6)
    t.note("notification", t.arrival(pops[1]), 0)


@remoting_case("ConsumerManager.registerConsumer, ConsumerManager.unregisterConsumer")
def registering_or_unregistering_consumers_wakes_no_held_pop(t: RemotingContext) -> None:
    """A waiting pop is not woken when consumers of its group register or unregister."""
    group = popping(t, queues=2)
    first, second = t.new("client"), t.new("client")
    of = {group.name: {group.topic: "*"}}
    t.heartbeat(first, groups=of)
    watch = t.stopwatch()
    pending = group.waiting(poll_ms=6000)
    connection = t.connect()
    t.heartbeat(second, groups=of, to=connection)
    t.wait(1)
    t.note("when one has joined", pending.arrived())
    t.request(RequestCode.UNREGISTER_CLIENT, {"clientID": second, "consumerGroup": group.name}, to=connection)
    t.disconnect(connection)
    t.wait(1)
    t.note("when it has left", pending.arrived())
    t.note_arrival(pending, watch, 5.85, 8, code=210)


@remoting_case("PopLongPollingService.polling", settings=shared_settings(NO_AUTO_CREATE, "popPollingSize"))
def pops_beyond_pop_polling_size_are_refused(t: RemotingContext) -> None:
    """When a queue has more than popPollingSize waiting pops, further ones return POLLING_FULL at once."""
    group = popping(t)
    pops = [group.waiting(poll_ms=6000) for _ in range(4)]
    for number, pending in enumerate(pops):
        t.note(f"pop {number + 1} at once", pending.arrived())
    other = group.with_group(t.group()).waiting(poll_ms=3000)
    t.note("another group", other.arrived())
    for number, pending in enumerate(pops):
        t.note(f"pop {number + 1}", t.arrival(pending).code)


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_held_pop_of_a_closed_connection_takes_no_message(t: RemotingContext) -> None:
    """A waiting pop of a closed connection does not take a message away from the next waiting pop."""
    group = popping(t)
    lost = t.connect()
    group.start_pop(poll_ms=15_000, to=lost)
    t.wait(0.3)
    t.disconnect(lost)
    t.wait(0.5)
    pending = group.waiting(poll_ms=8000)
    group.fill(2)
    response = t.arrival(pending)
    t.note("code", response.code)
    t.note("first message", response.bodies[:1])  # the second message may be included


@remoting_case("PopMessageProcessor.processRequest")
def a_held_pop_of_a_deleted_topic_returns_topic_not_exist(t: RemotingContext) -> None:
    """A pop waiting while its topic is deleted returns TOPIC_NOT_EXIST at its deadline."""
    group = popping(t)
    watch = t.stopwatch()
    pending = group.waiting(poll_ms=3000)
    t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": group.topic})
    t.note_arrival(pending, watch, 0, 6)


@remoting_case("PopMessageProcessor.processRequest")
def a_pop_for_0_messages_is_held_until_its_deadline(t: RemotingContext) -> None:
    """A pop for 0 messages waits although messages exist, and returns empty at its deadline."""
    group = popping(t, 2)
    watch = t.stopwatch()
    t.note_arrival(group.waiting(max_messages=0, poll_ms=2000), watch, 1.85, 3.5, code=210)
