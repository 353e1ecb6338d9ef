"""Transaction checks of half messages: the producers that receive them, their times and their number."""

from rocketmq_testkit.emulator.message.names import HALF_TOPIC, OP_HALF_TOPIC, TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.remoting.client import decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.transactions import COMMIT, FAST_CHECKS, ROLLBACK, check_number, check_shown, checks, shown, transacting

ONE_CHECK = {**FAST_CHECKS, "transactionCheckMax": "1"}


@remoting_case("AbstractTransactionalMessageCheckListener.sendCheckMessage", settings=FAST_CHECKS)
def an_unended_half_message_is_checked_and_committed_by_its_producer(t: RemotingContext) -> None:
    """The broker sends a check for an unended half message to a producer of its group.

    A commit in response stores the message.
    """
    producers = transacting(t, queues=2)
    connection = producers.connect()
    watch = t.stopwatch()
    producers.half(queue=1, tag="A", keys="k")
    [check] = checks(t, connection)
    t.note("asked after", watch.between(1, 9))
    t.note("asked", check_shown(check))
    t.note("commit", producers.end_of_check(check, COMMIT), 0)
    response = t.note("stored", t.stored(producers.topic, queue=1, seconds=5), 0)
    asked = check.ext_fields or {}
    t.note("names the copy", response.messages[0].prepared_transaction_offset == int(asked["commitLogOffset"]))


@remoting_case("TransactionalMessageServiceImpl.check", settings=FAST_CHECKS)
def checks_of_a_half_message_are_repeated_until_its_end(t: RemotingContext) -> None:
    """The broker repeats and counts the checks of a half message until its producer ends it."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half()
    times = []
    for _ in range(2):
        check = checks(t, connection)[-1]
        times.append(check_number(check))
    t.note("times", times)
    t.note("rollback", producers.end_of_check(check, ROLLBACK), 0)
    t.wait(1)
    t.pushed(connection)
    t.wait(6)
    t.note("asked after the rollback", len(checks(t, connection, seconds=0)))


@remoting_case("TransactionalMessageServiceImpl.putBackHalfMsgQueue", settings=FAST_CHECKS)
def each_check_has_the_offsets_of_a_newly_stored_half_message(t: RemotingContext) -> None:
    """Before each check the half message is stored again.

    The check names the new copy by log offset, half topic offset and id.
    """
    producers = transacting(t)
    connection = producers.connect()
    places = [int(producers.half()["queueOffset"])]
    for label in ("first", "second"):
        check = checks(t, connection, seconds=60)[0]
        asked = check.ext_fields or {}
        log, place = int(asked["commitLogOffset"]), int(asked["tranStateTableOffset"])
        copy = t.message_at(HALF_TOPIC, 0, place)
        [along] = decode_messages(check.body)
        t.note(f"{label}: stored as", shown(copy))
        t.note("later than before", place > places[-1])
        t.note("in the log", copy.physical_offset == log)
        t.note("by its id", int(asked["offsetMsgId"][-16:], 16) == log)
        t.note("by the message that comes along", [along.queue_offset == place, along.physical_offset == log])
        places.append(place)
    t.note("rollback", producers.end_of_check(check, ROLLBACK), 0)


@remoting_case("TransactionalMessageServiceImpl.check", settings=FAST_CHECKS)
def a_committed_or_rolled_back_half_message_is_not_checked(t: RemotingContext) -> None:
    """The broker sends no check for a half message that was committed or rolled back."""
    producers = transacting(t)
    connection = producers.connect()
    for value in (COMMIT, ROLLBACK):
        producers.end(producers.half(), value)
    t.wait(9)
    t.note("asked", len(checks(t, connection, seconds=0)))


@remoting_case("ProducerManager.getAvailableChannel", settings=FAST_CHECKS)
def each_check_is_sent_to_one_producer_of_the_group(t: RemotingContext) -> None:
    """The broker sends each check to one producer of the group, and to no producer of another group."""
    producers = transacting(t)
    both = [producers.connect(), producers.connect()]
    stranger = transacting(t).connect()
    producers.half()
    asked: list[int] = [0, 0]

    def look() -> bool:
        for number, connection in enumerate(both):
            asked[number] += len(checks(t, connection, seconds=0))
        return any(asked)

    t.until(look, 15)
    t.note("asked", sum(asked))
    t.note("strangers asked", len(checks(t, stranger, seconds=0)))


@remoting_case("AbstractTransactionalMessageCheckListener.sendCheckMessage", settings=FAST_CHECKS)
def a_producer_that_connects_later_gets_the_check(t: RemotingContext) -> None:
    """If a half message's producer has disconnected, a producer of its group that connects later gets the check."""
    producers = transacting(t)
    gone = producers.connect()
    producers.half()
    t.disconnect(gone)
    t.wait(5)
    connection = producers.connect()
    watch = t.stopwatch()
    [check] = checks(t, connection)
    t.note("asked after", watch.between(0, 5))
    t.note("rollback", producers.end_of_check(check, ROLLBACK), 0)


