"""Broker totals of stored and delivered messages since the start, and their rates per second."""

from collections.abc import Callable

from rocketmq_testkit.emulator.message.names import TRACE_TOPIC, dlq_topic, retry_topic

from ...case import remoting_case
from ...worlds.remoting import Remoting
from ...worlds.transactions import COMMIT, ROLLBACK, transacting
from ..schedule.delay import delayed
from ..send.batch import send_batch
from ..send.send_back import back

SAMPLED_SECONDS = 12
"""Seconds after which the first rate exists."""


def _counted(t: Remoting, name: str, act: Callable[[], object], *, until: int | None = None) -> int:
    """Return the growth of a total during an action, after it has grown by at least `until`."""
    before = int(t.runtime_info()[name])
    act()
    if until is not None:
        t.until(lambda: int(t.runtime_info()[name]) >= before + until, 10)
    return int(t.runtime_info()[name]) - before


@remoting_case("BrokerStatsManager.incBrokerPutNums", alone=True)
def messages_of_applications_are_counted_when_they_are_put(t: Remoting) -> None:
    """A message counts when it is stored in its topic or in a retry topic, not while it waits or as a dead letter."""
    topic, group, producers = t.topic(queues=1), t.group(), transacting(t)
    put = "msgPutTotalTodayNow"
    t.see("sent", _counted(t, put, lambda: t.sent(topic, 3)))
    t.see("batch", _counted(t, put, lambda: t.readable(topic, send_batch(t, topic, [(b"a", {}), (b"b", {})]))))
    t.see("trace", _counted(t, put, lambda: t.send(TRACE_TOPIC)))
    t.see("waits", _counted(t, put, lambda: delayed(t, topic, 2)))
    t.see("has waited", _counted(t, put, lambda: t.wait(5), until=1))
    half = producers.half()
    t.see("half", _counted(t, put, producers.half))
    t.see("committed", _counted(t, put, lambda: producers.end(half, COMMIT)))
    t.see("rolled back", _counted(t, put, lambda: producers.end(producers.half(), ROLLBACK)))
    first = t.stored(topic).messages[0].physical_offset
    t.see("sent back", _counted(t, put, lambda: back(t, group, first, 1), until=1))
    t.see("retries", t.max_offset(retry_topic(group)))
    t.see("given up", _counted(t, put, lambda: back(t, group, first, -1)))
    t.see("dead", t.max_offset(dlq_topic(group)))


@remoting_case("BrokerStatsManager.incBrokerGetNums", alone=True)
def messages_of_applications_are_counted_when_they_are_given(t: Remoting) -> None:
    """Messages returned by pulls and pops count for each delivery; those of system topics do not count."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    got = "msgGetTotalTodayNow"
    t.see("pulled", _counted(t, got, lambda: t.pull(topic, group)))
    t.see("pulled again", _counted(t, got, lambda: t.pull(topic, group, offset=1)))
    t.see("nothing pulled", _counted(t, got, lambda: t.pull(topic, group, offset=3)))
    t.see("other tag", _counted(t, got, lambda: t.pull(topic, group, expression="other")))
    t.see("popped", _counted(t, got, lambda: t.pop(topic, group)))
    t.see("nothing popped", _counted(t, got, lambda: t.pop(topic, group)))
    t.readable(TRACE_TOPIC, t.send(TRACE_TOPIC))
    t.see("trace", _counted(t, got, lambda: t.pull(TRACE_TOPIC, group)))


@remoting_case("StoreStatsService.getRuntimeInfo", alone=True)
def rates_are_those_of_the_last_ten_seconds(t: Remoting) -> None:
    """Rates cover the last 10, 60 and 600 s, as far as the broker has run that long."""
    topic, group = t.topic(queues=1), t.group()
    t.wait(SAMPLED_SECONDS)
    t.readable(topic, send_batch(t, topic, [(b"m", {})] * 300))
    for offset in range(0, 300, 30):
        t.pull(topic, group, offset=offset, max_messages=30)
    t.wait(3)
    table = t.runtime_info()
    for name, least in (("putTps", 29), ("getTransferredTps", 29), ("getFoundTps", 0.9)):
        first = float(table[name].split()[0])
        t.see(name, first if first < least or first > least * 1.15 else "as many as were asked for")
    t.see("numbers of the total", len(table["getTotalTps"].split()))
    t.wait(SAMPLED_SECONDS)
    rates = t.runtime_info()["putTps"].split()
    t.see("afterwards", float(rates[0]) < 1)
