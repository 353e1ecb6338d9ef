"""Half messages without an end: the number of their checks, and their discard afterwards."""

from rocketmq_testkit.emulator.message.names import TRANS_CHECK_MAX_TIME_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.transactions import (
    COMMIT,
    FAST_CHECKS,
    FREQUENT_SCANS,
    ROLLBACK,
    TWO_CHECKS,
    check_number,
    checks,
    shown,
    transacting,
)

HOUR_MS = 3_600_000
KEPT_HOURS = 72
"""Default retention of messages in hours (fileReservedTime)."""


@remoting_case("TransactionalMessageServiceImpl.needDiscard", settings=TWO_CHECKS)
def checks_stop_after_transaction_check_max(t: RemotingContext) -> None:
    """After transactionCheckMax checks the message goes to TRANS_CHECK_MAX_TIME_TOPIC, and no more checks are sent."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half(tag="A", keys="k", properties={"color": "red"})
    t.note("discarded", [shown(message) for message in producers.discarded()])
    t.note("asked", [check_number(each) for each in checks(t, connection, 2, seconds=0)])
    t.wait(8)
    t.note("asked later", len(checks(t, connection, seconds=0)))
    t.note("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("TransactionalMessageServiceImpl.needDiscard", settings=FREQUENT_SCANS)
def a_half_message_is_checked_15_times_by_default(t: RemotingContext) -> None:
    """By default each half message is checked 15 times (transactionCheckMax) and is then discarded."""
    producers = transacting(t)
    connection = producers.connect()
    watch = t.stopwatch()
    for number in range(3):
        producers.half(f"half {number}")
    t.until(lambda: len(producers.discarded(0)) == 3, 90)
    # A busy broker sometimes checks more than once in a round.
    t.note("after", watch.between(6 + 15 / 2, 90))
    discarded = [
        [each.body, each.queue_id, each.properties["TRANSACTION_CHECK_TIMES"]] for each in producers.discarded(0)
    ]
    t.note("discarded", sorted(discarded))
    asked: dict[str, list[str]] = {}
    for check in checks(t, connection, seconds=0):
        [message] = decode_messages(check.body)
        asked.setdefault(message.body.decode(), []).append(check_number(check))
    t.note("asked", dict(sorted(asked.items())))


@remoting_case("TransactionalMessageBridge.parseHalfMessageInner", settings=TWO_CHECKS)
def a_timed_half_message_is_discarded_and_a_delayed_one_is_lost(t: RemotingContext) -> None:
    """A half message with a delivery time counts as a message of the half topic and is discarded.

    One with a delay level is lost.
    """
    producers = transacting(t)
    connection = producers.connect()
    for body, properties in (("delayed", {"DELAY": "1"}), ("timed", {"TIMER_DELAY_MS": "1500"})):
        producers.half(f"{body} {producers.topic}", properties=properties)

    def discarded() -> list[ReceivedMessage]:
        found = t.messages_of(TRANS_CHECK_MAX_TIME_TOPIC, t.group(name="cases-given-up"))
        return [each for each in found if producers.topic.encode() in each.body]

    t.until(discarded, 90)
    t.wait(4)
    t.note("discarded", [shown(each) for each in discarded()])
    asked = [[decode_messages(each.body)[0].body, check_number(each)] for each in checks(t, connection, seconds=0)]
    t.note("asked", sorted(asked))
    t.note("its topic", t.pull(producers.topic, t.group()), 19)


@remoting_case("AbstractTransactionalMessageCheckListener.sendCheckMessage", settings=TWO_CHECKS)
def checks_are_counted_without_connected_producers(t: RemotingContext) -> None:
    """A half message without connected producers is discarded after the same number of checks as any other."""
    producers = transacting(t)
    watch = t.stopwatch()  # before the send, so that the client's own delay does not count
    producers.half()
    t.note("discarded", [message.properties["TRANSACTION_CHECK_TIMES"] for message in producers.discarded()])
    # A busy broker's last check may follow in the round of the previous one, so two rounds suffice.
    t.note("after", watch.between(3.9, 40))
    late = producers.connect()
    t.wait(8)
    t.note("asked later", len(checks(t, late, seconds=0)))


@remoting_case("EndTransactionProcessor.checkPrepareMessage", settings=TWO_CHECKS)
def a_discarded_half_message_can_still_be_committed(t: RemotingContext) -> None:
    """A commit stores a discarded message for each of its offsets, also the one in TRANS_CHECK_MAX_TIME_TOPIC."""
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half()
    [discarded] = producers.discarded()
    check = checks(t, connection, 2, seconds=0)[-1]
    t.note("by its first place", producers.end(sent, COMMIT), 0)
    t.note("by its last check", producers.end_of_check(check, COMMIT), 0)
    place = {"commitLogOffset": discarded.physical_offset, "tranStateTableOffset": discarded.queue_offset}
    t.note("where it lies now", producers.end(sent, COMMIT, **place), 0)
    t.note("rolled back", producers.end(sent, ROLLBACK), 0)
    t.note("stored", t.stored(producers.topic, 3, seconds=5).bodies)


@remoting_case("TransactionalMessageServiceImpl.needSkip", settings=FAST_CHECKS)
def a_half_message_older_than_the_retention_is_discarded_unchecked(t: RemotingContext) -> None:
    """A half message born before the retention period is discarded in the first round without a check."""
    producers = transacting(t)
    connection = producers.connect()
    for body, hours in (("old", KEPT_HOURS + 1), ("not so old", KEPT_HOURS - 1)):
        producers.half(body, bornTimestamp=t.now_ms() - hours * HOUR_MS)
    t.note("discarded", [shown(message) for message in producers.discarded()])
    check = checks(t, connection)[0]
    t.note("asked for the other", check_number(check))
    t.note("rolled back", producers.end_of_check(check, ROLLBACK), 0)


@remoting_case("TransactionalMessageServiceImpl.needSkip", settings={**FAST_CHECKS, "fileReservedTime": "0"})
def with_file_reserved_time_0_half_messages_are_discarded_at_once(t: RemotingContext) -> None:
    """With fileReservedTime=0 every half message is discarded at once."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half()
    t.note("discarded", [message.properties["TRANSACTION_CHECK_TIMES"] for message in producers.discarded()])
    t.note("asked", len(checks(t, connection, seconds=0)))


