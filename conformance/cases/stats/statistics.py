"""Broker totals of stored and delivered messages, and their rates per second.

The fields `msgPutTotalTodayNow` and `msgGetTotalTodayNow` count from the broker's start, in spite of their names.
"""

from collections.abc import Callable

from rocketmq_testkit.emulator.message.names import TRACE_TOPIC, dlq_topic, retry_topic

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import send_back, send_batch
from ...helpers.transactions import COMMIT, ROLLBACK, transacting
from ..schedule.delay import delayed

SAMPLED_SECONDS = 12
"""Seconds after which the first rate exists."""


def _counted(t: RemotingContext, name: str, act: Callable[[], object], *, at_least: int | None = None) -> int:
    """Return the growth of a total during an action, after it has grown by `at_least` or more."""
    before = int(t.runtime_info()[name])
    act()
    if at_least is not None:
        t.until(lambda: int(t.runtime_info()[name]) >= before + at_least, 10)
    return int(t.runtime_info()[name]) - before


@remoting_case("BrokerStatsManager.incBrokerPutNums", alone=True)
def messages_are_counted_when_stored_in_their_topic_or_a_retry_topic(t: RemotingContext) -> None:
    """A message counts when it is stored in its topic or in a retry topic, not while it waits or as a dead letter."""
    topic, group, producers = t.topic(queues=1), t.group(), transacting(t)
    put = "msgPutTotalTodayNow"
    t.note("sent", _counted(t, put, lambda: t.sent(topic, 3)))
    t.note("batch", _counted(t, put, lambda: t.readable(topic, send_batch(t, topic, [(b"a", {}), (b"b", {})]))))
    t.note("trace", _counted(t, put, lambda: t.send(TRACE_TOPIC)))
    t.note("waits", _counted(t, put, lambda: delayed(t, topic, 2)))
    t.note("has waited", _counted(t, put, lambda: t.wait(5), at_least=1))
    half = producers.half()
    t.note("half", _counted(t, put, producers.half))
    t.note("committed", _counted(t, put, lambda: producers.end(half, COMMIT)))
    t.note("rolled back", _counted(t, put, lambda: producers.end(producers.half(), ROLLBACK)))
    first = t.stored(topic).messages[0].physical_offset
    t.note("sent back", _counted(t, put, lambda: send_back(t, group, place=first, level=1), at_least=1))
    t.note("retries", t.max_offset(retry_topic(group)))
    t.note("given up", _counted(t, put, lambda: send_back(t, group, place=first, level=-1)))
    t.note("dead", t.max_offset(dlq_topic(group)))


@remoting_case("BrokerStatsManager.incBrokerGetNums", alone=True)
def each_delivery_of_a_message_is_counted_except_from_system_topics(t: RemotingContext) -> None:
    """Messages returned by pulls and pops count for each delivery; those of system topics do not count."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    got = "msgGetTotalTodayNow"
    t.note("pulled", _counted(t, got, lambda: t.pull(topic, group)))
    t.note("pulled again", _counted(t, got, lambda: t.pull(topic, group, offset=1)))
    t.note("nothing pulled", _counted(t, got, lambda: t.pull(topic, group, offset=3)))
    t.note("other tag", _counted(t, got, lambda: t.pull(topic, group, expression="other")))
    t.note("popped", _counted(t, got, lambda: t.pop(topic, group)))
    t.note("nothing popped", _counted(t, got, lambda: t.pop(topic, group)))
    t.readable(TRACE_TOPIC, t.send(TRACE_TOPIC))
    t.note("trace", _counted(t, got, lambda: t.pull(TRACE_TOPIC, group)))


@remoting_case("StoreStatsService.getRuntimeInfo", alone=True)
def rate_fields_cover_the_last_10_60_and_600_seconds(t: RemotingContext) -> None:
    """A rate field has one rate (1/s) for each of the last 10, 60 and 600 s; the first covers the last 10 s only."""
    topic, group = t.topic(queues=1), t.group()
    t.wait(SAMPLED_SECONDS)
    t.readable(topic, send_batch(t, topic, [(b"m", {})] * 300))
    for offset in range(0, 300, 30):
        t.pull(topic, group, offset=offset, max_messages=30)
    t.wait(3)
    table = t.runtime_info()
    # In 10 s, 300 messages make a rate of 30, and 10 pulls a rate of 1. The broker's sampling interval varies a little.
    for name, lowest in (("putTps", 29), ("getTransferredTps", 29), ("getFoundTps", 0.9)):
        first = float(table[name].split()[0])
        t.note(name, first if first < lowest or first > lowest * 1.15 else "as many as were asked for")
    t.note("numbers of the total", len(table["getTotalTps"].split()))
    t.wait(SAMPLED_SECONDS)
    rates = t.runtime_info()["putTps"].split()
    t.note("afterwards", float(rates[0]) < 1)
