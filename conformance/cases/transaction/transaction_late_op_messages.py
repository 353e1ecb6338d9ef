"""Half messages with an immunity time whose op message is stored only after a check round has stored them again."""

from rocketmq_testkit.emulator.message.names import HALF_TOPIC

from ...case import remoting_case
from ...context.remoting import Remoting
from ...helpers.transactions import COMMIT, ROLLBACK, checks, transacting

_LOOKS = {"transactionCheckInterval": "1000", "transactionTimeOut": "1000", "transactionCheckMax": "14"}
"""Check rounds run every second, and a half message is given up after 14 of them."""
LATE = {**_LOOKS, "transactionOpBatchInterval": "6000"}
"""Op messages are stored after 6 s. On 5.5.0 only a broker's first op message waits, later ones are stored at once."""
SOON = {**_LOOKS, "transactionOpBatchInterval": "50"}
"""Op messages are stored at once."""
IMMUNE = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "60"}


def _until_looked(t: Remoting) -> None:
    """Return just after a check round, which is recognized by its storing an immune half message again."""
    transacting(t).half(properties=IMMUNE)
    stored = t.max_offset(HALF_TOPIC)
    t.require(t.until(lambda: t.max_offset(HALF_TOPIC) > stored), "nothing was put back")


def _see_end(t: Remoting, value: int, *, seconds: float) -> None:
    producers = transacting(t)
    connection = producers.connect()
    sent = producers.half(properties=IMMUNE)
    t.see("ended", producers.end(sent, value), 0)
    t.see("given up", [message.body for message in producers.given_up(seconds)])
    t.see("asked for", len(checks(t, connection, seconds=0)))
    t.see("stored", t.pull(producers.topic, t.group()).bodies)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=LATE, alone=True)
def an_end_that_is_written_late_is_not_recognised(t: Remoting) -> None:
    """If an immune half message is stored again before its commit's op message is, it is finally given up."""
    _see_end(t, COMMIT, seconds=40)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=LATE, alone=True)
def a_rollback_that_is_written_late_is_not_recognised(t: Remoting) -> None:
    """If an immune half message is stored again before its rollback's op message is, it is finally given up."""
    _see_end(t, ROLLBACK, seconds=40)


@remoting_case("TransactionalMessageServiceImpl.check", settings=LATE, alone=True)
def an_end_that_is_written_late_is_asked_for_after_the_immunity(t: Remoting) -> None:
    """Such a message is checked after its immunity time although it was committed. Another commit stores it again."""
    producers = transacting(t)
    connection = producers.connect()
    watch = t.stopwatch()
    sent = producers.half(properties={"CHECK_IMMUNITY_TIME_IN_SECONDS": "8"})
    t.see("ended", producers.end(sent, COMMIT), 0)
    t.see("stored", t.stored(producers.topic).bodies)
    asked = checks(t, connection)
    t.see("asked after", watch.between(8, 13))
    t.see("ended by the check", producers.end_of_check(asked[0], COMMIT), 0)
    t.see("stored then", t.stored(producers.topic, 2).bodies)


@remoting_case("TransactionalMessageServiceImpl.checkPrepareQueueOffset", settings=SOON, tidy=True)
def an_end_that_is_written_at_once_is_recognised(t: Remoting) -> None:
    """An immune half message whose commit's op message is stored at once is not checked any more."""
    _until_looked(t)
    _see_end(t, COMMIT, seconds=20)
