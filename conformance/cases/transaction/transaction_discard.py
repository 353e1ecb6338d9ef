"""Half messages without an end: the number of checks, and what happens afterwards."""

from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import Remoting
from ...helpers.transactions import COMMIT, OFTEN, QUICK, ROLLBACK, TWO_CHECKS, checks, shown, times_asked, transacting

HOUR_MS = 3_600_000
KEPT_HOURS = 72
"""Default retention of messages in hours (fileReservedTime)."""


@remoting_case("TransactionalMessageServiceImpl.needDiscard", settings=TWO_CHECKS)
def a_producer_is_asked_as_often_as_allowed(t: Remoting) -> None:
    """After transactionCheckMax checks the message goes to TRANS_CHECK_MAX_TIME_TOPIC, and no more checks are sent."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half(tag="A", keys="k", properties={"color": "red"})
    t.see("put aside", [shown(message) for message in producers.given_up()])
    t.see("asked", [times_asked(each) for each in checks(t, connection, 2, seconds=0)])
    t.wait(8)
    t.see("asked later", len(checks(t, connection, seconds=0)))
    t.see("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("TransactionalMessageServiceImpl.needDiscard", settings=OFTEN)
def a_producer_is_asked_fifteen_times(t: Remoting) -> None:
    """By default each half message is checked 15 times (transactionCheckMax) and is then given up."""
    producers = transacting(t)
    connection = producers.connect()
    watch = t.stopwatch()
    for number in range(3):
        producers.half(f"half {number}")
    t.until(lambda: len(producers.given_up(0)) == 3, 90)
    # # A busy broker sometimes checks more than once in a round.
    t.see("after", watch.between(6 + 15 / 2, 90))
    aside = [[each.body, each.queue_id, each.properties["TRANSACTION_CHECK_TIMES"]] for each in producers.given_up(0)]
    t.see("put aside", sorted(aside))
    asked: dict[str, list[str]] = {}
    for check in checks(t, connection, seconds=0):
        [message] = decode_messages(check.body)
        asked.setdefault(message.body.decode(), []).append(times_asked(check))
    t.see("asked", dict(sorted(asked.items())))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner", settings=TWO_CHECKS)
def a_half_message_that_waited_for_its_time_is_put_aside(t: Remoting) -> None:
    """A half message with a delivery time counts as a message of the half topic and is given up.

    One with a delay level is lost.
    """
    producers = transacting(t)
    connection = producers.connect()
    for body, properties in (("delayed", {"DELAY": "1"}), ("timed", {"TIMER_DELAY_MS": "1500"})):
        producers.half(f"{body} {producers.topic}", properties=properties)

    def aside() -> list[ReceivedMessage]:
        found = t.messages_of(TRANS_CHECK_MAX_TIME_TOPIC, t.group(name="cases-given-up"))
        return [each for each in found if producers.topic.encode() in each.body]

    t.until(aside, 90)
    t.wait(4)
    t.see("put aside", [shown(each) for each in aside()])
    asked = [[decode_messages(each.body)[0].body, times_asked(each)] for each in checks(t, connection, seconds=0)]
    t.see("asked", sorted(asked))
    t.see("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("AbstractTransactionalMessageCheckListener.sendCheckMessage", settings=TWO_CHECKS)
def checks_count_though_nobody_can_be_asked(t: Remoting) -> None:
    """A half message without connected producers is given up after the same number of checks as any other."""
    producers = transacting(t)
    watch = t.stopwatch()  # before the send, so that the client's own delay does not count
    producers.half()
    t.see("put aside", [message.properties["TRANSACTION_CHECK_TIMES"] for message in producers.given_up()])
    # # A busy broker's last check may follow in the round of the previous one, so two rounds suffice.
    t.see("after", watch.between(3.9, 40))
    late = producers.connect()
    t.wait(8)
    t.see("asked later", len(checks(t, late, seconds=0)))


@remoting_case("EndTransactionProcessor.checkPrepareMessage", settings=TWO_CHECKS)
def what_was_put_aside_can_be_committed(t: Remoting) -> None:
    """A commit stores a given-up message for each of its offsets, also the one in TRANS_CHECK_MAX_TIME_TOPIC."""
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half()
    [aside] = producers.given_up()
    check = checks(t, connection, 2, seconds=0)[-1]
    t.see("by its first place", producers.end(sent, COMMIT), 0)
    t.see("by its last check", producers.end_of_check(check, COMMIT), 0)
    place = {"commitLogOffset": aside.physical_offset, "tranStateTableOffset": aside.queue_offset}
    t.see("where it lies now", producers.end(sent, COMMIT, **place), 0)
    t.see("rolled back", producers.end(sent, ROLLBACK), 0)
    t.see("stored", t.stored(producers.topic, 3, seconds=5).bodies)


@remoting_case("TransactionalMessageServiceImpl.needSkip", settings=QUICK)
def a_message_that_is_too_old_is_put_aside(t: Remoting) -> None:
    """A half message born before the retention period is given up in the first round without a check."""
    producers = transacting(t)
    connection = producers.connect()
    for body, hours in (("old", KEPT_HOURS + 1), ("not so old", KEPT_HOURS - 1)):
        producers.half(body, bornTimestamp=t.now_ms() - hours * HOUR_MS)
    t.see("put aside", [shown(message) for message in producers.given_up()])
    check = checks(t, connection)[0]
    t.see("asked for the other", times_asked(check))
    t.see("rolled back", producers.end_of_check(check, ROLLBACK), 0)


@remoting_case("TransactionalMessageServiceImpl.needSkip", settings={**QUICK, "fileReservedTime": "0"})
def nothing_may_be_kept(t: Remoting) -> None:
    """With fileReservedTime=0 every half message is given up at once."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half()
    t.see("put aside", [message.properties["TRANSACTION_CHECK_TIMES"] for message in producers.given_up()])
    t.see("asked", len(checks(t, connection, seconds=0)))


@remoting_case("AdminBrokerProcessor.resumeCheckHalfMessage", settings=TWO_CHECKS)
def what_was_put_aside_can_be_asked_for_again(t: Remoting) -> None:
    """RESUME_CHECK_HALF_MESSAGE makes the broker check a given-up message again, as often as a new one."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half()
    [aside] = producers.given_up()
    checks(t, connection, 2, seconds=0)
    resumed = t.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"topic": producers.topic, "msgId": aside.offset_message_id})
    t.see("resumed", resumed, 0)
    [asked] = checks(t, connection)
    t.see("asked once more", times_asked(asked))
    t.see("committed", producers.end_of_check(asked, COMMIT), 0)
    t.see("its topic", t.stored(producers.topic).bodies)


@remoting_case("AdminBrokerProcessor.resumeCheckHalfMessage")
def what_is_not_there_cannot_be_asked_for_again(t: Remoting) -> None:
    """RESUME_CHECK_HALF_MESSAGE with the id of no message, or without an id, is rejected."""
    ids = {"none": None, "short": "7F0000", "no number": "zz", "nowhere": "7F00000100002A9F00FFFFFFFFFFFFFF"}
    for label, id_ in ids.items():
        t.see(label, t.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"topic": "any", "msgId": id_}), 1)
