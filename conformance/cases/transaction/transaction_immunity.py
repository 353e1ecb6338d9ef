"""Immunity time of half messages: the time before their first check, and ends that come too late."""

from collections.abc import Mapping

from rocketmq_testkit.emulator.message.names import HALF_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient, decode_messages

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import records_since
from ...helpers.transactions import COMMIT, FAST_CHECKS, FREQUENT_SCANS, ROLLBACK, checks, transacting

USUAL_SECONDS = 20.0
CHECKED_AFTER_20_S = {"transactionCheckInterval": "1000", "transactionTimeOut": "20000", "transactionCheckMax": "1000"}
"""Check rounds run every second for half messages older than 20 s. Each round is counted."""
IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"
HOUR_MS = 3_600_000


def _note_early_checks(t: RemotingContext, connection: RemotingClient, sent_ms: Mapping[str, int]) -> None:
    """Record of each message whether its check comes before the usual 20 s. `sent_ms`: by body, ms since the epoch."""
    found: dict[str, str] = {}

    def look() -> bool:
        for check in checks(t, connection, seconds=0):
            [message] = decode_messages(check.body)
            body = message.body.decode()
            usual = t.now_ms() - sent_ms[body] >= USUAL_SECONDS * 1000
            found.setdefault(body, "as usual" if usual else "early")
        return found.keys() >= sent_ms.keys()

    t.until(look, USUAL_SECONDS + 20)
    t.note("asked", dict(sorted(found.items())))


@remoting_case("TransactionalMessageServiceImpl.check", settings=FREQUENT_SCANS)
def a_half_message_is_first_checked_after_6_seconds(t: RemotingContext) -> None:
    """By default a half message is not checked before it is 6 s old (transactionTimeOut)."""
    producers = transacting(t)
    connection = producers.connect()
    watch = t.stopwatch()
    producers.half()
    checks(t, connection, seconds=30)
    t.note("asked after", watch.between(6, 20))


@remoting_case("TransactionalMessageServiceImpl.check", settings=CHECKED_AFTER_20_S, tidy=True)
def a_half_message_with_a_future_born_time_is_checked_at_once(t: RemotingContext) -> None:
    """A half message whose born time lies in the future is checked at once."""
    producers = transacting(t)
    connection = producers.connect()
    sent_ms = {}
    for body, ahead in (("of the future", HOUR_MS), ("of now", 0)):
        sent_ms[body] = t.now_ms()
        producers.half(body, bornTimestamp=sent_ms[body] + ahead)
    _note_early_checks(t, connection, sent_ms)


@remoting_case("TransactionalMessageServiceImpl.getImmunityTime", settings=CHECKED_AFTER_20_S, tidy=True)
def a_short_immunity_time_leads_to_an_earlier_check(t: RemotingContext) -> None:
    """A short immunity time is applied as it is, a negative one as 0. Other values and -1 mean the default time."""
    producers = transacting(t)
    connection = producers.connect()
    sent_ms = {}
    for text in ("1", "0", "-5", "-1", "soon", "1.5", " "):
        body = f"{text!r}"
        sent_ms[body] = t.now_ms()
        producers.half(body, properties={IMMUNITY: text})
    _note_early_checks(t, connection, sent_ms)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=FAST_CHECKS)
def each_check_round_stores_an_immune_half_message_again(t: RemotingContext) -> None:
    """During its immunity time each check round stores a half message again, counted and with its first offset."""
    producers = transacting(t)
    sent = producers.half(producers.topic, properties={IMMUNITY: "60"})
    first = int(sent["queueOffset"])

    def stored() -> list[ReceivedMessage]:
        return records_since(t, HALF_TOPIC, 0, first, mark=producers.topic)

    t.until(lambda: len(stored()) > 3, 50)
    for label, message in zip(("sent", "first look", "second look", "third look"), stored(), strict=False):
        found = dict(message.properties)
        place = found.pop("TRAN_PREPARED_QUEUE_OFFSET", None)
        t.note(label, dict(sorted(found.items())))
        t.note("notes the first place", None if place is None else place == str(first))
    t.note("rollback", producers.end(sent, ROLLBACK), 0)


@remoting_case("TransactionalMessageUtil.getImmunityTime", settings={"transactionTimeOut": "15000"})
def an_end_is_accepted_until_transaction_timeout_despite_short_immunity(t: RemotingContext) -> None:
    """A half message with a short immunity time can be ended without a check until transactionTimeOut."""
    producers = transacting(t)
    early, late = (producers.half(each, properties={IMMUNITY: "1"}) for each in ("early", "late"))
    t.wait(2)
    t.note("after 2 s", producers.end(early, COMMIT), 0)
    t.wait(14)
    t.note("after 16 s", producers.end(late, COMMIT), 604)
    t.note("stored", t.stored(producers.topic, seconds=5).bodies)


@remoting_case("EndTransactionProcessor.rejectCommitOrRollback", settings=FAST_CHECKS)
def a_late_end_with_a_wrong_group_is_rejected_as_late(t: RemotingContext) -> None:
    """A late end is rejected as late even with a wrong group or half topic offset.

    An offset beyond the log has priority.
    """
    producers = transacting(t)
    late = producers.half(properties={IMMUNITY: "3"})
    t.wait(4)
    for value in (COMMIT, ROLLBACK):
        t.note("another group", producers.end(late, value, producerGroup=t.new("producer group")), 604)
        t.note("another place in the half topic", producers.end(late, value, tranStateTableOffset=1 << 40), 604)
        t.note("beyond the log", producers.end(late, value, commitLogOffset=1 << 40), 1)
    t.note("stored", t.pull(producers.topic, t.group()), 19)
    t.note("by a check", producers.end(late, ROLLBACK, fromTransactionCheck=True), 0)
