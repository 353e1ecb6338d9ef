"""The end of a verdict (`until_ms`) is exact: one millisecond before it the verdict holds, and at it another one."""

from collections.abc import Callable
from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.facts import ChangeAction
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.operations.clients import Heartbeat, LockBatchMq, MessageQueue
from rocketmq_testkit.emulator.operations.send import SendMessageBack

ID = "7F0000010A2B18B4AAC2000000000001"
KV: dict[str, Any] = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}


def explain(harness: EngineHarness, group: str = "G", message_id: str = ID) -> Explanation:
    found = look(harness)
    messages = found.find(message_id)
    explainer = Explainer(found, harness.engine.history, lambda: harness.now_ms)
    return explainer.explain(messages[0] if messages else None, message_id, group)


def delayed(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID, DELAY="3")
    return Reason.DELAYED


def timed(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID, TIMER_DELIVER_MS=str(harness.now_ms + 60_000))
    return Reason.TIMED


def half_unchecked(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID, TRAN_MSG="true", PGROUP="PG")
    return Reason.HALF_UNCHECKED


def half_checked(harness: EngineHarness) -> Reason:
    half_unchecked(harness)
    harness.engine.submit(harness.broker, Heartbeat("producer", ["PG"], []))
    while explain(harness).reason is Reason.HALF_UNCHECKED:
        until_ms = explain(harness).until_ms
        assert until_ms is not None
        harness.advance(until_ms - harness.now_ms)
    return Reason.HALF_CHECKED


def popped(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID)
    harness.popped("A", invisible_ms=30_000)
    return Reason.IN_FLIGHT


def returned(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID)
    (message,) = harness.popped("A", invisible_ms=30_000)
    harness.advance(1_234)
    harness.change("A", harness.receipt(message), 10_000)
    return Reason.INVISIBLE_AFTER_FAILURE


def ordered(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID)
    harness.popped("A", invisible_ms=30_000, order=True)
    return Reason.IN_FLIGHT


def behind(harness: EngineHarness) -> Reason:
    harness.send("A")
    harness.popped("A", invisible_ms=30_000, order=True)
    harness.send("A", UNIQ_KEY=ID)
    return Reason.BEHIND_IN_ORDER


def sent_back(harness: EngineHarness) -> Reason:
    sent = harness.send("A", UNIQ_KEY=ID)
    harness.pull("A")
    harness.engine.execute(harness.broker, SendMessageBack("G", sent.physical_offset, 3, origin_topic="A"))
    return Reason.WAITING_FOR_RETRY


def locked(harness: EngineHarness) -> Reason:
    harness.send("A", UNIQ_KEY=ID)
    queue = MessageQueue("A", harness.broker.name, 0)
    harness.engine.execute(harness.broker, LockBatchMq("G", "another client", [queue]))
    return Reason.QUEUE_LOCKED


Prepare = Callable[[EngineHarness], Reason]
PREPARED: dict[str, tuple[Prepare, dict[str, Any]]] = {
    "delayed": (delayed, {}),
    "timed": (timed, {}),
    "half unchecked": (half_unchecked, {}),
    "half checked": (half_checked, {}),
    "popped": (popped, {}),
    "popped, buffer": (popped, {"enable_pop_buffer_merge": True}),
    "popped, records": (popped, KV),
    "popped, cached records": (popped, KV | {"enable_pop_buffer_merge": True}),
    "returned": (returned, {}),
    "returned, records": (returned, KV),
    "in an ordered batch": (ordered, {}),
    "in an ordered batch, records": (ordered, KV),
    "behind in order": (behind, {}),
    "sent back": (sent_back, {}),
    "locked": (locked, {}),
}


@pytest.mark.parametrize("name", PREPARED)
def test_verdict_changes_exactly_at_its_end(name: str) -> None:
    prepare, keys = PREPARED[name]
    harness = make_harness(**keys)
    harness.topic("A")
    harness.heartbeat("client", topics={"A": "*"})
    harness.advance(1_037)  # no multiple of the periods of scans
    reason = prepare(harness)
    before = explain(harness)
    assert before.reason is reason, before
    assert before.until_ms is not None
    (change,) = [each for each in before.changes if each.action is ChangeAction.ADVANCE]
    assert change.by_ms == before.until_ms - harness.now_ms
    harness.advance(before.until_ms - 1 - harness.now_ms)
    just_before = explain(harness)
    assert (just_before.reason, just_before.until_ms) == (reason, before.until_ms)
    assert just_before.sentence == before.sentence
    harness.advance(1)
    after = explain(harness)
    assert after.sentence != before.sentence
    assert after.until_ms is None or after.until_ms > harness.now_ms


def test_message_is_redelivered_soon_after_the_end() -> None:
    """Between the end of the invisible duration and the redelivery, the verdict names this state and has no end."""
    harness = make_harness()
    harness.topic("A")
    harness.heartbeat("client", topics={"A": "*"})
    popped(harness)
    harness.advance(30_000)
    over = explain(harness)
    assert (over.reason, over.until_ms) == (Reason.IN_FLIGHT, None)
    assert "its invisible duration ended at" in over.sentence
    harness.advance(6_000)
    again = explain(harness)
    assert again.reason is Reason.AVAILABLE
    assert "is available for retry 1 of 16" in again.sentence