@remoting_case("AdminBrokerProcessor.resumeCheckHalfMessage", settings=TWO_CHECKS)
def resume_check_half_message_checks_a_discarded_message_again(t: RemotingContext) -> None:
    """RESUME_CHECK_HALF_MESSAGE makes the broker check a discarded message again, as often as a new one."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half()
    [discarded] = producers.discarded()
    checks(t, connection, 2, seconds=0)
    resumed = t.request(
        RequestCode.RESUME_CHECK_HALF_MESSAGE, {"topic": producers.topic, "msgId": discarded.offset_message_id}
    )
    t.note("resumed", resumed, 0)
    [asked] = checks(t, connection)
    t.note("asked once more", check_number(asked))
    t.note("committed", producers.end_of_check(asked, COMMIT), 0)
    t.note("its topic", t.stored(producers.topic).bodies)


@remoting_case("AdminBrokerProcessor.resumeCheckHalfMessage")
def resume_check_half_message_with_an_unknown_id_is_rejected(t: RemotingContext) -> None:
    """RESUME_CHECK_HALF_MESSAGE with the id of no message, or without an id, is rejected."""
    ids = {"none": None, "short": "7F0000", "no number": "zz", "nowhere": "7F00000100002A9F00FFFFFFFFFFFFFF"}
    for label, id_ in ids.items():
        t.note(label, t.request(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"topic": "any", "msgId": id_}), 1)
