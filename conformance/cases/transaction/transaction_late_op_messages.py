"""Half messages with an immunity time whose op message is stored only after a check round has stored them again."""

from rocketmq_testkit.emulator.message.names import HALF_TOPIC

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.transactions import COMMIT, ROLLBACK, checks, transacting

_LOOKS = {"transactionCheckInterval": "1000", "transactionTimeOut": "1000", "transactionCheckMax": "14"}
"""Check rounds run every second, and a half message is discarded after 14 of them."""
OP_MESSAGES_LATE = {**_LOOKS, "transactionOpBatchInterval": "6000"}
"""Op messages are stored after 6 s. On 5.5.0 only a broker's first op message waits, later ones are stored at once."""
OP_MESSAGES_AT_ONCE = {**_LOOKS, "transactionOpBatchInterval": "50"}
"""Op messages are stored at once."""
IMMUNE = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "60"}


def wait_for_check_round(t: RemotingContext) -> None:
    """Return just after a check round, which is recognized by its storing an immune half message again."""
    transacting(t).half(properties=IMMUNE)
    stored = t.max_offset(HALF_TOPIC)
    t.require(t.until(lambda: t.max_offset(HALF_TOPIC) > stored), "no half message was stored again")


def _note_end(t: RemotingContext, value: int, *, seconds: float) -> None:
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half(properties=IMMUNE)
    t.note("ended", producers.end(sent, value), 0)
    t.note("given up", [message.body for message in producers.discarded(seconds)])
    t.note("asked for", len(checks(t, connection, seconds=0)))
    t.note("stored", t.pull(producers.topic, t.group()).bodies)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=OP_MESSAGES_LATE, alone=True)
def an_immune_half_message_with_a_late_commit_op_message_is_discarded(t: RemotingContext) -> None:
    """If an immune half message is stored again before its commit's op message is, it is finally discarded."""
    _note_end(t, COMMIT, seconds=40)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=OP_MESSAGES_LATE, alone=True)
def an_immune_half_message_with_a_late_rollback_op_message_is_discarded(t: RemotingContext) -> None:
    """If an immune half message is stored again before its rollback's op message is, it is finally discarded."""
    _note_end(t, ROLLBACK, seconds=40)


@remoting_case("TransactionalMessageServiceImpl.check", settings=OP_MESSAGES_LATE, alone=True)
def a_late_commit_op_message_leads_to_a_check_after_the_immunity_time(t: RemotingContext) -> None:
    """An immune half message whose commit's op message is late is checked after its immunity time.

    A commit in response to this check stores the message a second time.
    """
    producers = transacting(t)
    connection = producers.connect()
    watch = t.stopwatch()
    sent = producers.half(properties={"CHECK_IMMUNITY_TIME_IN_SECONDS": "8"})
    t.note("ended", producers.end(sent, COMMIT), 0)
    t.note("stored", t.stored(producers.topic).bodies)
    asked = checks(t, connection)
    t.note("asked after", watch.between(8, 13))
    t.note("ended by the check", producers.end_of_check(asked[0], COMMIT), 0)
    t.note("stored then", t.stored(producers.topic, 2).bodies)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=OP_MESSAGES_AT_ONCE, tidy=True)
def an_op_message_stored_at_once_prevents_checks_of_an_immune_message(t: RemotingContext) -> None:
    """An immune half message whose commit's op message is stored at once is not checked any more."""
    wait_for_check_round(t)
    _note_end(t, COMMIT, seconds=20)