@remoting_case("ProducerManager.registerProducer", settings=FAST_CHECKS)
def a_reconnected_producer_gets_another_check(t: RemotingContext) -> None:
    """A producer that reconnects with its old client id is checked again.

    It can still commit with the data of the first check.
    """
    producers, client = transacting(t), t.new("client")
    before = producers.connect(client)
    producers.half()
    first = checks(t, before)[0]
    t.note("asked", check_number(first))
    t.disconnect(before)
    t.wait(4)
    again = checks(t, producers.connect(client))[0]
    t.note("asked again", int(check_number(again)) > int(check_number(first)))
    t.note("commit by the first check", producers.end_of_check(first, COMMIT), 0)
    t.note("stored", t.stored(producers.topic, seconds=5).bodies)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=FAST_CHECKS)
def a_half_message_is_not_checked_during_its_immunity_time(t: RemotingContext) -> None:
    """A half message with CHECK_IMMUNITY_TIME_IN_SECONDS is not checked during that time."""
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half(properties={"CHECK_IMMUNITY_TIME_IN_SECONDS": "60"})
    t.wait(8)
    t.note("asked", len(checks(t, connection, seconds=0)))
    t.note("rollback", producers.end(sent, ROLLBACK), 0)


@remoting_case("EndTransactionProcessor.rejectCommitOrRollback", settings=FAST_CHECKS)
def an_end_after_the_immunity_time_is_rejected_without_a_check(t: RemotingContext) -> None:
    """After its immunity time a half message can be ended only in response to a check."""
    producers = transacting(t)
    early = producers.half(properties={"CHECK_IMMUNITY_TIME_IN_SECONDS": "3"})
    t.note("in time", producers.end(early, COMMIT), 0)
    late = producers.half(properties={"CHECK_IMMUNITY_TIME_IN_SECONDS": "3"})
    t.wait(4)
    t.note("too late", producers.end(late, COMMIT), 604)
    t.note("too late to roll back", producers.end(late, ROLLBACK), 604)
    t.note("by a check", producers.end(late, COMMIT, fromTransactionCheck=True), 0)


@remoting_case("TransactionalMessageServiceImpl.check", settings=ONE_CHECK)
def a_half_message_is_discarded_after_transaction_check_max_checks(t: RemotingContext) -> None:
    """After transactionCheckMax checks a half message goes to TRANS_CHECK_MAX_TIME_TOPIC."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half(tag="A")
    given_up = t.stored(TRANS_CHECK_MAX_TIME_TOPIC, seconds=19).messages
    t.note("asked", len(checks(t, connection, seconds=0)))
    t.note("given up", [shown(message) for message in given_up])


@remoting_case("TransactionalOpBatchService.onWaitEnd", alone=True)
def several_ends_are_stored_in_one_op_message(t: RemotingContext) -> None:
    """Ends of half messages are stored in RMQ_SYS_TRANS_OP_HALF_TOPIC, several in one op message."""
    producers = transacting(t)
    for value in (COMMIT, ROLLBACK, COMMIT):
        producers.end(producers.half(), value)
    found = t.stored(OP_HALF_TOPIC, seconds=10).messages
    t.note("written", [shown(message) for message in found])
    halves = t.request(RequestCode.GET_MAX_OFFSET, {"topic": HALF_TOPIC, "queueId": 0})
    t.note("half messages", halves, 0)


@remoting_case("TransactionalMessageCheckService.run")
def check_rounds_run_every_30_seconds(t: RemotingContext) -> None:
    """Check rounds run every 30 s.

    The first round that finds a half message older than 6 s checks it, and so does the next one.
    """
    producers = transacting(t)
    connection = producers.connect()
    watch = t.stopwatch()
    producers.half()
    t.note("times", [check_number(each) for each in checks(t, connection, seconds=40)])
    t.note("asked after", watch.between(6, 38))
    watch = t.stopwatch()
    t.note("times", [check_number(each) for each in checks(t, connection, seconds=40)])
    t.note("asked again after", watch.between(28, 34))
