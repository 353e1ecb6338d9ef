"""The last subscriptions of groups in the history: a bounded table that remains when the consumers have left."""

from engine_harness import make_harness
from rocketmq_testkit.emulator.history.last_subscriptions import (
    EXPRESSION_MAX,
    SUBSCRIPTIONS_MAX,
    LastSubscription,
    LastSubscriptions,
)
from rocketmq_testkit.emulator.operations.clients import ConsumerData, Heartbeat, SubscriptionData, UnregisterClient
from rocketmq_testkit.emulator.operations.groups import CreateGroup, DeleteGroup, GroupConfig


def test_a_subscription_remains_until_its_group_is_deleted() -> None:
    harness = make_harness()
    harness.engine.execute(harness.broker, CreateGroup(GroupConfig("billing")))
    for expression, version in (("a", 1), ("b", 2)):
        subscription = SubscriptionData("orders", expression, sub_version=version)
        consumer = ConsumerData("billing", subscriptions=[subscription])
        harness.engine.execute(harness.broker, Heartbeat("c", [], [consumer]))
    harness.engine.execute(harness.broker, UnregisterClient("c", consumer_group="billing"))
    last = harness.engine.history.subscriptions
    assert last.of("billing", "orders") == LastSubscription("b", "TAG")
    assert (last.of("audit", "orders"), last.of("billing", "returns")) == (None, None)
    harness.engine.execute(harness.broker, DeleteGroup("billing"))
    assert last.of("billing", "orders") is None


def test_a_copy_is_independent() -> None:
    last = LastSubscriptions()
    last.note("billing", "orders", LastSubscription("a", "TAG"))
    copy = last.copy()
    last.note("billing", "orders", LastSubscription("b", "TAG"))
    assert copy.of("billing", "orders") == LastSubscription("a", "TAG")


def test_subscriptions_and_their_texts_are_bounded() -> None:
    """A full table drops the subscription that changed longest ago. Too long an expression is not known at all."""
    last, tag = LastSubscriptions(), LastSubscription("a", "TAG")
    for number in range(SUBSCRIPTIONS_MAX):
        last.note(f"g{number}", "orders", tag)
    last.note("g0", "orders", LastSubscription("b", "TAG"))
    last.note("new", "orders", tag)
    assert (last.of("g1", "orders"), last.of("g0", "orders")) == (None, LastSubscription("b", "TAG"))
    last.note("g0", "orders", LastSubscription("x" * EXPRESSION_MAX, "TAG"))
    assert last.of("g0", "orders") is None
