"""Idle consumers: why a group or a client of the Java SDK receives nothing at this moment."""

from explained_sdks import Scene
from rocketmq_testkit.emulator.explanation.facts import ChangeAction
from rocketmq_testkit.fixtures import Reason
from suspended import suspended

SILENCE_MS = 31_000


def test_a_member_with_empty_queues_is_idle(scene: Scene) -> None:
    """The sentence names the queues of the member, and the long polls in which it waits."""
    topic = scene.topic(queues=4)
    scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    client = scene.client_id()
    for found in (scene.emulator.groups[scene.name].explain(), scene.emulator.clients[client].explain()):
        assert str(found).startswith(f"{client} has queues 0-3 of {topic}, all empty")
        assert found.changes[0].sentence == f"send a message to {topic}"


def test_a_paused_consumer_is_idle_with_messages_to_read(scene: Scene) -> None:
    topic = scene.topic(queues=1)
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.leave_unread(driver)
    found = scene.emulator.groups[scene.name].explain()
    assert f"has queue 0 of {topic}, with 1 message to read in broker-a/0" in str(found)


def test_idle_members_with_different_subscriptions_are_named(scene: Scene) -> None:
    """The sentence names both members with their filter expressions."""
    topic = scene.topic()
    scene.push("java-remoting", "c1", expression="a")
    scene.push("java-remoting", "c2", expression="b")
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
    found = scene.emulator.groups[scene.name].explain()
    assert f"the members of {scene.name} subscribe differently to {topic}: " in str(found)
    assert "subscribes `a`" in str(found)
    assert "subscribes `b`" in str(found)


def test_a_member_without_a_queue_is_idle(scene: Scene) -> None:
    """Of two members of a group whose topic has one queue, one has no queue and stays idle."""
    topic = scene.topic(queues=1)
    scene.push("java-remoting", "c1")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.push("java-remoting", "c2")
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
    [idle] = [each for each in scene.emulator.groups[scene.name].members if f"{scene.name}-c2" in each.id]
    found = idle.explain()
    assert str(found).startswith(
        f"{idle.id} has no queue of {topic}: {topic} has 1 queue and group {scene.name} 2 members"
    )
    assert found.changes[0].sentence == f"give {topic} at least 2 queues"


def test_a_client_without_heartbeats_is_idle(scene: Scene) -> None:
    """The sentence says that a client whose process hangs has sent no heartbeat for 31 s.

    The test moves the engine's time directly, because a jump of the clock would extend the leases of all clients.
    """
    scene.topic(queues=1)
    driver = scene.push("java-remoting", number=1)
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    [pid] = driver.pids
    with suspended(pid):
        scene.emulator.run_on_loop(lambda host: host.real_time.jump(SILENCE_MS))
        found = scene.emulator.clients[scene.client_id()].explain()
    assert " has not sent a heartbeat for 3" in str(found)
    assert " s of emulator time" in str(found)


def test_a_member_that_waits_for_a_lock_is_idle(scene: Scene) -> None:
    """The sentence about a member that waits for a queue lock names the silent client that holds the lock."""
    topic = scene.topic(queues=1)
    hanging = scene.push("java-remoting", "z", number=1, mode="orderly")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    [pid] = hanging.pids
    with suspended(pid):
        scene.push("java-remoting", "a", mode="orderly")
        scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
        scene.send(b"of the long poll")
        [waiting] = [each for each in scene.emulator.groups[scene.name].members if f"{scene.name}-a" in each.id]
        found = waiting.explain()
    assert f"has no queue of {topic}" in str(found)
    assert "waits for the lock of queue 0, which" in str(found)
    assert f"{scene.name}-z" in str(found)


def test_skipped_messages_are_named(scene: Scene) -> None:
    """The sentence about a consumer with a wrong tag says that its queue is empty, and names the filtered message."""
    topic = scene.topic(queues=1)
    driver = scene.simple("python", expression="coffe")
    message = scene.send(tag="coffee")
    scene.call(driver, "receive", max=1, invisible_ms=10_000)
    found = scene.emulator.groups[scene.name].explain()
    assert f"may read the only queue of {topic}, empty; message {message.message_id} of {topic} is stored" in str(found)
    assert "did not match tag `coffee`" in str(found)


def test_a_simple_consumer_that_receives_nothing_is_named(scene: Scene) -> None:
    """The sentence says that a message waits, and that the application has no receive in progress."""
    scene.topic(queues=1)
    scene.simple("python")
    scene.emulator.wait_for_consumer(scene.name)
    scene.send()
    found = scene.emulator.clients[scene.client_id()].explain()
    assert "has no receive in progress (its application decides when it receives)" in str(found)


def test_messages_of_a_client_that_left_are_named(scene: Scene) -> None:
    """The sentence about a group names the messages in flight of a consumer that was closed."""
    scene.topic(queues=1)
    driver = scene.simple("python")
    message = scene.send()
    while not scene.call(driver, "receive", max=1, invisible_ms=30_000)["messages"]:
        pass
    client = scene.client_id()
    scene.close(driver)
    scene.emulator.clock.advance_until(lambda: client not in scene.emulator.clients, limit="10s")
    found = scene.emulator.groups[scene.name].explain()
    assert f"{client}, which is no member any more, has 1 message in flight until " in str(found)
    verdict = scene.explain(message, Reason.IN_FLIGHT)
    assert "which is not connected any more" in str(verdict)
    assert [change.action for change in verdict.changes] == [ChangeAction.ADVANCE]
