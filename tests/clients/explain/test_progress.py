"""Reasons that lie in the progress of a group: its first offset, resets, commits, lost responses, no request yet."""

from contextlib import suppress

from explained_sdks import Scene
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.drivers.process import Driver, DriverError, body
from rocketmq_testkit.fixtures import Reason


def test_a_new_group_that_starts_at_the_end_is_named(scene: Scene) -> None:
    """A new group that starts at the end of a queue never receives the messages before the last one.

    By default brokers start at the first message of a queue whose messages are all in memory.
    """
    scene.topic()
    missed = scene.send(b"missed")
    scene.send(b"received")
    scene.emulator.configure({"initPopOffsetByCheckMsgInMem": False})
    try:
        driver = scene.push("java-grpc", from_="last")
        scene.wait_for(driver, b"received")
    finally:
        scene.emulator.configure({"initPopOffsetByCheckMsgInMem": True})
    found = scene.explain(missed, Reason.STARTED_AT_END)
    assert f"but group {scene.name} started at offset 1 of queue 0" in str(found)
    assert scene.bodies(driver) == [b"received"]


def test_an_offset_reset_beyond_the_message_is_the_reason(scene: Scene) -> None:
    """A reset to the end while no consumer runs moves the group past the message."""
    topic = scene.topic()
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.send(b"consumed")
    scene.wait_for(driver, b"consumed")
    scene.emulator.clock.advance("1ms")  # waits until the offset is committed
    scene.close(driver)
    skipped = scene.send(b"skipped")
    scene.emulator.reset_offset(scene.name, topic, to="latest")
    found = scene.explain(skipped, Reason.RESET_PAST)
    assert f"but the offset of group {scene.name} was reset from 1 to 2" in str(found)
    assert found.changes[0].sentence == f'rocketmq.reset_offset("{scene.name}", "{topic}", to=1)'

    scene.emulator.reset_offset(scene.name, topic, to=1)
    again = scene.push("java-remoting", "c2")
    scene.wait_for(again, b"skipped", "c2")


def test_a_commit_beyond_an_unread_message_is_the_reason(scene: Scene) -> None:
    """A consumer that seeks over a message and commits passes it without a delivery.

    The consumer is paused while the message is stored, because the SDK requests messages on its own. Its waiting long
    poll receives the message before.
    """
    topic = scene.topic()
    driver = scene.client("lite", "java-remoting", sub=scene.subscription(), from_="first")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.call(driver, "pause", topic=topic)
    scene.send(b"of the long poll")
    assert poll(scene, driver) == [b"of the long poll"]
    passed = scene.send(b"passed")
    scene.call(driver, "seek", topic=topic, queue=0, to="last")
    scene.call(driver, "resume", topic=topic)
    after = scene.send(b"after")
    assert poll(scene, driver) == [b"after"]
    scene.call(driver, "commit")
    scene.emulator.clock.advance_until(lambda: scene.emulator.explain(after, scene.name).reason is Reason.ACKNOWLEDGED)
    found = scene.explain(passed, Reason.COMMITTED_PAST)
    assert f"{scene.name}-c1" in str(found)
    assert "without a delivery" in str(found)


def poll(scene: Scene, driver: Driver) -> list[bytes]:
    """Return the bodies of the first messages that a lite consumer polls."""
    found: list[dict[str, object]] = []
    while not found:
        found = scene.call(driver, "poll", ms=10_000)["messages"]
    return [body(message) for message in found]


def test_a_rule_that_drops_the_response_is_the_reason(scene: Scene) -> None:
    """The sentence names the rule that dropped the response with the message."""
    topic = scene.topic()
    driver = scene.simple("rust")
    message = scene.send()
    with scene.emulator.faults.add(faults.drop_response(), operation="ReceiveMessage", topic=topic, name="lost-pops"):
        with suppress(DriverError):
            assert scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"] == []
        found = scene.explain(message, Reason.FAULT_ACTED)
    assert "lost-pops" in str(found)


def test_a_message_that_nobody_has_requested_is_available(scene: Scene) -> None:
    """The sentence says that the application of a simple consumer decides when it receives."""
    scene.topic()
    scene.simple("python")
    found = scene.explain(scene.send(), Reason.AVAILABLE)
    assert "is available (queue 0, offset 0) and was not requested yet" in str(found)
    assert "decides when it receives" in str(found)


def test_a_message_is_available_while_another_queue_is_polled(scene: Scene) -> None:
    """The sentence about a consumer that has paused one of two queues names its long poll of the other queue."""
    topic = scene.topic(queues=2)
    driver = scene.client("lite", "java-remoting", sub=scene.subscription(), from_="first")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    producer = scene.client("producer", "java-remoting", "p1", topics=[topic])
    scene.call(driver, "pause", topic=topic, queue=0)
    scene.call(producer, "send", "p1", topic=topic, body=b"of the long poll", queue=0)
    assert poll(scene, driver) == [b"of the long poll"]
    sent = scene.call(producer, "send", "p1", topic=topic, body=b"unread", queue=0)
    found = scene.explain(sent["id"], Reason.AVAILABLE)
    assert "is available (queue 0, offset 1) and was not requested yet" in str(found)
    assert f"waits in a long poll of queue 1 of {topic} since" in str(found)
