"""Verdicts of a real engine: the judged copies and groups, and facts of the past before hindrances of the present."""

from pathlib import Path

from engine_world import World, make_world
from inspected import look
from rocketmq_testkit.emulator import explanation, inspection
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.inspection.places import Place
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
    assert "before 22:13:26, no delivery is on record" in str(found)
    assert explain(restored, SECOND).reason is Reason.AVAILABLE


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


def test_unknown_message_topic_and_group_are_verdicts() -> None:
    world = acknowledged_and_unread()
    assert explain(world, "no such id").reason is Reason.NEVER_RECEIVED
    assert explain(world, "no such id", None).groups == ()
    assert explain(world, SECOND, "no such group").reason is Reason.NO_SUCH_GROUP


def test_verdict_reads_no_journal() -> None:
    """Neither room imports the journal, so a verdict does not depend on the entries that it still holds."""
    for room in (explanation, inspection):
        for file in Path(str(room.__file__)).parent.glob("*.py"):
            assert "gate.journal" not in file.read_text(), file
