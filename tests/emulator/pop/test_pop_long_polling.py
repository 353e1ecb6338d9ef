"""The end of long polls by pops and notifications, with and without upstream's defect of ending them early."""

import pytest
from engine_harness import EngineHarness, make_harness, messages_of
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.consume import Notification, NotificationResult, PopMessage, PopResult

POLL_MS = 6_000


def ends_after_ms(harness: EngineHarness, *, notification: bool = False) -> int:
    """Return the time after which a wait for messages ends."""
    wait = Notification("G", "A", -1, POLL_MS, harness.now_ms)
    call = harness.engine.submit(harness.broker, wait) if notification else harness.pop("A", poll_ms=POLL_MS)
    since = harness.now_ms
    while call.outcome is None:
        harness.advance(1)
    found = call.outcome.has_msg if isinstance(call.outcome, NotificationResult) else messages_of(call)
    assert not found
    return harness.now_ms - since


@pytest.mark.parametrize("notification", [False, True])
def test_with_the_defect_a_wait_ends_30_to_49_ms_early(harness: EngineHarness, notification: bool) -> None:
    """The wait ends at the first of upstream's scans, every 20 ms, that is less than 50 ms before its deadline."""
    harness.topic("A")
    assert ends_after_ms(harness, notification=notification) == POLL_MS
    harness.engine.defects.enable("polls_end_early")
    early = set()
    for _ in range(20):
        early.add(POLL_MS - ends_after_ms(harness, notification=notification))
        harness.advance(1)
    assert early <= set(range(30, 50))
    assert len(early) > 1


_FULL, _TIMED_OUT = ResponseCode.POLLING_FULL, ResponseCode.POLLING_TIMEOUT


@pytest.mark.parametrize(
    ("waiting", "poll_ms", "code", "full"),
    [(0, 50, _TIMED_OUT, False), (1, 50, _FULL, True), (1, 100, _FULL, True), (1, 0, _TIMED_OUT, False)],
    ids=["room and expired", "full and expired", "full and just expired", "full and without long polling"],
)
def test_a_full_broker_refuses_an_expired_wait_with_polling_full(
    waiting: int, poll_ms: int, code: ResponseCode, full: bool
) -> None:
    """PopLongPollingService.polling of 5.3.3 compares the total with maxPopPollingSize before the deadline.

    The requests are 100 ms old, and the poll time of an expired one has passed. A pop more than 500 ms behind its
    deadline is rejected before.
    """
    harness = make_harness(max_pop_polling_size=1)
    harness.topic("A")
    engine, broker, born_ms = harness.engine, harness.broker, harness.now_ms - 100
    for _ in range(waiting):
        assert harness.pop("A", poll_ms=POLL_MS).outcome is None
        assert engine.submit(broker, Notification("G", "A", -1, POLL_MS, harness.now_ms)).outcome is None
    popped = engine.submit(broker, PopMessage("G", "A", -1, 1, 10_000, poll_ms=poll_ms, born_ms=born_ms)).outcome
    assert isinstance(popped, PopResult)
    assert popped.code == code
    notified = engine.submit(broker, Notification("G", "A", -1, poll_ms, born_ms)).outcome
    assert isinstance(notified, NotificationResult)
    assert (notified.has_msg, notified.polling_full) == (False, full)


def test_a_full_queue_answers_an_expired_wait_as_expired() -> None:
    """PopLongPollingService.polling of 5.3.3 compares one queue with popPollingSize only after the deadline."""
    harness = make_harness(pop_polling_size=0)
    harness.topic("A")
    assert harness.pop("A", poll_ms=POLL_MS).outcome is None
    codes = []
    for age_ms in (99, 100):
        late = PopMessage("G", "A", -1, 1, 10_000, poll_ms=100, born_ms=harness.now_ms - age_ms)
        outcome = harness.engine.submit(harness.broker, late).outcome
        assert isinstance(outcome, PopResult)
        codes.append(outcome.code)
    assert codes == [_FULL, _TIMED_OUT]


def test_refused_waits_leave_no_entry_of_their_topic() -> None:
    """A broker with its maximum of waiting pops refuses those of further topics without a trace."""
    harness = make_harness(max_pop_polling_size=1)
    for topic in ("A", "B"):
        harness.topic(topic)
        harness.pop(topic, poll_ms=POLL_MS)
    assert list(harness.broker.pops.polling.by_topic) == ["A"]
