"""Reasons that lie in the queue of a message: its owner, its order, its lock, and the limits of the group."""

from explained_sdks import Scene, Sdks
from rocketmq_testkit.conformance.drivers.process import Addresses, start
from rocketmq_testkit.fixtures import Reason
from suspended import suspended


def test_a_broadcast_message_names_the_members_that_received_it(scene: Scene) -> None:
    """Members of a broadcasting group report no progress; the sentence names those that received the message."""
    scene.topic()
    driver = scene.push("java-remoting", mode="broadcast")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send()
    scene.wait_for(driver, b"tea")
    found = scene.explain(message, Reason.BROADCAST)
    assert "keep their own progress; broker-a delivered it to" in str(found)
    assert f"{scene.name}-c1" in str(found)


def test_more_members_than_queues_are_the_reason(scene: Scene) -> None:
    """Of two members of a group whose topic has one queue, the member with the queue has paused."""
    topic = scene.topic(queues=1)
    first = scene.push("java-remoting", "c1")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.push("java-remoting", "c2")
    found = scene.explain(scene.leave_unread(first), Reason.FEWER_QUEUES)
    assert f"{topic} has 1 queue and group {scene.name} 2 members" in str(found)
    assert f"{scene.name}-c2" in str(found)
    assert found.changes[0].sentence == f"give {topic} at least 2 queues"


def test_members_with_different_strategies_are_the_reason(scene: Scene) -> None:
    """Two members with different strategies leave out a queue: c1 takes 0 and 1, c2 takes 1 and 3, nobody takes 2."""
    topic = scene.topic(queues=4)
    scene.push("java-remoting", "c1", allocate="AVG")
    scene.push("java-remoting", "c2", allocate="AVG_BY_CIRCLE")
    producer = scene.client("producer", "java-remoting", "p1", topics=[topic])
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2, wait="30s")
    scene.emulator.clock.advance_until(
        lambda: _has_requested(scene, 3) and not _has_requested(scene, 2), limit="5m", wait="30s"
    )
    sent = scene.call(producer, "send", "p1", topic=topic, body=b"tea", queue=2)
    found = scene.explain(sent["id"], Reason.STRATEGY)
    assert "AVG" in str(found)
    assert f"{scene.name}-c2" in str(found)


def _has_requested(scene: Scene, queue_id: int) -> bool:
    """True if a member with the queue, as the broker assigns it, has requested it."""
    return any(
        each.queue_id == queue_id and each.requested_ms is not None
        for each in scene.emulator.run_on_loop(lambda host: host.inspection.assignments(scene.name, scene.name))
    )


def test_a_new_queue_waits_for_the_next_rebalance(scene: Scene, shared_sdks: Sdks) -> None:
    """A running consumer requests a new queue after its next rebalance, whose time the SDK's own clock determines."""
    topic = scene.topic(queues=1)
    emulator = shared_sdks.emulator
    with start("go-remoting", Addresses(emulator.namesrv, emulator.endpoint), slow=True) as driver:
        subscription = scene.subscription()
        driver.call("push", as_="c1", group=scene.name, sub=subscription, mode="concurrent", from_="first")
        emulator.wait_for_consumer(scene.name, assigned=True)
        emulator.topic(topic, queues=2)
        message = next(sent for sent in (scene.send(message_group=f"{number}") for number in range(9)) if sent.queue_id)
        found = scene.explain(message, Reason.NOT_REBALANCED)
    assert f"no member of {scene.name} has requested queue 1 yet" in str(found)
    assert "the Go remoting SDK rebalances every 20 s" in str(found)
    assert found.changes[0].sentence == f'rocketmq.wait_for_consumer("{scene.name}", assigned=True)'


def test_a_queue_locked_by_a_silent_client_is_the_reason(scene: Scene) -> None:
    """A consumer that hangs keeps its lock, for which the member that the queue is now assigned to waits.

    The broker divides queues by client id, so the second consumer has the name that comes first.
    """
    scene.topic(queues=1)
    hanging = scene.push("java-remoting", "z", number=1, mode="orderly")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    [pid] = hanging.pids
    with suspended(pid):
        scene.push("java-remoting", "a", mode="orderly")
        scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
        scene.send(b"of the long poll")
        found = scene.explain(scene.send(), Reason.QUEUE_LOCKED)
    assert "queue 0 is locked by" in str(found)
    assert f"{scene.name}-a" in str(found)
    assert found.until_ms is not None


def test_a_message_behind_another_of_its_group_waits(scene: Scene) -> None:
    """The second message of a message group waits until the first is acknowledged."""
    scene.topic("FIFO")
    scene.emulator.group(scene.name, orderly=True)
    driver = scene.simple("python")
    first = scene.send(b"first", message_group="table-7")
    second = scene.send(b"second", message_group="table-7")
    [received] = scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"]
    assert received["id"] == first.message_id
    found = scene.explain(second, Reason.BEHIND_IN_ORDER)
    assert f"behind message {first.message_id} (offset 0) of message group table-7, which is in flight" in str(found)

    scene.call(driver, "ack", h=received["h"])
    assert len(scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"]) == 1
    scene.explain(second, Reason.IN_FLIGHT)


def test_the_limit_of_messages_in_flight_is_the_reason(scene: Scene) -> None:
    """A broker with a limit of messages in flight returns no more of the queue."""
    scene.topic()
    driver = scene.simple("java-grpc")
    scene.emulator.configure({"enablePopMessageThreshold": True, "popInflightMessageThreshold": 1})
    try:
        messages = [scene.send(b"%d" % number) for number in range(3)]
        for _ in messages[1:]:
            scene.call(driver, "receive", max=1, invisible_ms=20_000)
        assert scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"] == []
        found = scene.explain(messages[2], Reason.FLOW_CONTROLLED)
    finally:
        scene.emulator.configure({"enablePopMessageThreshold": False})
    assert "has 2 messages of queue 0 in flight, more than popInflightMessageThreshold=1" in str(found)
