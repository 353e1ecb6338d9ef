"""The end of long polls by pops and notifications, with and without upstream's defect of ending them early."""

import pytest
from engine_harness import EngineHarness, messages_of
from rocketmq_testkit.emulator.operations.consume import Notification, NotificationResult

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
