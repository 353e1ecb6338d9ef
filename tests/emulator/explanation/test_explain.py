"""Verdicts of a real engine, for messages with several copies and groups, after restarts, and without a history."""

from collections.abc import Callable
from pathlib import Path

import pytest
from all_tables import changes, held_by
from engine_world import World, make_world
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
from world_with_data import world_with_data

FIRST, SECOND = "7F0000010A2B18B4AAC2000000000001", "7F0000010A2B18B4AAC2000000000002"


def explain(world: World, message_id: str, group: str | None = "G", place: Place | None = None) -> Explanation:
    """Explain the message with an id for a group, or for all groups for None; `place` selects one of its copies."""
    found = look(world)
    messages = found.find(message_id)
    explainer = Explainer(found, world.engine.history, lambda: world.now_ms)
    return explainer.explain(messages[0] if messages else None, message_id, group, place=place)


def acknowledged_and_unread() -> World:
    """Return a world in which group G has acknowledged the first message, and not received the second."""
    world = make_world()
    world.topic("A")
    world.heartbeat("client", topics={"A": "*"})
    world.send("A", UNIQ_KEY=FIRST)
    (message,) = world.popped("A")
    world.advance(1_000)
    world.ack("A", world.receipt(message))
    world.send("A", UNIQ_KEY=SECOND)
    return world


def test_acknowledged_message_stays_acknowledged_while_its_broker_is_stopped() -> None:
    world = acknowledged_and_unread()
    assert explain(world, SECOND).reason is Reason.AVAILABLE
    world.engine.stop(world.broker)
    assert explain(world, FIRST).reason is Reason.ACKNOWLEDGED
    down = explain(world, SECOND)
    assert down.reason is Reason.BROKER_STOPPED
    assert str(down).endswith("but broker-a is stopped since 22:13:21")


def test_restored_engine_gives_the_same_verdicts_without_details() -> None:
    """A snapshot has no history: the verdict follows from the tables, and its sentence has the start of the history."""
    world = acknowledged_and_unread()
    world.advance(5_000)
    engine = Engine(state=world.engine.state())
    restored = World(engine, engine.brokers[0])
    restored.heartbeat("client", topics={"A": "*"})
    found = explain(restored, FIRST)
    assert (found.reason, found.history_since_ms) == (Reason.ACKNOWLEDGED, restored.now_ms)
    assert "details from before 22:13:26 are no longer held" in str(found)
    assert explain(restored, SECOND).reason is Reason.AVAILABLE


def test_a_fork_gives_the_same_verdicts_and_details() -> None:
    """A fork continues the history: it has the deliveries before the fork and those of its own clients after it."""
    world = acknowledged_and_unread()
    world.advance(5_000)
    engine = Engine(state=world.engine.fork_state())
    forked = World(engine, engine.brokers[0])
    for each in (world, forked):
        each.heartbeat("client", topics={"A": "*"})
    before, after = explain(world, FIRST), explain(forked, FIRST)
    assert after.reason is Reason.ACKNOWLEDGED
    assert (str(after), after.history_since_ms) == (str(before), None)
    (message,) = forked.popped("A")
    forked.ack("A", forked.receipt(message))
    assert [explain(each, SECOND).reason for each in (world, forked)] == [Reason.AVAILABLE, Reason.ACKNOWLEDGED]


def test_verdict_of_a_message_that_was_sent_twice_is_that_of_its_unfinished_copy() -> None:
    """A producer that got no response sends the message again, so that two records have one id."""
    world = acknowledged_and_unread()
    world.send("A", UNIQ_KEY=FIRST)
    found = explain(world, FIRST)
    assert found.reason is Reason.AVAILABLE
    assert found.place is not None
    assert found.place.queue_offset == 2

    (first,) = [copy.place for copy in look(world).find(FIRST)[0].copies if copy.place.queue_offset == 0]
    assert explain(world, FIRST, place=first).reason is Reason.ACKNOWLEDGED


