"""Timer metrics: the number of waiting messages by topic, and the timer's check point."""

import struct
from typing import Any

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...deployment.target import Capability
from ...helpers.timers import handle, recall
from .timer_wheel import FINE

RESTARTS = frozenset({Capability.ADMIN, Capability.RESTART})
CRASHES = frozenset({Capability.ADMIN, Capability.CRASH})
_POINT = struct.Struct(">qqqqqqq")
"""Last read time, timer log position, processed queue offset, the master's offset, and a version of three numbers."""


def metrics(t: Remoting) -> Answer:
    """Request the numbers of waiting messages."""
    return t.ask(RequestCode.GET_TIMER_METRICS)


def counted(t: Remoting, topic: str) -> Any:
    """Return the number of messages waiting for a topic, or None if the topic never had any."""
    metric = metrics(t).json["timingCount"].get(topic)
    return None if metric is None else metric["count"]


def see_count(t: Remoting, label: str, topic: str, count: int | None) -> None:
    """Record the count of a topic when it equals `count`, or its value after 15 s."""
    t.until(lambda: counted(t, topic) == count, 15)
    t.see(label, counted(t, topic))


def check_point(t: Remoting) -> tuple[int, ...]:
    """Return the seven numbers of the check point."""
    answer = t.ask(RequestCode.GET_TIMER_CHECK_POINT)
    t.require(len(answer.body) == _POINT.size, f"that is no check point: {answer}")
    return _POINT.unpack(answer.body)


def _congestion(t: Remoting) -> str:
    return t.runtime_info()["timerCongestNum"]


@remoting_case("TimerMessageStore.addMetric")
def what_waits_is_counted_by_topic(t: Remoting) -> None:
    """A topic's count covers only messages in the timer wheel, not delay levels or past delivery times."""
    topic, other = t.topic(queues=2), t.topic(queues=1)
    for queue in (0, 1):
        t.send(topic, queue=queue, properties={"TIMER_DELAY_MS": "3000"})
    t.send(topic, properties={"DELAY": "1"})
    t.send(topic, properties={"TIMER_DELAY_MS": "0"})
    t.send(topic)
    see_count(t, "two wait", topic, 2)
    t.see("of the other topic", counted(t, other))
    t.send(other, properties={"TIMER_DELAY_SEC": "60"})
    see_count(t, "of the other topic then", other, 1)
    t.stored(topic, 1, 1)
    see_count(t, "nothing waits", topic, 0)
    t.see("of the other topic still", counted(t, other))


@remoting_case("TimerMetrics.encode", alone=True)
def the_form_of_the_counts(t: Remoting) -> None:
    """The counts are JSON with a version that each change increments.

    A broker that never had a timed message has none.
    """
    t.see("nothing yet", metrics(t), 0)
    topic = t.topic(queues=1)
    t.send(topic, properties={"TIMER_DELAY_MS": "2000"})
    t.until(lambda: counted(t, topic))
    t.see("one waits", metrics(t), 0)
    t.stored(topic)
    t.until(lambda: not counted(t, topic))
    t.see("it has come", metrics(t), 0)


@remoting_case("TimerMessageStore.doEnqueue")
def marks_are_counted_off(t: Remoting) -> None:
    """A recall decrements the count at once, even if its message does not exist. The count then stays too low."""
    topic, other = t.topic(queues=1), t.topic(queues=1)
    sent = t.send(topic, properties={"TIMER_DELAY_MS": "4000"})
    see_count(t, "waits", topic, 1)
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 0)
    see_count(t, "recalled: waits", topic, 0)
    t.see("recalled again", recall(t, topic, sent["recallHandle"]), 0)
    see_count(t, "recalled again: waits", topic, -1)
    t.see("nobody recalled", recall(t, other, handle("v1", other, t.broker_name, t.now_ms() + 3000, "nobody")), 0)
    see_count(t, "nobody recalled: waits", other, -1)
    t.wait(6)
    t.see("later", [counted(t, topic), counted(t, other)])


@remoting_case("TimerMessageStore.TimerDequeuePutMessageService.run", settings=FINE)
def what_pauses_is_counted_once(t: Remoting) -> None:
    """A message that is rolled in the wheel counts once.

    A delete marker that is rolled decrements the count again, twice.
    """
    topic, other = t.topic(queues=1), t.topic(queues=1)
    t.send(topic, properties={"TIMER_DELAY_MS": "5000"})
    sent = t.send(other, properties={"TIMER_DELAY_MS": "5000"})
    see_count(t, "waits", topic, 1)
    t.see("recalled", recall(t, other, sent["recallHandle"]), 0)
    see_count(t, "recalled: waits", other, 0)
    t.wait(3)
    t.see("paused", counted(t, topic))
    t.stored(topic)
    see_count(t, "came", topic, 0)
    see_count(t, "recalled: is", other, -4)


