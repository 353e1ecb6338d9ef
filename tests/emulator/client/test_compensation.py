"""Compensated subscriptions: a group without heartbeats uses the subscription in its requests, until that expires."""

from engine_harness import EngineHarness, refused
from rocketmq_testkit.emulator.client.client_registry import SCAN_PERIOD_MS
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig

EXPIRED_MS = 600_000


def subscribed_expression(harness: EngineHarness, topic: str = "A") -> str | None:
    """Return the expression of group G's subscription."""
    found = harness.broker.clients.subscription("G", topic)
    return None if found is None else found.sub_string


def test_a_compensated_subscription_expires_after_ten_minutes(harness: EngineHarness) -> None:
    """A compensated subscription expires at the first scan after ten minutes; a later request restores it."""
    harness.topic("A")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    harness.pop("A", expression="x")
    assert subscribed_expression(harness) == "x"
    harness.advance(EXPIRED_MS)
    assert subscribed_expression(harness) == "x"
    harness.advance(SCAN_PERIOD_MS)
    assert subscribed_expression(harness) is None
    harness.pop("A", expression="y")
    assert subscribed_expression(harness) == "y"
    assert subscribed_expression(harness, "%RETRY%G_A") == "*"


def test_each_request_renews_the_compensated_subscriptions(harness: EngineHarness) -> None:
    """Each request renews the subscriptions of topic and retry topic; their version is the time of the last one."""
    harness.topic("A")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    harness.pop("A")
    harness.advance(EXPIRED_MS - SCAN_PERIOD_MS)
    asked = harness.now_ms
    harness.pop("A")
    harness.advance(EXPIRED_MS)
    for topic in ("A", "%RETRY%G_A"):
        found = harness.broker.clients.subscription("G", topic)
        assert found is not None
        assert found.sub_version == asked
    harness.advance(SCAN_PERIOD_MS)
    assert subscribed_expression(harness) is None
    assert subscribed_expression(harness, "%RETRY%G_A") is None


def test_a_compensated_subscription_keeps_an_invalid_expression(harness: EngineHarness) -> None:
    """A pop with an invalid expression is rejected, but its subscription and type are stored."""
    harness.topic("A")
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("G")))
    assert refused(harness.pop("A", expression="a >", kind="SQL92")).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert subscribed_expression(harness) == "a >"
    retries = harness.broker.clients.subscription("G", "%RETRY%G_A")
    assert retries is not None
    assert (retries.sub_string, retries.expression_type) == ("*", "SQL92")


def test_compensated_subscriptions_of_old_groups_are_removed(harness: EngineHarness) -> None:
    """Many groups send one request each; only the subscriptions of the last twenty minutes remain."""
    harness.topic("A")
    held = []
    for number in range(100):
        harness.engine.execute(harness.broker, CreateGroup(GroupConfig(f"G{number}")))
        harness.pop("A", group=f"G{number}")
        held.append(sum(len(each.subscriptions) for each in harness.broker.clients._compensated.values()))
        harness.advance(60_000)
    assert max(held) <= 2 * 22
    assert max(held[:50]) == max(held)


def test_the_cleanup_keeps_compensated_subscriptions_that_are_not_expired(harness: EngineHarness) -> None:
    """The cleanup, triggered by the next request, removes only the expired one of two subscriptions."""
    harness.topic("A")
    for group in ("OLD", "LIVE", "NEW"):
        harness.engine.execute(harness.broker, CreateGroup(GroupConfig(group)))
    harness.pop("A", group="OLD", expression="old")
    harness.advance(EXPIRED_MS // 2)
    harness.pop("A", group="LIVE", expression="live")
    harness.advance(EXPIRED_MS // 2 + SCAN_PERIOD_MS)
    harness.pop("A", group="NEW", expression="new")
    found = {group: harness.broker.clients.subscription(group, "A") for group in ("OLD", "LIVE", "NEW")}
    assert {group: each and each.sub_string for group, each in found.items()} == {
        "OLD": None,
        "LIVE": "live",
        "NEW": "new",
    }
    held = {group: set(each.subscriptions) for group, each in harness.broker.clients._compensated.items()}
    assert held == {group: {"A", f"%RETRY%{group}_A"} for group in ("LIVE", "NEW")}
