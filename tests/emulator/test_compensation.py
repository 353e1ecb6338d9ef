"""What a request asked for stands for the subscription of a group that sends no heartbeats, for a while."""

from engine_world import World
from rocketmq_testkit.emulator.clients import SCAN_PERIOD_MS
from rocketmq_testkit.emulator.operations import CreateGroup, GroupConfig

EXPIRED_MS = 600_000


def wanted(world: World, topic: str = "A") -> str | None:
    """The expression that stands for group G."""
    found = world.broker.clients.subscription("G", topic)
    return None if found is None else found.sub_string


def test_it_is_forgotten_after_ten_minutes(world: World) -> None:
    """At the first look of the housekeeping after that; what the group asks for later stands again."""
    world.topic("A")
    world.engine.ask(world.broker, CreateGroup(GroupConfig("G")))
    world.pop("A", expression="x")
    assert wanted(world) == "x"
    world.advance(EXPIRED_MS)
    assert wanted(world) == "x"
    world.advance(SCAN_PERIOD_MS)
    assert wanted(world) is None
    world.pop("A", expression="y")
    assert wanted(world) == "y"
    assert wanted(world, "%RETRY%G_A") == "*"


def test_it_does_not_grow_with_the_names_of_old_groups(world: World) -> None:
    """Of groups that asked once, those of the last twenty minutes are held."""
    world.topic("A")
    held = []
    for number in range(100):
        world.engine.ask(world.broker, CreateGroup(GroupConfig(f"G{number}")))
        world.pop("A", group=f"G{number}")
        held.append(len(world.broker.clients._compensated))
        world.advance(60_000)
    assert max(held) <= 2 * 22
    assert max(held[:50]) == max(held)
