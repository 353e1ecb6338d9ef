"""Verdicts of a real engine, for messages with several copies and groups, after restarts, and without a history."""

from collections.abc import Callable
from pathlib import Path

import pytest
from all_tables import changes, held_by
from engine_harness import EngineHarness, make_harness
from harness_with_data import harness_with_data
from inspected import in_every_state, look
from rocketmq_testkit.emulator import explanation, inspection
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.operations.clients import ChannelClosed
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessageBack

FIRST, SECOND = "7F0000010A2B18B4AAC2000000000001", "7F0000010A2B18B4AAC2000000000002"


def explain(
    harness: EngineHarness, message_id: str, group: str | None = "G", place: Place | None = None
) -> Explanation:
    """Explain the message with an id for a group, or for all groups for None; `place` selects one of its copies."""
    found = look(harness)
    messages = found.find(message_id)
    explainer = Explainer(found, harness.engine.history, lambda: harness.now_ms)
    return explainer.explain(messages[0] if messages else None, message_id, group, place=place)


def acknowledged_and_unread() -> EngineHarness:
    """Return a harness in which group G has acknowledged the first message, and not received the second."""
    harness = make_harness()
    harness.topic("A")
    harness.heartbeat("client", topics={"A": "*"})
    harness.send("A", UNIQ_KEY=FIRST)
    (message,) = harness.popped("A")
    harness.advance(1_000)
    harness.ack("A", harness.receipt(message))
    harness.send("A", UNIQ_KEY=SECOND)
    return harness


def test_acknowledged_message_stays_acknowledged_while_its_broker_is_stopped() -> None:
    harness = acknowledged_and_unread()
    assert explain(harness, SECOND).reason is Reason.AVAILABLE
    harness.engine.stop(harness.broker)
    assert explain(harness, FIRST).reason is Reason.ACKNOWLEDGED
    down = explain(harness, SECOND)
    assert down.reason is Reason.BROKER_STOPPED
    assert str(down).endswith("but broker-a is stopped since 22:13:21")


def test_restored_engine_gives_the_same_verdicts_without_details() -> None:
    """A snapshot has no history: the verdict follows from the tables, and its sentence has the start of the history."""
    harness = acknowledged_and_unread()
    harness.advance(5_000)
    engine = Engine(state=harness.engine.state())
    restored = EngineHarness(engine, engine.brokers[0])
    restored.heartbeat("client", topics={"A": "*"})
    found = explain(restored, FIRST)
    assert (found.reason, found.history_since_ms) == (Reason.ACKNOWLEDGED, restored.now_ms)
    assert "details from before 22:13:26 are no longer held" in str(found)
    assert explain(restored, SECOND).reason is Reason.AVAILABLE


def test_a_fork_gives_the_same_verdicts_and_details() -> None:
    """A fork continues the history: it has the deliveries before the fork and those of its own clients after it."""
    harness = acknowledged_and_unread()
    harness.advance(5_000)
    engine = Engine(state=harness.engine.fork_state())
    forked = EngineHarness(engine, engine.brokers[0])
    for each in (harness, forked):
        each.heartbeat("client", topics={"A": "*"})
    before, after = explain(harness, FIRST), explain(forked, FIRST)
    assert after.reason is Reason.ACKNOWLEDGED
    assert (str(after), after.history_since_ms) == (str(before), None)
    (message,) = forked.popped("A")
    forked.ack("A", forked.receipt(message))
    assert [explain(each, SECOND).reason for each in (harness, forked)] == [Reason.AVAILABLE, Reason.ACKNOWLEDGED]


def test_verdict_of_a_message_that_was_sent_twice_is_that_of_its_unfinished_copy() -> None:
    """A producer that got no response sends the message again, so that two records have one id."""
    harness = acknowledged_and_unread()
    harness.send("A", UNIQ_KEY=FIRST)
    found = explain(harness, FIRST)
    assert found.reason is Reason.AVAILABLE
    assert found.place is not None
    assert found.place.queue_offset == 2

    (first,) = [copy.place for copy in look(harness).find(FIRST)[0].copies if copy.place.queue_offset == 0]
    assert explain(harness, FIRST, place=first).reason is Reason.ACKNOWLEDGED


