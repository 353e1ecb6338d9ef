"""Waiting pulls, pops and notifications are listed with the end of their wait."""

from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.operations.clients import ACTIVELY, ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import Notification, PullResult


def test_waiting_pull_and_pop_are_listed(harness: EngineHarness) -> None:
    harness.topic("A")
    start_ms = harness.now_ms
    pull = harness.pull("A", suspend_ms=15_000)
    harness.advance(1_000)
    pop = harness.pop("A", group="P", poll_ms=20_000)
    found = {view.kind: view for view in look(harness).polls()}
    assert [view.kind for view in look(harness).polls()] == ["pull", "pop"]
    assert (found["pull"].group, found["pull"].queue_id, found["pull"].since_ms) == ("G", 0, start_ms)
    assert (found["pop"].group, found["pop"].queue_id, found["pop"].since_ms) == ("P", None, start_ms + 1_000)
    for call, until_ms in ((pull, found["pull"].until_ms), (pop, found["pop"].until_ms)):
        harness.advance(until_ms - harness.now_ms - 1)
        assert call.outcome is None
        harness.advance(1)
        assert call.outcome is not None
    assert look(harness).polls() == []


def test_waiting_notification_is_listed(harness: EngineHarness) -> None:
    harness.topic("A")
    call = harness.engine.submit(harness.broker, Notification("N", "A", 0, 20_000, harness.now_ms))
    (view,) = look(harness).polls()
    assert (view.kind, view.group, view.topic, view.queue_id) == ("notification", "N", "A", 0)
    assert (view.since_ms, view.until_ms) == (harness.now_ms, harness.now_ms + 20_000)
    harness.send("A")
    assert call.outcome is not None
    assert look(harness).polls() == []


def test_pull_that_cold_read_flow_control_suspends_is_listed_until_it_is_served() -> None:
    """The pull of a pull consumer is suspended if its group reads too much cold data; a push consumer's is rejected."""
    harness = make_harness(
        cold_data_flow_control_enable=True, access_message_in_memory_hot_ratio=0, cg_cold_read_threshold=1
    )
    harness.topic("A")
    for _ in range(2):
        harness.send("A")
    data = ConsumerData("G", consume_type=ACTIVELY, subscriptions=[SubscriptionData("A", sub_version=1)])
    channel = DirectChannel("c1", ("10.0.0.9", 4000))
    harness.engine.submit(harness.broker, Heartbeat("c1", [], [data]), channel)
    assert isinstance(harness.pull("A", count=1).outcome, PullResult)
    call = harness.pull("A", 1, count=1)
    assert call.outcome is None
    (view,) = look(harness).polls()
    assert (view.kind, view.group, view.topic, view.queue_id, view.since_ms) == ("pull", "G", "A", 0, harness.now_ms)
    harness.advance(view.until_ms - harness.now_ms - 1)
    assert call.outcome is None
    harness.advance(1)
    assert call.outcome is not None
    assert look(harness).polls() == []
