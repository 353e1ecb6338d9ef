"""END_TRANSACTION requests for a message that is not a half message, or for another half message."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.transactions import COMMIT, FAST_CHECKS, ROLLBACK, checks, transacting


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_of_an_ordinary_delayed_or_timed_message_is_rejected(t: RemotingContext) -> None:
    """The end of an ordinary, a delayed or a timed message is rejected and changes nothing."""
    producers = transacting(t)
    for what, properties in (
        ("whole", {}),
        ("delayed", {"DELAY": "5"}),
        ("timed", {"TIMER_DELAY_MS": "60000"}),
    ):
        sent = t.send(producers.topic, what, properties=properties)
        for value in (COMMIT, ROLLBACK):
            t.note(f"{what}: {value}", producers.end(sent, value), 1)
    t.note("stored", t.request(RequestCode.GET_MAX_OFFSET, {"topic": producers.topic, "queueId": 0})["offset"])


@remoting_case("EndTransactionProcessor.checkPrepareMessage")
def an_end_with_offsets_of_two_half_messages_is_rejected(t: RemotingContext) -> None:
    """An end with the log offset of one half message and the half topic offset of another is rejected."""
    producers = transacting(t)
    first, second = producers.half(), producers.half()
    for value in (COMMIT, ROLLBACK):
        t.note("mixed", producers.end(first, value, tranStateTableOffset=second["queueOffset"]), 1)
        t.note("before the queue", producers.end(first, value, tranStateTableOffset=-1), 1)
        t.note("before the log", producers.end(first, value, commitLogOffset=-1).code)


@remoting_case("TransactionalMessageServiceImpl.putBackHalfMsgQueue", settings=FAST_CHECKS)
def a_commit_with_the_first_offsets_after_a_check_does_not_stop_checks(t: RemotingContext) -> None:
    """After a check, a commit with the first copy's offsets stores the message, but the producer is checked again."""
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half()
    checks(t, connection)
    t.note("commit by the first place", producers.end(sent, COMMIT), 0)
    t.note("stored", t.stored(producers.topic, seconds=5).bodies)
    t.pushed(connection)
    last = checks(t, connection)[-1]
    t.note("commit by the last place", producers.end_of_check(last, COMMIT), 0)
    t.note("stored again", t.stored(producers.topic, 2, seconds=5).bodies)
    t.pushed(connection)
    t.wait(8)
    t.note("asked later", len(checks(t, connection, seconds=0)))


@remoting_case("EndTransactionProcessor.checkPrepareMessage", alone=True)
def a_committed_message_can_be_ended_again_only_with_real_topic_property(t: RemotingContext) -> None:
    """A message stored by a commit is accepted as a half message: a commit of it stores another message."""
    producers = transacting(t)
    sent = producers.half()
    producers.end(sent, COMMIT)
    [stored] = t.stored(producers.topic).messages
    place = {"commitLogOffset": stored.physical_offset, "tranStateTableOffset": stored.queue_offset}
    t.note("commit of the commit", producers.end(sent, COMMIT, **place), 0)
    t.note("rollback of the commit", producers.end(sent, ROLLBACK, **place), 0)
    t.note("stored", t.stored(producers.topic, 2, seconds=5))


@remoting_case("EndTransactionProcessor.sendFinalMessage")
def a_commit_does_not_recreate_its_deleted_topic(t: RemotingContext) -> None:
    """A commit whose topic was deleted in the meantime succeeds, and the topic is not created again."""
    producers = transacting(t)
    sent = producers.half()
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": producers.topic}), 0)
    t.note("commit", producers.end(sent, COMMIT), 0)
    t.note("its topic", t.config_of(producers.topic), 17)
    t.note("pulled", t.pull(producers.topic, t.group()), 17)