def test_message_that_was_sent_twice_is_acknowledged_after_both_of_its_retries() -> None:
    harness = acknowledged_and_unread()
    harness.send("A", UNIQ_KEY=SECOND)
    assert len(harness.popped("A")) == 2
    harness.advance(15_000)
    *_, newest = retries = harness.popped("A")
    assert len(retries) == 2
    harness.ack("A", harness.receipt(newest))
    assert explain(harness, SECOND).reason is Reason.IN_FLIGHT
    harness.ack("A", harness.receipt(retries[0]))
    assert explain(harness, SECOND).reason is Reason.ACKNOWLEDGED


def test_explanation_without_a_group_has_a_verdict_for_each_group_of_the_message() -> None:
    """A group is listed if it subscribes to the topic, has an offset there, or has the message as a dead letter."""
    harness = acknowledged_and_unread()
    harness.heartbeat("another client", "other", {"B": "*"})
    harness.heartbeat("a third client", "subscribed", {"A": "*"})
    (copy,) = look(harness).find(FIRST)[0].copies
    harness.engine.execute(harness.broker, SendMessageBack("failed", copy.place.physical_offset, -1, origin_topic="A"))
    found = explain(harness, FIRST, None)
    assert found.reason is Reason.AVAILABLE
    assert {each.group: each.reason for each in found.groups} == {
        "G": Reason.ACKNOWLEDGED,
        "failed": Reason.DEAD,
        "subscribed": Reason.AVAILABLE,
    }


def test_pulled_message_of_a_closed_connection_is_not_acknowledged() -> None:
    """With KV records pops and pulls share one offset; the delivery record shows that this message was pulled."""
    harness = make_harness(pop_consumer_kv_service_init=True, pop_consumer_kv_service_enable=True)
    harness.topic("A")
    for message_id in (FIRST, SECOND):
        harness.send("A", UNIQ_KEY=message_id)
    harness.pull("A", count=1)
    harness.engine.execute(harness.broker, UpdateConsumerOffset("G", "A", 0, 1))
    harness.pull("A", 1, count=1)
    harness.engine.execute(harness.broker, ChannelClosed())
    assert explain(harness, FIRST).reason is Reason.ACKNOWLEDGED
    assert explain(harness, SECOND).reason is Reason.NO_MEMBERS


def test_unknown_message_and_group_are_explained_by_a_verdict() -> None:
    harness = acknowledged_and_unread()
    assert explain(harness, "no such id").reason is Reason.NEVER_RECEIVED
    assert explain(harness, "no such id", None).groups == ()
    assert explain(harness, SECOND, "no such group").reason is Reason.NO_SUCH_GROUP


def every_state() -> EngineHarness:
    """Return a harness with a message in each state that a copy can have, such as delayed, half and dead."""
    harness = make_harness()
    in_every_state(harness)
    return harness


@pytest.mark.parametrize("make", [every_state, harness_with_data, acknowledged_and_unread])
def test_explaining_everything_changes_nothing(make: Callable[[], EngineHarness]) -> None:
    """Explanations of each stored record, with and without a group, change no table of the engine."""
    harness = make()
    before = held_by(harness.engine)
    found, reasons = look(harness), set()
    explainer = Explainer(found, harness.engine.history, lambda: harness.now_ms)
    for topic in [*(topic.name for topic in found.topics()), "missing"]:
        for copy in found.copies(topic):
            message = found.at(copy.place)
            assert message is not None
            for group in ("G", "H", "missing", None):
                verdict = explainer.explain(message, message.message_id, group, place=copy.place)
                assert verdict.facts, verdict
                reasons |= {verdict.reason, *(each.reason for each in verdict.groups)}
    assert len(reasons) > 2
    assert changes(before, held_by(harness.engine)) == {}


def test_explanations_and_histories_do_not_import_the_journal() -> None:
    """A verdict must not depend on the number of entries that the journal keeps."""
    for room in (explanation, inspection):
        for file in Path(str(room.__file__)).parent.glob("*.py"):
            assert "gate.journal" not in file.read_text(), file
