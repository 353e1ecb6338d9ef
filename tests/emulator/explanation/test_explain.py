"""Verdicts of a real engine: the judged copies and groups, and facts of the past before hindrances of the present."""

from collections.abc import Callable
from pathlib import Path

import pytest
from all_tables import changes, held_by
from engine_world import World, make_world
from inspected import in_every_state, look
from lived_in import lived_in
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


def explain(world: World, message_id: str, group: str | None = "G", place: Place | None = None) -> Explanation:
    found = look(world)
    families = found.find(message_id)
    explainer = Explainer(found, world.engine.history, lambda: world.now_ms)
    return explainer.explain(families[0] if families else None, message_id, group, place=place)


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
    assert down.reason is Reason.BROKER_DOWN
    assert str(down).endswith("but broker-a is stopped since 22:13:21")


def test_restored_engine_gives_the_same_verdicts_without_details() -> None:
    """A snapshot has no history. The tables decide, and the sentence says since when details are held."""
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
    """A fork continues the history: it knows the delivery before it, and what its own clients did after it."""
    world = acknowledged_and_unread()
    world.advance(5_000)
    engine = Engine(state=world.engine.lend())
    forked = World(engine, engine.brokers[0])
    for each in (world, forked):
        each.heartbeat("client", topics={"A": "*"})
    before, after = explain(world, FIRST), explain(forked, FIRST)
    assert after.reason is Reason.ACKNOWLEDGED
    assert (str(after), after.history_since_ms) == (str(before), None)
    (message,) = forked.popped("A")
    forked.ack("A", forked.receipt(message))
    assert [explain(each, SECOND).reason for each in (world, forked)] == [Reason.AVAILABLE, Reason.ACKNOWLEDGED]


def test_second_copy_of_a_repeated_send_counts_until_it_is_finished() -> None:
    """A producer that missed the response sends the message again, so that two records have one id."""
    world = acknowledged_and_unread()
    world.send("A", UNIQ_KEY=FIRST)
    found = explain(world, FIRST)
    assert found.reason is Reason.AVAILABLE
    assert found.place is not None
    assert found.place.queue_offset == 2

    (first,) = [copy.place for copy in look(world).find(FIRST)[0].copies if copy.place.queue_offset == 0]
    assert explain(world, FIRST, place=first).reason is Reason.ACKNOWLEDGED


def test_each_retry_of_a_message_that_was_sent_twice_counts_until_it_is_finished() -> None:
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


def test_verdict_of_the_store_has_one_for_each_group_of_the_message() -> None:
    """A group is listed if it subscribes, has an offset, or has the message among its dead letters."""
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
    """With KV records the broker keeps the offset of pops where it keeps that of pulls; the record tells them apart."""
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


def test_unknown_message_topic_and_group_are_verdicts() -> None:
    world = acknowledged_and_unread()
    assert explain(world, "no such id").reason is Reason.NEVER_RECEIVED
    assert explain(world, "no such id", None).groups == ()
    assert explain(world, SECOND, "no such group").reason is Reason.NO_SUCH_GROUP


def every_state() -> World:
    """Return a world with a message in each state of copies."""
    world = make_world()
    in_every_state(world)
    return world


@pytest.mark.parametrize("make", [every_state, lived_in, acknowledged_and_unread])
def test_explaining_everything_changes_nothing(make: Callable[[], World]) -> None:
    """Each stored record is explained for each group and in the store; no table of the engine changes by it."""
    world = make()
    before = held_by(world.engine)
    found, reasons = look(world), set()
    explainer = Explainer(found, world.engine.history, lambda: world.now_ms)
    for topic in [*(topic.name for topic in found.topics()), "missing"]:
        for copy in found.copies(topic):
            family = found.at(copy.place)
            assert family is not None
            for group in ("G", "H", "missing", None):
                verdict = explainer.explain(family, family.message_id, group, place=copy.place)
                assert verdict.facts, verdict
                reasons |= {verdict.reason, *(each.reason for each in verdict.groups)}
    assert len(reasons) > 2
    assert changes(before, held_by(world.engine)) == {}


def test_verdict_reads_no_journal() -> None:
    """Neither room imports the journal, so a verdict does not depend on the entries that it still holds."""
    for room in (explanation, inspection):
        for file in Path(str(room.__file__)).parent.glob("*.py"):
            assert "gate.journal" not in file.read_text(), file
