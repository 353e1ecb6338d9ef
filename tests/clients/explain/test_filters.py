"""Reasons that lie in the subscription: tags, SQL, members with different subscriptions, tags with the same hash."""

import pytest
from explained_sdks import Scene
from rocketmq_testkit.conformance.drivers.process import Driver
from rocketmq_testkit.fixtures import Message, Reason
from sdks import ALL, PUSH


def consume(scene: Scene, sdk: str, expression: str, kind: str = "TAG") -> Driver:
    """Start a consumer of the topic: a push consumer, or a simple consumer if the SDK has no other."""
    if sdk in PUSH:
        driver = scene.push(sdk, sub=scene.subscription(expression, kind))
        scene.emulator.wait_for_consumer(scene.name, assigned=True)
        return driver
    return scene.simple(sdk, expression=expression, kind=kind)


def pass_over(scene: Scene, sdk: str, driver: Driver, accepted: Message) -> None:
    """Wait until the consumer has received a message that follows those that its filter drops."""
    if sdk in PUSH:
        scene.wait_for(driver, accepted.body)
        return
    received: list[dict[str, object]] = []
    while not received:
        received = scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"]
    assert received[0]["id"] == accepted.message_id


@pytest.mark.parametrize("sdk", ALL)
def test_another_tag_is_the_reason(scene: Scene, sdk: str) -> None:
    """The sentence has the expression of the subscription and the tag of the message."""
    scene.topic()
    driver = consume(scene, sdk, "b || c")
    filtered = scene.send(b"filtered", tag="a")
    pass_over(scene, sdk, driver, scene.send(b"accepted", tag="b"))
    found = scene.explain(filtered, Reason.FILTERED_BY_TAG)
    assert "b || c" in str(found)
    assert "`a`" in str(found)
    assert found.changes


def test_the_subscription_of_a_consumer_that_has_left_is_the_reason(scene: Scene) -> None:
    """The broker forgets the subscription when the last consumer leaves, as consumers do before a test ends."""
    scene.topic()
    driver = consume(scene, "java-remoting", "b")
    filtered = scene.send(b"filtered", tag="a")
    pass_over(scene, "java-remoting", driver, scene.send(b"accepted", tag="b"))
    scene.emulator.clock.advance("1ms")  # waits until the offset is committed
    scene.close(driver)
    found = scene.explain(filtered, Reason.FILTERED_BY_TAG)
    last = f"the last subscription `TAG = b` of group {scene.name}, whose consumers have left, did not match tag `a`"
    assert last in str(found)


@pytest.mark.parametrize("sdk", ["java-grpc", "java-remoting"])
def test_a_false_sql_condition_is_the_reason(scene: Scene, sdk: str) -> None:
    """The sentence has the condition that was false, and the value of its property."""
    scene.topic()
    driver = consume(scene, sdk, "price > 10 AND region = 'n'", "SQL92")
    filtered = scene.send(b"filtered", properties={"price": "9", "region": "n"})
    pass_over(scene, sdk, driver, scene.send(b"accepted", properties={"price": "11", "region": "n"}))
    found = scene.explain(filtered, Reason.FILTERED_BY_SQL)
    assert "`price > 10` was not true" in str(found)
    assert "price is `9`" in str(found)
    assert "region =" in str(found)  # the whole subscription precedes its condition


def test_the_subscription_of_another_member_is_the_reason(scene: Scene) -> None:
    """If two members subscribe differently, the broker filters for both with the newest subscription.

    The first member has the queue and subscribes to the tag of the message, and never receives it.
    """
    scene.topic()
    first = scene.push("java-remoting", "c1", expression="a")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.push("java-remoting", "c2", expression="b")
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
    filtered = scene.send(b"filtered", tag="a")
    passed = scene.send(b"passed", tag="b")
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(passed, scene.name).reason is not Reason.AVAILABLE, limit="2m"
    )
    found = scene.explain(filtered, Reason.FILTERED_BY_MEMBER)
    for client in ("c1", "c2"):
        assert f"{scene.name}-{client}" in str(found)
    assert "disagree" in str(found)
    assert scene.bodies(first) == []


def test_a_tag_with_the_same_hash_is_dropped_by_the_sdk(scene: Scene) -> None:
    """The broker compares hashes of tags, and those of `Aa` and `BB` are equal; the SDK compares the tags again."""
    scene.topic()
    driver = consume(scene, "java-remoting", "BB")
    filtered = scene.send(b"filtered", tag="Aa")
    pass_over(scene, "java-remoting", driver, scene.send(b"accepted", tag="BB"))
    scene.emulator.clock.advance("1ms")  # waits until the offset beyond both is committed
    found = scene.explain(filtered, Reason.TAG_HASH_COLLISION)
    assert "have the same hash (BB, Aa)" in str(found)
    assert scene.bodies(driver) == [b"accepted"]
