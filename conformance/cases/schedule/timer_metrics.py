"""Timer metrics: the number of waiting messages by topic, and the timer's check point."""

import struct
from typing import Any

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...deployment.target import Capability
from ...helpers.timers import handle, recall
from .timer_wheel import FINE

RESTARTS = frozenset({Capability.ADMIN, Capability.RESTART})
CRASHES = frozenset({Capability.ADMIN, Capability.CRASH})
_POINT = struct.Struct(">qqqqqqq")
"""Last read time, timer log position, processed queue offset, the master's offset, and a version of three numbers."""


def metrics(t: RemotingContext) -> DecodedResponse:
    """Request the numbers of waiting messages."""
    return t.request(RequestCode.GET_TIMER_METRICS)


def waiting_count(t: RemotingContext, topic: str) -> Any:
    """Return the number of messages waiting for a topic, or None if the topic never had any."""
    metric = metrics(t).json["timingCount"].get(topic)
    return None if metric is None else metric["count"]


def note_count(t: RemotingContext, label: str, topic: str, count: int | None) -> None:
    """Record the count of a topic when it equals `count`, or its value after 15 s."""
    t.until(lambda: waiting_count(t, topic) == count, 15)
    t.note(label, waiting_count(t, topic))


def check_point(t: RemotingContext) -> tuple[int, ...]:
    """Return the seven numbers of the check point."""
    response = t.request(RequestCode.GET_TIMER_CHECK_POINT)
    t.require(len(response.body) == _POINT.size, f"that is no check point: {response}")
    return _POINT.unpack(response.body)


def _congestion(t: RemotingContext) -> str:
    return t.runtime_info()["timerCongestNum"]


@remoting_case("TimerMessageStore.addMetric")
def timer_metrics_count_waiting_timed_messages_by_topic(t: RemotingContext) -> None:
    """A topic's count covers only messages in the timer wheel, not delay levels or past delivery times."""
    topic, other = t.topic(queues=2), t.topic(queues=1)
    for queue in (0, 1):
        t.send(topic, queue=queue, properties={"TIMER_DELAY_MS": "3000"})
    t.send(topic, properties={"DELAY": "1"})
    t.send(topic, properties={"TIMER_DELAY_MS": "0"})
    t.send(topic)
    note_count(t, "two wait", topic, 2)
    t.note("of the other topic", waiting_count(t, other))
    t.send(other, properties={"TIMER_DELAY_SEC": "60"})
    note_count(t, "of the other topic then", other, 1)
    t.stored(topic, 1, 1)
    note_count(t, "nothing waits", topic, 0)
    t.note("of the other topic still", waiting_count(t, other))


@remoting_case("TimerMetrics.encode", alone=True)
def timer_metrics_are_json_with_an_increasing_version(t: RemotingContext) -> None:
    """The counts are JSON with a version that each change increments.

    A broker that never had a timed message has none.
    """
    t.note("nothing yet", metrics(t), 0)
    topic = t.topic(queues=1)
    t.send(topic, properties={"TIMER_DELAY_MS": "2000"})
    t.until(lambda: waiting_count(t, topic))
    t.note("one waits", metrics(t), 0)
    t.stored(topic)
    t.until(lambda: not waiting_count(t, topic))
    t.note("it has come", metrics(t), 0)


@remoting_case("TimerMessageStore.doEnqueue")
def a_recall_decrements_the_timer_count_even_for_an_unknown_message(t: RemotingContext) -> None:
    """A recall decrements the count at once, even if its message does not exist. The count then stays too low."""
    topic, other = t.topic(queues=1), t.topic(queues=1)
    sent = t.send(topic, properties={"TIMER_DELAY_MS": "4000"})
    note_count(t, "waits", topic, 1)
    t.note("recalled", recall(t, topic, sent["recallHandle"]), 0)
    note_count(t, "recalled: waits", topic, 0)
    t.note("recalled again", recall(t, topic, sent["recallHandle"]), 0)
    note_count(t, "recalled again: waits", topic, -1)
    t.note("nobody recalled", recall(t, other, handle("v1", other, t.broker_name, t.now_ms() + 3000, "nobody")), 0)
    note_count(t, "nobody recalled: waits", other, -1)
    t.wait(6)
    t.note("later", [waiting_count(t, topic), waiting_count(t, other)])


@remoting_case("TimerMessageStore.TimerDequeuePutMessageService.run", settings=FINE)
def timer_rolls_count_delete_markers_again_but_not_messages(t: RemotingContext) -> None:
    """A message that is rolled in the wheel counts once.

    A delete marker that is rolled decrements the count again, twice.
    """
    topic, other = t.topic(queues=1), t.topic(queues=1)
    t.send(topic, properties={"TIMER_DELAY_MS": "5000"})
    sent = t.send(other, properties={"TIMER_DELAY_MS": "5000"})
    note_count(t, "waits", topic, 1)
    t.note("recalled", recall(t, other, sent["recallHandle"]), 0)
    note_count(t, "recalled: waits", other, 0)
    t.wait(3)
    t.note("paused", waiting_count(t, topic))
    t.stored(topic)
    note_count(t, "came", topic, 0)
    note_count(t, "recalled: is", other, -4)


