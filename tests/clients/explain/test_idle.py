"""Idle consumers: why a group or a client of the Java SDK receives nothing at this moment."""

import os
import signal

from explained_sdks import Scene

SILENCE_MS = 31_000


def test_all_queues_are_empty(scene: Scene) -> None:
    """The queues of the member are named, and the long polls in which it waits."""
    topic = scene.topic(queues=4)
    scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    client = scene.client_id()
    for found in (scene.emulator.groups[scene.name].explain(), scene.emulator.clients[client].explain()):
        assert str(found).startswith(f"{client} has queues 0-3 of {topic}, all empty")
        assert found.changes[0].sentence == f"send a message to {topic}"


def test_paused_consumer_leaves_messages(scene: Scene) -> None:
    topic = scene.topic(queues=1)
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.leave_unread(driver)
    found = scene.emulator.groups[scene.name].explain()
    assert f"has queue 0 of {topic}, with 1 message to read in broker-a/0" in str(found)


def test_members_with_different_subscriptions(scene: Scene) -> None:
    """Both members are named with their expressions."""
    topic = scene.topic()
    scene.push("java-remoting", "c1", expression="a")
    scene.push("java-remoting", "c2", expression="b")
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
    found = scene.emulator.groups[scene.name].explain()
    assert f"the members of {scene.name} subscribe differently to {topic}: " in str(found)
    assert "subscribes `a`" in str(found)
    assert "subscribes `b`" in str(found)


def test_member_without_a_queue(scene: Scene) -> None:
    """Of two members of a topic with one queue, the second is idle for good."""
    topic = scene.topic(queues=1)
    scene.push("java-remoting", "c1")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.push("java-remoting", "c2")
    scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
    [idle] = [each for each in scene.emulator.groups[scene.name].members if f"{scene.name}-c2" in each.id]
    found = idle.explain()
    assert str(found).startswith(f"{idle.id} has no queue of {topic}: {topic} has 1 queue and {scene.name} 2 members")
    assert found.changes[0].sentence == f"give {topic} at least 2 queues"


def test_silent_client(scene: Scene) -> None:
    """A client whose process hangs has sent no heartbeat for 31 s.

    The time of the engine passes at once. A jump of the clock would extend the leases of all clients.
    """
    scene.topic(queues=1)
    driver = scene.push("java-remoting", number=1)
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    [pid] = driver.pids
    os.kill(pid, signal.SIGSTOP)
    try:
        scene.emulator.run_on_loop(lambda host: host.real_time.jump(SILENCE_MS))
        found = scene.emulator.clients[scene.client_id()].explain()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert " has not sent a heartbeat for 3" in str(found)
    assert " s of emulator time" in str(found)


def test_stopped_lock_owner(scene: Scene) -> None:
    """A member that waits for the lock of a silent one is told who holds it."""
    topic = scene.topic(queues=1)
    hanging = scene.push("java-remoting", "z", number=1, mode="orderly")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    [pid] = hanging.pids
    os.kill(pid, signal.SIGSTOP)
    try:
        scene.push("java-remoting", "a", mode="orderly")
        scene.emulator.clock.advance_until(lambda: len(scene.emulator.groups[scene.name].members) == 2)
        scene.send(b"of the long poll")
        [waiting] = [each for each in scene.emulator.groups[scene.name].members if f"{scene.name}-a" in each.id]
        found = waiting.explain()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert f"has no queue of {topic}" in str(found)
    assert "waits for the lock of queue 0, which" in str(found)
    assert f"{scene.name}-z" in str(found)
