"""Timer and delay level data of a slave, which it copies from its master. A slave delivers no messages itself."""

from struct import Struct

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.remoting import Remoting
from .slaves import TABLES_SECONDS, WAITED_FOR, followed

_CHECK_POINT = Struct(">qqqqqqq")


def _delays(t: Remoting, to: RemotingClient) -> dict[str, int]:
    table: dict[str, int] = t.ask(RequestCode.GET_ALL_DELAY_OFFSET, to=to).json["offsetTable"]
    return table


def _check_point(t: Remoting, to: RemotingClient) -> tuple[int, int, int]:
    """Return the last read time, the processed messages, and those of the master."""
    found = _CHECK_POINT.unpack(t.ask(RequestCode.GET_TIMER_CHECK_POINT, to=to).body)
    return found[0], found[2], found[3]


def _count(t: Remoting, topic: str, to: RemotingClient) -> int | None:
    found = t.ask(RequestCode.GET_TIMER_METRICS, to=to).json["timingCount"].get(topic)
    return None if found is None else found["count"]


def _ends(t: Remoting, topic: str) -> list[str]:
    """Return the topic's number of messages on the master and on the slave."""
    ends = {"topic": topic, "queueId": 0}
    return [t.ask(RequestCode.GET_MAX_OFFSET, ends, to=each)["offset"] for each in (t.broker, t.beside)]


@remoting_case("SlaveSynchronize.syncDelayOffset", settings=WAITED_FOR, tidy=True)
def a_slave_copies_how_far_levels_were_delivered(t: Remoting) -> None:
    """A delayed message is delivered once, by the master.

    The slave copies the delivered offset with its next table copy.
    """
    followed(t)
    topic = t.topic(queues=1)
    t.see("sent", t.send(topic, properties={"DELAY": "1"}).without("msgId", "transactionId"), 0)
    t.until(lambda: _ends(t, topic) == ["1", "1"])
    t.see("delivered", _ends(t, topic))
    t.see("master", _delays(t, t.broker))
    t.until(lambda: _delays(t, t.beside) == {"1": 1}, TABLES_SECONDS)
    t.see("slave", _delays(t, t.beside))
    t.see("delivered, later", _ends(t, topic))


@remoting_case("SlaveSynchronize.syncTimerCheckPoint", settings=WAITED_FOR, tidy=True)
def a_slave_follows_its_masters_timer(t: Remoting) -> None:
    """A slave copies its master's timer check point within seconds and fills its own timer to that point.

    It delivers nothing.
    """
    followed(t)
    topic = t.topic(queues=1)
    for seconds in (2, 3600):
        t.see(f"in {seconds} s", t.send(topic, properties={"TIMER_DELAY_SEC": str(seconds)}).code)
    t.until(lambda: _check_point(t, t.beside)[1:] == (2, 2), 30)
    for name, broker in (("master", t.broker), ("slave", t.beside)):
        t.see(name, _check_point(t, broker)[1:])
    behind = _check_point(t, t.broker)[0] - _check_point(t, t.beside)[0]
    t.see("slave has read as far as that, or a little less", -1000 <= behind <= 6000)
    t.until(lambda: _ends(t, topic) == ["1", "1"])
    t.wait(5)
    t.see("delivered", _ends(t, topic))
    t.see("counted by the master", _count(t, topic, t.broker))
    t.until(lambda: _count(t, topic, t.beside) == 1, TABLES_SECONDS)
    t.see("counted by the slave", _count(t, topic, t.beside))
