"""Reasons that lie in the group: it does not exist, must not consume, has no members, or does not subscribe."""

from contextlib import suppress

import pytest
from explained_sdks import Scene
from rocketmq_testkit.conformance.clients.remoting_request import request
from rocketmq_testkit.conformance.drivers.process import DriverError
from rocketmq_testkit.fixtures import NotFound, Reason
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode


def test_an_unknown_group_is_named_with_the_nearest_one(scene: Scene) -> None:
    """The sentence about a misspelled group names the group with the nearest name."""
    scene.topic()
    scene.simple("python")
    scene.emulator.wait_for_consumer(scene.name)
    misspelled = scene.name.replace("group", "gruop")
    found = scene.explain(scene.send(), Reason.NO_SUCH_GROUP, group=misspelled)
    assert str(found).endswith(f"but there is no group {misspelled}; the nearest is {scene.name}")


def test_a_deleted_group_is_the_reason(scene: Scene) -> None:
    """If a clean-up between two tests deletes the group, a new consumer of it gets the acknowledged message again."""
    scene.topic()
    driver = scene.simple("python")
    first = scene.send()
    [received] = scene.call(driver, "receive", max=1, invisible_ms=30_000)["messages"]
    scene.call(driver, "ack", h=received["h"])
    scene.explain(first, Reason.ACKNOWLEDGED)
    scene.close(driver)
    scene.emulator.delete_group(scene.name)
    found = scene.explain(scene.send(), Reason.NO_SUCH_GROUP)
    assert f"but group {scene.name} was deleted at " in str(found)
    with pytest.raises(NotFound, match=r"it was deleted at .*; create it again, or start a consumer of it"):
        scene.emulator.groups[scene.name]
    scene.simple("python", "c2")
    assert len(scene.call(driver, "receive", "c2", max=1, invisible_ms=30_000)["messages"]) == 1
    again = scene.explain(first, Reason.IN_FLIGHT)
    assert f"; group {scene.name} was deleted at " in str(again)


def test_a_group_forbidden_for_the_topic_is_the_reason(scene: Scene) -> None:
    """The broker refuses the pulls of a consumer whose group is forbidden for the topic."""
    topic = scene.topic()
    scene.emulator.group(scene.name)
    with RemotingClient(scene.emulator.broker) as client:
        fields = {"group": scene.name, "topic": topic, "readable": False}
        assert client.request(*request(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, fields)).code == 0
    scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name)
    found = scene.explain(scene.send(), Reason.GROUP_FORBIDDEN)
    assert f"group {scene.name} is forbidden to consume {topic}" in str(found)


def test_a_disabled_group_is_the_reason(scene: Scene) -> None:
    """A receive of a disabled group fails; when the group is enabled, it returns the message."""
    scene.topic()
    driver = scene.simple("java-grpc")
    scene.emulator.group(scene.name, consume_enable=False)
    message = scene.send()
    with suppress(DriverError):
        scene.call(driver, "receive", max=1, invisible_ms=20_000)
    found = scene.explain(message, Reason.CONSUME_DISABLED)
    assert str(found).endswith(f"but group {scene.name} has consumption disabled, so brokers deliver nothing to it")
    assert [change.sentence for change in found.changes] == [f'rocketmq.group("{scene.name}", consume_enable=True)']

    scene.emulator.group(scene.name, consume_enable=True)
    assert len(scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"]) == 1
    scene.explain(message, Reason.IN_FLIGHT)


def test_members_with_other_topics_are_the_reason(scene: Scene) -> None:
    """The sentence lists the topics to which the members subscribe instead."""
    topic = scene.topic()
    scene.emulator.topic("another-topic", queues=1)
    scene.push("java-remoting", sub={"another-topic": {"expr": "*", "type": "TAG"}})
    scene.emulator.wait_for_consumer(scene.name)
    found = scene.explain(scene.send(), Reason.NOBODY_SUBSCRIBES)
    assert f"the only member of group {scene.name} subscribes to another-topic, and not to {topic}" in str(found)


@pytest.mark.parametrize("received", [True, False], ids=["receiver", "no receiver"])
def test_a_group_without_members_is_the_reason(scene: Scene, *, received: bool) -> None:
    """Both a message that was never delivered and the retry of a message whose consumer has left wait for a member."""
    scene.topic()
    scene.emulator.group(scene.name)
    driver = scene.simple("python")
    message = scene.send()
    if received:
        assert len(scene.call(driver, "receive", max=1, invisible_ms=10_000)["messages"]) == 1
    scene.close(driver)
    scene.emulator.clock.advance("15s")
    found = scene.explain(message, Reason.NO_MEMBERS)
    assert str(found).endswith(f"but group {scene.name} has no connected member")
    assert ("is stored for retry 1 of 16" in str(found)) == received
