"""Ends of transactions for what never was a half message, or is another one."""

from rocketmq_testkit.remoting.request_code import RequestCode

from ..case import remoting_case
from ..worlds.remoting import Remoting
from ..worlds.transactions import COMMIT, QUICK, ROLLBACK, checks, end, end_of_check, half, producer_of


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def what_waits_for_its_time_cannot_be_ended(t: Remoting) -> None:
    """The end of a whole, a delayed or a timed message is refused, and changes nothing."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    for what, properties in (
        ("whole", {}),
        ("delayed", {"DELAY": "5"}),
        ("timed", {"TIMER_DELAY_MS": "60000"}),
    ):
        sent = t.send(topic, what, properties=properties)
        for value in (COMMIT, ROLLBACK):
            t.see(f"{what}: {value}", end(t, sent, producer, value), 1)
    t.see("stored", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 0})["offset"])


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_names_one_half_message(t: Remoting) -> None:
    """An end with the place in the log of one half message and the place in the half topic of another is refused."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    first, second = half(t, topic, producer), half(t, topic, producer)
    for value in (COMMIT, ROLLBACK):
        t.see("mixed", end(t, first, producer, value, tranStateTableOffset=second["queueOffset"]), 1)
        t.see("before the queue", end(t, first, producer, value, tranStateTableOffset=-1), 1)
        t.see("before the log", end(t, first, producer, value, commitLogOffset=-1).code)


@remoting_case("TransactionalMessageServiceImpl.putBackHalfMsgQueue", settings=QUICK)
def a_commit_by_the_first_place_leaves_the_copy(t: Remoting) -> None:
    """After a check, a commit that names where the message was first stores it, and its producer is asked again."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    connection = producer_of(t, producer)
    sent = half(t, topic, producer)
    checks(t, connection)
    t.see("commit by the first place", end(t, sent, producer, COMMIT), 0)
    t.see("stored", [message.body for message in t.stored(topic, seconds=5).messages])
    t.pushed(connection)
    last = checks(t, connection)[-1]
    t.see("commit by the last place", end_of_check(t, last, producer, COMMIT), 0)
    t.see("stored again", [message.body for message in t.stored(topic, 2, seconds=5).messages])
    t.pushed(connection)
    t.wait(8)
    t.see("asked later", len(checks(t, connection, seconds=0)))


@remoting_case("EndTransactionProcessor.checkPrepareMessage", alone=True)
def what_was_committed_can_be_committed(t: Remoting) -> None:
    """The message that a commit has stored passes for a half message: its own commit stores another."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer)
    end(t, sent, producer, COMMIT)
    [stored] = t.stored(topic).messages
    place = {"commitLogOffset": stored.physical_offset, "tranStateTableOffset": stored.queue_offset}
    t.see("commit of the commit", end(t, sent, producer, COMMIT, **place), 0)
    t.see("rollback of the commit", end(t, sent, producer, ROLLBACK, **place), 0)
    t.see("stored", t.stored(topic, 2, seconds=5))


@remoting_case("EndTransactionProcessor.sendFinalMessage")
def a_commit_finds_its_topic_gone(t: Remoting) -> None:
    """A commit whose topic was deleted meanwhile is taken, and the topic stays away."""
    topic, producer = t.topic(queues=1), t.new("producer group")
    sent = half(t, topic, producer)
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 0)
    t.see("commit", end(t, sent, producer, COMMIT), 0)
    t.see("its topic", t.config_of(topic), 17)
    t.see("pulled", t.pull(topic, t.group()), 17)
