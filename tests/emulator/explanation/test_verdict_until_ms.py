"""The end of a verdict (`until_ms`) is exact: one millisecond before it the verdict holds, and at it another one."""

from collections.abc import Callable
from typing import Any

import pytest
from engine_world import World, make_world
from inspected import look
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.facts import ChangeAction
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.operations.clients import Heartbeat, LockBatchMq, MessageQueue
from rocketmq_testkit.emulator.operations.send import SendMessageBack

ID = "7F0000010A2B18B4AAC2000000000001"
KV: dict[str, Any] = {"pop_consumer_kv_service_init": True, "pop_consumer_kv_service_enable": True}


def explain(world: World, group: str = "G", message_id: str = ID) -> Explanation:
    found = look(world)
    messages = found.find(message_id)
    explainer = Explainer(found, world.engine.history, lambda: world.now_ms)
    return explainer.explain(messages[0] if messages else None, message_id, group)


def delayed(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID, DELAY="3")
    return Reason.DELAYED


def timed(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID, TIMER_DELIVER_MS=str(world.now_ms + 60_000))
    return Reason.TIMED


def half_unchecked(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID, TRAN_MSG="true", PGROUP="PG")
    return Reason.HALF_UNCHECKED


def half_checked(world: World) -> Reason:
    half_unchecked(world)
    world.engine.submit(world.broker, Heartbeat("producer", ["PG"], []))
    while explain(world).reason is Reason.HALF_UNCHECKED:
        until_ms = explain(world).until_ms
        assert until_ms is not None
        world.advance(until_ms - world.now_ms)
    return Reason.HALF_CHECKED


def popped(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID)
    world.popped("A", invisible_ms=30_000)
    return Reason.IN_FLIGHT


def returned(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID)
    (message,) = world.popped("A", invisible_ms=30_000)
    world.advance(1_234)
    world.change("A", world.receipt(message), 10_000)
    return Reason.INVISIBLE_AFTER_FAILURE


def ordered(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID)
    world.popped("A", invisible_ms=30_000, order=True)
    return Reason.IN_FLIGHT


def behind(world: World) -> Reason:
    world.send("A")
    world.popped("A", invisible_ms=30_000, order=True)
    world.send("A", UNIQ_KEY=ID)
    return Reason.BEHIND_IN_ORDER


def sent_back(world: World) -> Reason:
    sent = world.send("A", UNIQ_KEY=ID)
    world.pull("A")
    world.engine.execute(world.broker, SendMessageBack("G", sent.physical_offset, 3, origin_topic="A"))
    return Reason.WAITING_FOR_RETRY


def locked(world: World) -> Reason:
    world.send("A", UNIQ_KEY=ID)
    queue = MessageQueue("A", world.broker.name, 0)
    world.engine.execute(world.broker, LockBatchMq("G", "another client", [queue]))
    return Reason.QUEUE_LOCKED


Prepare = Callable[[World], Reason]
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
    world = make_world(**keys)
    world.topic("A")
    world.heartbeat("client", topics={"A": "*"})
    world.advance(1_037)  # no multiple of the periods of scans
    reason = prepare(world)
    before = explain(world)
    assert before.reason is reason, before
    assert before.until_ms is not None
    (change,) = [each for each in before.changes if each.action is ChangeAction.ADVANCE]
    assert change.by_ms == before.until_ms - world.now_ms
    world.advance(before.until_ms - 1 - world.now_ms)
    just_before = explain(world)
    assert (just_before.reason, just_before.until_ms) == (reason, before.until_ms)
    assert just_before.sentence == before.sentence
    world.advance(1)
    after = explain(world)
    assert after.sentence != before.sentence
    assert after.until_ms is None or after.until_ms > world.now_ms


def test_message_is_redelivered_soon_after_the_end() -> None:
    """Between the end of the invisible duration and the redelivery, the verdict names this state and has no end."""
    world = make_world()
    world.topic("A")
    world.heartbeat("client", topics={"A": "*"})
    popped(world)
    world.advance(30_000)
    over = explain(world)
    assert (over.reason, over.until_ms) == (Reason.IN_FLIGHT, None)
    assert "its invisible duration ended at" in over.sentence
    world.advance(6_000)
    again = explain(world)
    assert again.reason is Reason.AVAILABLE
    assert "is available for retry 1 of 16" in again.sentence