@remoting_case("TimerCheckpoint.encode", alone=True)
def the_timer_check_point_has_the_read_time_and_the_message_count(t: RemotingContext) -> None:
    """The check point has the second up to which the wheel was read and the number of stored messages."""
    topic = t.topic(queues=1)
    t.until(lambda: check_point(t)[0] >= t.now_ms() - 3000, 20)  # the timer of a new broker lags
    read, log, taken, master, state, changed, version = check_point(t)
    t.note("at first", {"log": log, "taken": taken, "of master": master, "state": state})
    now = t.now_ms()
    t.note("read up to now", [read % 1000, now - 4000 <= read <= now, now - 4000 <= changed <= now])
    for _ in range(3):
        sent = t.send(topic, properties={"TIMER_DELAY_MS": "60000"})
    recall(t, topic, sent["recallHandle"])
    t.until(lambda: t.max_offset(TIMER_TOPIC) >= 4)
    t.note("end", t.max_offset(TIMER_TOPIC))
    t.until(lambda: check_point(t)[1] > 0, 5)
    t.wait(3)
    later = check_point(t)
    t.note("then", {"log": later[1], "taken": later[2], "of master": later[3], "state": later[4]})
    t.note("read on", 2 <= (later[0] - read) / 1000 <= 10)
    t.note("version", 2 <= later[6] - version <= 10)


@remoting_case("TimerWheel.getAllNum", alone=True)
def timer_congest_num_counts_messages_minus_delete_markers(t: RemotingContext) -> None:
    """`timerCongestNum` is the number of messages in the wheel's slots minus the delete markers. It can be negative."""
    topic = t.topic(queues=1)
    t.note("nothing yet", _congestion(t))
    for _ in range(3):
        sent = t.send(topic, properties={"TIMER_DELAY_MS": "3000"})
    t.until(lambda: _congestion(t) == "3", 3)
    t.note("three", _congestion(t))
    recall(t, topic, sent["recallHandle"])
    t.until(lambda: _congestion(t) == "2", 3)
    t.note("one recalled", _congestion(t))
    t.stored(topic, 2)
    t.until(lambda: _congestion(t) == "0", 3)
    t.note("come", _congestion(t))
    recall(t, topic, handle("v1", topic, t.broker_name, t.now_ms() + 4000, "nobody"))
    t.until(lambda: _congestion(t) == "-1", 3)
    t.note("nobody recalled", _congestion(t))
    t.until(lambda: _congestion(t) == "0", 8)
    t.note("later", _congestion(t))


@remoting_case("AdminBrokerProcessor.getTimerCheckPoint", settings={"timerWheelEnable": "false"})
def without_timer_wheel_enable_timer_check_point_and_metrics_are_refused(t: RemotingContext) -> None:
    """With timerWheelEnable=false requests for the timer check point and the metrics are rejected."""
    t.note("check point", t.request(RequestCode.GET_TIMER_CHECK_POINT), 1)
    t.note("metrics", metrics(t), 1)


def _two_wait(t: RemotingContext) -> tuple[str, int]:
    """Send two timed messages and wait until they are persisted. Return the topic and the check point's version."""
    topic = t.topic(queues=1)
    for _ in range(2):
        t.send(topic, properties={"TIMER_DELAY_MS": "3600000"})
    note_count(t, "waits", topic, 2)
    t.wait(3)
    return topic, check_point(t)[6]


def _note_after(t: RemotingContext, topic: str, version: int) -> None:
    t.note("counted", waiting_count(t, topic))
    read, log, taken, master, state, _, later = check_point(t)
    t.note("check point", {"log": log, "taken": taken, "of master": master, "state": state})
    # The last second before a crash may be lost and is soon repeated. A restart from zero would take longer.
    goes_on = later >= version or t.until(lambda: check_point(t)[6] >= version, 3)
    t.note("goes on", [read <= t.now_ms(), goes_on])
    t.send(topic, properties={"TIMER_DELAY_MS": "4000"})
    note_count(t, "one more", topic, 3)
    t.stored(topic)
    note_count(t, "which has come", topic, 2)


@remoting_case("TimerMetrics.persist", needs=RESTARTS, alone=True)
def a_restart_keeps_the_counts(t: RemotingContext) -> None:
    """A graceful restart keeps the counts and the check point."""
    topic, version = _two_wait(t)
    t.restart()
    _note_after(t, topic, version)


@remoting_case("TimerMetrics.load", needs=CRASHES, alone=True)
def a_crash_keeps_the_last_persisted_timer_counts(t: RemotingContext) -> None:
    """A crash keeps the counts of the last write, which happens every second."""
    topic, version = _two_wait(t)
    t.crash()
    _note_after(t, topic, version)


@remoting_case("TimerMetrics.removeTimingCount")
def deleting_a_topic_deletes_its_timer_count(t: RemotingContext) -> None:
    """Deleting a topic deletes its count. Messages still waiting for the topic decrement it when they are delivered."""
    topic = t.topic(queues=1)
    t.send(topic, properties={"TIMER_DELAY_MS": "5000"})
    note_count(t, "waits", topic, 1)
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 0)
    t.note("gone", waiting_count(t, topic))
    note_count(t, "came", topic, -1)
