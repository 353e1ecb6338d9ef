"""Pops with numbers at the limits of their range, and pops of a broker that forbids them, in virtual time."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.consume import (
    Notification,
    NotificationResult,
    PeekMessage,
    PollingInfo,
    PopMessage,
    PopResult,
)

SMALLEST, LARGEST = -(2**63), 2**63 - 1
NOW = 0
WRAPPED = [
    (NOW, LARGEST),
    (NOW, SMALLEST),
    (LARGEST, 10_000),
    (SMALLEST, 10_000),
]
"""Born times and poll times whose sum, or difference from now, overflows a long."""


def _pop(born_ms: int = NOW, poll_ms: int = 0, *, count: int = 32) -> PopMessage:
    return PopMessage("G", "A", queue_id=-1, max_msg_nums=count, invisible_ms=10_000, poll_ms=poll_ms, born_ms=born_ms)


@pytest.mark.parametrize(("born_ms", "poll_ms"), WRAPPED)
def test_a_pop_whose_deadline_overflows_a_long_is_answered_at_once(
    harness: EngineHarness, born_ms: int, poll_ms: int
) -> None:
    """A pop whose deadline overflows a long is answered at once as timed out, not as too old, and takes messages."""
    harness.topic("A")
    empty = harness.engine.submit(harness.broker, _pop(born_ms, poll_ms)).outcome
    assert isinstance(empty, PopResult)
    assert (empty.code, empty.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    notified = harness.engine.submit(harness.broker, Notification("G", "A", -1, poll_ms, born_ms)).outcome
    assert notified == NotificationResult(False)
    harness.send("A")
    found = harness.engine.submit(harness.broker, _pop(born_ms, poll_ms)).outcome
    assert isinstance(found, PopResult)
    assert len(found.messages) == 1


@pytest.mark.parametrize("end", [SMALLEST, LARGEST])
def test_a_pop_with_born_time_and_poll_time_at_a_long_limit_is_too_old(harness: EngineHarness, end: int) -> None:
    """A pop whose born time and poll time are both at a limit is too old, because their sum is near zero."""
    harness.topic("A")
    with pytest.raises(EngineError) as refused:
        harness.engine.execute(harness.broker, _pop(end, end))
    assert refused.value.remark == "the broker[127.0.0.1] pop message is timeout too much"


@pytest.mark.parametrize("poll_ms", [10**12, 2**62])
def test_a_pop_or_notification_may_wait_thousands_of_years(harness: EngineHarness, poll_ms: int) -> None:
    """A wait of thousands of years ends when a message arrives."""
    harness.topic("A")
    notification = Notification("H", "A", -1, poll_ms, NOW)
    calls = [harness.engine.submit(harness.broker, each) for each in (_pop(poll_ms=poll_ms), notification)]
    harness.advance(3_600_000)
    assert [call.outcome for call in calls] == [None, None]
    harness.send("A")
    popped, has_message = (call.outcome for call in calls)
    assert isinstance(popped, PopResult)
    assert len(popped.messages) == 1
    assert has_message == NotificationResult(True)


def test_a_broker_without_read_permission_rejects_pop_requests() -> None:
    """With brokerPermission 2 pop requests are rejected, after the check of the age and before that of the count."""
    harness = make_harness(broker_permission=2)
    harness.topic("A")
    forbidden = "the broker[127.0.0.1] peeking message is forbidden"
    for operation, refusal in (
        (_pop(), (16, "the broker[127.0.0.1] pop message is forbidden")),
        (_pop(count=33), (16, "the broker[127.0.0.1] pop message is forbidden")),
        (_pop(born_ms=1), (210, "the broker[127.0.0.1] pop message is timeout too much")),
        (Notification("G", "A", -1, 0, NOW), (16, forbidden)),
        (PeekMessage("G", "A", -1, 32), (16, forbidden)),
        (PollingInfo("G", "A", -1), (16, forbidden)),
    ):
        with pytest.raises(EngineError) as refused:
            harness.engine.execute(harness.broker, operation)
        assert (refused.value.code, refused.value.remark) == refusal


def test_a_broker_without_timer_wheel_rejects_pops_but_not_peeks() -> None:
    """Without timerWheelEnable a pop is rejected, after the check of its count; other requests still work."""
    harness = make_harness(timer_wheel_enable=False)
    no_timer = "the broker[127.0.0.1] pop message is forbidden because timerWheelEnable is false"
    for count, refusal in (
        (32, (1, no_timer)),
        (33, (29, "the broker[127.0.0.1] pop message's num is greater than 32")),
    ):
        with pytest.raises(EngineError) as refused:
            harness.engine.execute(harness.broker, _pop(count=count))
        assert (refused.value.code, refused.value.remark) == refusal
    harness.topic("A")
    harness.send("A")
    assert harness.ask(NotificationResult, Notification("G", "A", -1, 0, NOW)).has_msg
    assert len(harness.ask(PopResult, PeekMessage("G", "A", -1, 32)).messages) == 1


@pytest.mark.parametrize(("v1", "has_message"), [(True, True), (False, False)])
def test_a_notification_finds_v1_retry_messages_only_if_v1_topics_are_read(v1: bool, has_message: bool) -> None:
    """With enableRetryTopicV2 a notification also examines the v1 topic if retrieveMessageFromPopRetryTopicV1 is on."""
    harness = make_harness(enable_retry_topic_v2=True, retrieve_message_from_pop_retry_topic_v1=v1)
    harness.topic("A")
    harness.topic("%RETRY%G_A")
    harness.send("%RETRY%G_A")
    assert harness.ask(NotificationResult, Notification("G", "A", -1, 0, NOW)).has_msg == has_message


@pytest.mark.parametrize(("blocked", "has_message"), [(0, False), (1, True)])
def test_an_ordered_notification_skips_the_retry_queue_of_a_blocked_queue_id(
    harness: EngineHarness, blocked: int, has_message: bool
) -> None:
    """An ordered notification ignores a retry queue if the topic's queue of the same number has a batch in flight."""
    harness.topic("A", 2)
    harness.send("A", queue=blocked)
    in_order = PopMessage("G", "A", queue_id=blocked, max_msg_nums=32, invisible_ms=60_000, born_ms=NOW, order=True)
    assert len(harness.ask(PopResult, in_order).messages) == 1
    harness.topic("%RETRY%G_A")
    harness.send("%RETRY%G_A")
    assert harness.ask(NotificationResult, Notification("G", "A", -1, 0, NOW, order=True)).has_msg == has_message
    assert harness.ask(NotificationResult, Notification("G", "A", -1, 0, NOW)).has_msg


