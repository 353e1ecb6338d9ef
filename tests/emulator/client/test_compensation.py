"""Compensated subscriptions: a group without heartbeats uses the subscription in its requests, until that expires."""

from engine_world import World, refused
from rocketmq_testkit.emulator.client.client_registry import SCAN_PERIOD_MS
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig

EXPIRED_MS = 600_000


def subscribed_expression(world: World, topic: str = "A") -> str | None:
    """Return the expression of group G's subscription."""
    found = world.broker.clients.subscription("G", topic)
    return None if found is None else found.sub_string


def test_a_compensated_subscription_expires_after_ten_minutes(world: World) -> None:
    """A compensated subscription expires at the first scan after ten minutes; a later request restores it."""
    world.topic("A")
    world.engine.execute(world.broker, CreateGroup(GroupConfig("G")))
    world.pop("A", expression="x")
    assert subscribed_expression(world) == "x"
    world.advance(EXPIRED_MS)
    assert subscribed_expression(world) == "x"
    world.advance(SCAN_PERIOD_MS)
    assert subscribed_expression(world) is None
    world.pop("A", expression="y")
    assert subscribed_expression(world) == "y"
    assert subscribed_expression(world, "%RETRY%G_A") == "*"


def test_each_request_renews_the_compensated_subscriptions(world: World) -> None:
    """Each request renews the subscriptions of topic and retry topic; their version is the time of the last one."""
    world.topic("A")
    world.engine.execute(world.broker, CreateGroup(GroupConfig("G")))
    world.pop("A")
    world.advance(EXPIRED_MS - SCAN_PERIOD_MS)
    asked = world.now_ms
    world.pop("A")
    world.advance(EXPIRED_MS)
    for topic in ("A", "%RETRY%G_A"):
        found = world.broker.clients.subscription("G", topic)
        assert found is not None
        assert found.sub_version == asked
    world.advance(SCAN_PERIOD_MS)
    assert subscribed_expression(world) is None
    assert subscribed_expression(world, "%RETRY%G_A") is None


def test_a_compensated_subscription_keeps_an_invalid_expression(world: World) -> None:
    """A pop with an invalid expression is rejected, but its subscription and type are stored."""
    world.topic("A")
    world.engine.execute(world.broker, CreateGroup(GroupConfig("G")))
    assert refused(world.pop("A", expression="a >", kind="SQL92")).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert subscribed_expression(world) == "a >"
    retries = world.broker.clients.subscription("G", "%RETRY%G_A")
    assert retries is not None
    assert (retries.sub_string, retries.expression_type) == ("*", "SQL92")


def test_compensated_subscriptions_of_old_groups_are_removed(world: World) -> None:
    """Many groups send one request each; only the subscriptions of the last twenty minutes remain."""
    world.topic("A")
    held = []
    for number in range(100):
        world.engine.execute(world.broker, CreateGroup(GroupConfig(f"G{number}")))
        world.pop("A", group=f"G{number}")
        held.append(len(world.broker.clients._compensated))
        world.advance(60_000)
    assert max(held) <= 2 * 22
    assert max(held[:50]) == max(held)


def test_the_cleanup_keeps_compensated_subscriptions_that_are_not_expired(world: World) -> None:
    """The cleanup, triggered by the next request, removes only the expired one of two subscriptions."""
    world.topic("A")
    for group in ("OLD", "LIVE", "NEW"):
        world.engine.execute(world.broker, CreateGroup(GroupConfig(group)))
    world.pop("A", group="OLD", expression="old")
    world.advance(EXPIRED_MS // 2)
    world.pop("A", group="LIVE", expression="live")
    world.advance(EXPIRED_MS // 2 + SCAN_PERIOD_MS)
    world.pop("A", group="NEW", expression="new")
    found = {group: world.broker.clients.subscription(group, "A") for group in ("OLD", "LIVE", "NEW")}
    assert {group: each and each.sub_string for group, each in found.items()} == {
        "OLD": None,
        "LIVE": "live",
        "NEW": "new",
    }
    assert {group for group, _ in world.broker.clients._compensated} == {"LIVE", "NEW"}