def test_message_that_was_sent_twice_is_acknowledged_after_both_of_its_retries() -> None:
    world = acknowledged_and_unread()
    world.send("A", UNIQ_KEY=SECOND)
    assert len(world.popped("A")) == 2
    world.advance(15_000)
    *_, newest = retries = world.popped("A")
    assert len(retries) == 2
    world.ack("A", world.receipt(newest))
    assert explain(world, SECOND).reason is Reason.IN_FLIGHT
    world.ack("A", world.receipt(retries[0]))
    assert explain(world, SECOND).reason is Reason.ACKNOWLEDGED


def test_explanation_without_a_group_has_a_verdict_for_each_group_of_the_message() -> None:
    """A group is listed if it subscribes to the topic, has an offset there, or has the message as a dead letter."""
    world = acknowledged_and_unread()
    world.heartbeat("another client", "other", {"B": "*"})
    world.heartbeat("a third client", "subscribed", {"A": "*"})
    (copy,) = look(world).find(FIRST)[0].copies
    world.engine.execute(world.broker, SendMessageBack("failed", copy.place.physical_offset, -1, origin_topic="A"))
    found = explain(world, FIRST, None)
    assert found.reason is Reason.AVAILABLE
    assert {each.group: each.reason for each in found.groups} == {
        "G": Reason.ACKNOWLEDGED,
        "failed": Reason.DEAD,
        "subscribed": Reason.AVAILABLE,
    }


def test_pulled_message_of_a_closed_connection_is_not_acknowledged() -> None:
    """With KV records pops and pulls share one offset; the delivery record shows that this message was pulled."""
    world = make_world(pop_consumer_kv_service_init=True, pop_consumer_kv_service_enable=True)
    world.topic("A")
    for message_id in (FIRST, SECOND):
        world.send("A", UNIQ_KEY=message_id)
    world.pull("A", count=1)
    world.engine.execute(world.broker, UpdateConsumerOffset("G", "A", 0, 1))
    world.pull("A", 1, count=1)
    world.engine.execute(world.broker, ChannelClosed())
    assert explain(world, FIRST).reason is Reason.ACKNOWLEDGED
    assert explain(world, SECOND).reason is Reason.NO_MEMBERS


def test_unknown_message_and_group_are_explained_by_a_verdict() -> None:
    world = acknowledged_and_unread()
    assert explain(world, "no such id").reason is Reason.NEVER_RECEIVED
    assert explain(world, "no such id", None).groups == ()
    assert explain(world, SECOND, "no such group").reason is Reason.NO_SUCH_GROUP


def every_state() -> World:
    """Return a world with a message in each state that a copy can have, such as delayed, half and dead."""
    world = make_world()
    in_every_state(world)
    return world


@pytest.mark.parametrize("make", [every_state, world_with_data, acknowledged_and_unread])
def test_explaining_everything_changes_nothing(make: Callable[[], World]) -> None:
    """Explanations of each stored record, with and without a group, change no table of the engine."""
    world = make()
    before = held_by(world.engine)
    found, reasons = look(world), set()
    explainer = Explainer(found, world.engine.history, lambda: world.now_ms)
    for topic in [*(topic.name for topic in found.topics()), "missing"]:
        for copy in found.copies(topic):
            message = found.at(copy.place)
            assert message is not None
            for group in ("G", "H", "missing", None):
                verdict = explainer.explain(message, message.message_id, group, place=copy.place)
                assert verdict.facts, verdict
                reasons |= {verdict.reason, *(each.reason for each in verdict.groups)}
    assert len(reasons) > 2
    assert changes(before, held_by(world.engine)) == {}


def test_explanations_and_histories_do_not_import_the_journal() -> None:
    """A verdict must not depend on the number of entries that the journal keeps."""
    for room in (explanation, inspection):
        for file in Path(str(room.__file__)).parent.glob("*.py"):
            assert "gate.journal" not in file.read_text(), file