def test_with_long_polling_disabled_pops_wait_until_their_deadlines() -> None:
    """With longPollingEnable off a pop and a notification find a new message only at their deadlines."""
    harness = make_harness(long_polling_enable=False)
    harness.topic("A")
    waiting = (_pop(poll_ms=4_000), Notification("H", "A", -1, 4_000, NOW))
    calls = [harness.engine.submit(harness.broker, each) for each in waiting]
    harness.send("A")
    harness.advance(3_999)
    assert [call.outcome for call in calls] == [None, None]
    harness.advance(1)
    popped, has_message = (call.outcome for call in calls)
    assert isinstance(popped, PopResult)
    assert len(popped.messages) == 1
    assert has_message == NotificationResult(True)


@pytest.mark.parametrize(("interval", "positions"), [(3, [1, 3, 3, 3, 6]), (2, [2, 2, 4, 4, 6]), (0, [1, 1, 1, 1, 1])])
def test_every_nth_message_wakes_a_waiting_pop_regardless_of_its_filter(interval: int, positions: list[int]) -> None:
    """Every popLongPollingForceNotifyInterval-th message wakes a pop regardless of its filter; with 0 none does."""
    harness = make_harness(pop_long_polling_force_notify_interval=interval)
    harness.topic("A")
    harness.send("A", TAGS="wanted")
    harness.popped("A")
    pop = _pop(poll_ms=60_000)
    pop.exp = "wanted"
    call = harness.engine.submit(harness.broker, pop)
    seen = []
    for _ in positions:
        harness.send("A", TAGS="other")
        harness.advance(1_000)
        seen.append(harness.broker.offsets.query("G", "A", 0))
    assert (seen, call.outcome) == (positions, None)
    harness.send("A", TAGS="wanted")
    assert isinstance(call.outcome, PopResult)
    assert len(call.outcome.messages) == 1
