"""END_TRANSACTION requests for a message that is not a half message, or for another half message."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting
from ...worlds.transactions import COMMIT, QUICK, ROLLBACK, checks, transacting


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def what_waits_for_its_time_cannot_be_ended(t: Remoting) -> None:
    """The end of an ordinary, a delayed or a timed message is rejected and changes nothing."""
    producers = transacting(t)
    for what, properties in (
        ("whole", {}),
        ("delayed", {"DELAY": "5"}),
        ("timed", {"TIMER_DELAY_MS": "60000"}),
    ):
        sent = t.send(producers.topic, what, properties=properties)
        for value in (COMMIT, ROLLBACK):
            t.see(f"{what}: {value}", producers.end(sent, value), 1)
    t.see("stored", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": producers.topic, "queueId": 0})["offset"])


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_names_one_half_message(t: Remoting) -> None:
    """An end with the log offset of one half message and the half topic offset of another is rejected."""
    producers = transacting(t)
    first, second = producers.half(), producers.half()
    for value in (COMMIT, ROLLBACK):
        t.see("mixed", producers.end(first, value, tranStateTableOffset=second["queueOffset"]), 1)
        t.see("before the queue", producers.end(first, value, tranStateTableOffset=-1), 1)
        t.see("before the log", producers.end(first, value, commitLogOffset=-1).code)


@remoting_case("TransactionalMessageServiceImpl.putBackHalfMsgQueue", settings=QUICK)
def a_commit_by_the_first_place_leaves_the_copy(t: Remoting) -> None:
    """After a check, a commit with the first copy's offsets stores the message, but the producer is checked again."""
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half()
    checks(t, connection)
    t.see("commit by the first place", producers.end(sent, COMMIT), 0)
    t.see("stored", t.stored(producers.topic, seconds=5).bodies)
    t.pushed(connection)
    last = checks(t, connection)[-1]
    t.see("commit by the last place", producers.end_of_check(last, COMMIT), 0)
    t.see("stored again", t.stored(producers.topic, 2, seconds=5).bodies)
    t.pushed(connection)
    t.wait(8)
    t.see("asked later", len(checks(t, connection, seconds=0)))


@remoting_case("EndTransactionProcessor.checkPrepareMessage", alone=True)
def what_was_committed_can_be_committed(t: Remoting) -> None:
    """A message stored by a commit is accepted as a half message: a commit of it stores another message."""
    producers = transacting(t)
    sent = producers.half()
    producers.end(sent, COMMIT)
    [stored] = t.stored(producers.topic).messages
    place = {"commitLogOffset": stored.physical_offset, "tranStateTableOffset": stored.queue_offset}
    t.see("commit of the commit", producers.end(sent, COMMIT, **place), 0)
    t.see("rollback of the commit", producers.end(sent, ROLLBACK, **place), 0)
    t.see("stored", t.stored(producers.topic, 2, seconds=5))


@remoting_case("EndTransactionProcessor.sendFinalMessage")
def a_commit_finds_its_topic_gone(t: Remoting) -> None:
    """A commit whose topic was deleted in the meantime succeeds, and the topic is not created again."""
    producers = transacting(t)
    sent = producers.half()
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": producers.topic}), 0)
    t.see("commit", producers.end(sent, COMMIT), 0)
    t.see("its topic", t.config_of(producers.topic), 17)
    t.see("pulled", t.pull(producers.topic, t.group()), 17)
