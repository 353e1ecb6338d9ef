"""Timer and delay level data of a slave, which it copies from its master. A slave delivers no messages itself."""

from struct import Struct

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from .slaves import SYNC_MASTER_SETTINGS, TABLES_SECONDS, wait_until_slave_connected

_CHECK_POINT = Struct(">qqqqqqq")


def _delays(t: RemotingContext, to: RemotingClient) -> dict[str, int]:
    table: dict[str, int] = t.request(RequestCode.GET_ALL_DELAY_OFFSET, to=to).json["offsetTable"]
    return table


def _check_point(t: RemotingContext, to: RemotingClient) -> tuple[int, int, int]:
    """Return the last read time, the processed messages, and those of the master."""
    found = _CHECK_POINT.unpack(t.request(RequestCode.GET_TIMER_CHECK_POINT, to=to).body)
    return found[0], found[2], found[3]


def _count(t: RemotingContext, topic: str, to: RemotingClient) -> int | None:
    found = t.request(RequestCode.GET_TIMER_METRICS, to=to).json["timingCount"].get(topic)
    return None if found is None else found["count"]


def _ends(t: RemotingContext, topic: str) -> list[str]:
    """Return the topic's number of messages on the master and on the slave."""
    ends = {"topic": topic, "queueId": 0}
    return [t.request(RequestCode.GET_MAX_OFFSET, ends, to=each)["offset"] for each in (t.broker, t.second_broker)]


@remoting_case("SlaveSynchronize.syncDelayOffset", settings=SYNC_MASTER_SETTINGS, tidy=True)
def a_slave_copies_the_delay_offsets_of_its_master(t: RemotingContext) -> None:
    """A delayed message is delivered once, by the master.

    The slave copies the delivered offset with its next table copy.
    """
    wait_until_slave_connected(t)
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic, properties={"DELAY": "1"}).without("msgId", "transactionId"), 0)
    t.until(lambda: _ends(t, topic) == ["1", "1"])
    t.note("delivered", _ends(t, topic))
    t.note("master", _delays(t, t.broker))
    t.until(lambda: _delays(t, t.second_broker) == {"1": 1}, TABLES_SECONDS)
    t.note("slave", _delays(t, t.second_broker))
    t.note("delivered, later", _ends(t, topic))


@remoting_case("SlaveSynchronize.syncTimerCheckPoint", settings=SYNC_MASTER_SETTINGS, tidy=True)
def a_slave_copies_its_masters_timer_check_point_without_delivering(t: RemotingContext) -> None:
    """A slave copies its master's timer check point within seconds and fills its own timer to that point.

    It delivers nothing.
    """
    wait_until_slave_connected(t)
    topic = t.topic(queues=1)
    for seconds in (2, 3600):
        t.note(f"in {seconds} s", t.send(topic, properties={"TIMER_DELAY_SEC": str(seconds)}).code)
    t.until(lambda: _check_point(t, t.second_broker)[1:] == (2, 2), 30)
    for name, broker in (("master", t.broker), ("slave", t.second_broker)):
        t.note(name, _check_point(t, broker)[1:])
    behind = _check_point(t, t.broker)[0] - _check_point(t, t.second_broker)[0]
    t.note("slave has read as far as that, or a little less", -1000 <= behind <= 6000)
    t.until(lambda: _ends(t, topic) == ["1", "1"])
    t.wait(5)
    t.note("delivered", _ends(t, topic))
    t.note("counted by the master", _count(t, topic, t.broker))
    t.until(lambda: _count(t, topic, t.second_broker) == 1, TABLES_SECONDS)
    t.note("counted by the slave", _count(t, topic, t.second_broker))