@remoting_case("TimerCheckpoint.encode", alone=True)
def the_check_point_of_the_timer(t: Remoting) -> None:
    """The check point has the second up to which the wheel was read and the number of stored messages."""
    topic = t.topic(queues=1)
    t.until(lambda: check_point(t)[0] >= t.now_ms() - 3000, 20)  # the timer of a new broker lags
    read, log, taken, master, state, changed, version = check_point(t)
    t.see("at first", {"log": log, "taken": taken, "of master": master, "state": state})
    now = t.now_ms()
    t.see("read up to now", [read % 1000, now - 4000 <= read <= now, now - 4000 <= changed <= now])
    for _ in range(3):
        sent = t.send(topic, properties={"TIMER_DELAY_MS": "60000"})
    recall(t, topic, sent["recallHandle"])
    t.until(lambda: t.max_offset(TIMER_TOPIC) >= 4)
    t.see("end", t.max_offset(TIMER_TOPIC))
    t.until(lambda: check_point(t)[1] > 0, 5)
    t.wait(3)
    later = check_point(t)
    t.see("then", {"log": later[1], "taken": later[2], "of master": later[3], "state": later[4]})
    t.see("read on", 2 <= (later[0] - read) / 1000 <= 10)
    t.see("version", 2 <= later[6] - version <= 10)


@remoting_case("TimerWheel.getAllNum", alone=True)
def the_state_of_the_broker_counts_what_waits(t: Remoting) -> None:
    """`timerCongestNum` is the number of messages in the wheel's slots minus the delete markers. It can be negative."""
    topic = t.topic(queues=1)
    t.see("nothing yet", _congestion(t))
    for _ in range(3):
        sent = t.send(topic, properties={"TIMER_DELAY_MS": "3000"})
    t.until(lambda: _congestion(t) == "3", 3)
    t.see("three", _congestion(t))
    recall(t, topic, sent["recallHandle"])
    t.until(lambda: _congestion(t) == "2", 3)
    t.see("one recalled", _congestion(t))
    t.stored(topic, 2)
    t.until(lambda: _congestion(t) == "0", 3)
    t.see("come", _congestion(t))
    recall(t, topic, handle("v1", topic, t.broker_name, t.now_ms() + 4000, "nobody"))
    t.until(lambda: _congestion(t) == "-1", 3)
    t.see("nobody recalled", _congestion(t))
    t.until(lambda: _congestion(t) == "0", 8)
    t.see("later", _congestion(t))


@remoting_case("AdminBrokerProcessor.getTimerCheckPoint", settings={"timerWheelEnable": "false"})
def a_broker_without_a_timer_tells_nothing(t: Remoting) -> None:
    """With timerWheelEnable=false requests for the timer check point and the metrics are rejected."""
    t.see("check point", t.ask(RequestCode.GET_TIMER_CHECK_POINT), 1)
    t.see("metrics", metrics(t), 1)


def _two_wait(t: Remoting) -> tuple[str, int]:
    """Send two timed messages and wait until they are persisted. Return the topic and the check point's version."""
    topic = t.topic(queues=1)
    for _ in range(2):
        t.send(topic, properties={"TIMER_DELAY_MS": "3600000"})
    see_count(t, "waits", topic, 2)
    t.wait(12)
    return topic, check_point(t)[6]


def _see_after(t: Remoting, topic: str, version: int) -> None:
    t.see("counted", counted(t, topic))
    read, log, taken, master, state, _, later = check_point(t)
    t.see("check point", {"log": log, "taken": taken, "of master": master, "state": state})
    # # The last second before a crash may be lost and is soon repeated. A restart from zero would take longer.
    goes_on = later >= version or t.until(lambda: check_point(t)[6] >= version, 3)
    t.see("goes on", [read <= t.now_ms(), goes_on])
    t.send(topic, properties={"TIMER_DELAY_MS": "4000"})
    see_count(t, "one more", topic, 3)
    t.stored(topic)
    see_count(t, "which has come", topic, 2)


@remoting_case("TimerMetrics.persist", needs=RESTARTS, alone=True)
def a_restart_keeps_the_counts(t: Remoting) -> None:
    """A graceful restart keeps the counts and the check point."""
    topic, version = _two_wait(t)
    t.restart()
    _see_after(t, topic, version)


@remoting_case("TimerMetrics.load", needs=CRASHES, alone=True)
def a_crash_keeps_the_counts_that_were_written(t: Remoting) -> None:
    """A crash keeps the counts of the last write, which happens every ten seconds."""
    topic, version = _two_wait(t)
    t.crash()
    _see_after(t, topic, version)


@remoting_case("TimerMetrics.removeTimingCount")
def a_deleted_topic_is_not_counted(t: Remoting) -> None:
    """Deleting a topic deletes its count. Messages still waiting for the topic decrement it when they are delivered."""
    topic = t.topic(queues=1)
    t.send(topic, properties={"TIMER_DELAY_MS": "5000"})
    see_count(t, "waits", topic, 1)
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 0)
    t.see("gone", counted(t, topic))
    see_count(t, "came", topic, -1)
