"""Reasons that lie in a broker or a topic: stopped, unreachable, not readable, overloaded, slow readers.

These tests change brokers, so they start emulators of their own.
"""

from collections.abc import Iterator

import pytest
from explained_sdks import CONFIG, Scene, Sdks, scene_of
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_topics import topic_request
from rocketmq_testkit.conformance.drivers.process import body
from rocketmq_testkit.fixtures import Emulator, Reason
from rocketmq_testkit.remoting.client import RemotingClient
from shared_drivers import EVERYTHING

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def own_sdks() -> Iterator[Sdks]:
    """An emulator whose brokers the tests may stop, and whose log holds 1 MiB.

    With disableConsumeIfConsumerReadSlowly it disables groups that read more than 100 bytes behind the end of the log.
    """
    guard = {"disableConsumeIfConsumerReadSlowly": False, "consumerFallbehindThreshold": 100}
    with Emulator(
        config=CONFIG | guard | {"storeMaxBytes": MIB, "mappedFileSizeCommitLog": MIB // 4, "maxMessageSize": 1000}
    ) as emulator:
        sdks = Sdks(emulator)
        yield sdks
        sdks.close()


@pytest.fixture
def scene(own_sdks: Sdks, request: pytest.FixtureRequest) -> Iterator[Scene]:
    yield from scene_of(own_sdks, request)


def test_a_topic_without_read_permission_is_the_reason(scene: Scene) -> None:
    """A message in a topic without read permission is unread, although a consumer of its group is connected."""
    topic = scene.topic()
    message = scene.send()
    with RemotingClient(scene.emulator.broker) as client:
        assert client.request(*topic_request(topic, queues=1, perm=2)).code == 0
    scene.push("go-remoting")
    scene.emulator.wait_for_consumer(scene.name)
    found = scene.explain(message, Reason.TOPIC_NOT_READABLE)
    assert str(found).endswith(f"but topic {topic} has the permission -W; nobody can read it")


def test_a_stopped_broker_is_the_reason(scene: Scene) -> None:
    """An unread message of a stopped broker waits for its start."""
    scene.topic()
    driver = scene.push("go-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.leave_unread(driver)
    scene.emulator.stop_broker("broker-a")
    try:
        found = scene.explain(message, Reason.BROKER_STOPPED)
    finally:
        scene.emulator.start_broker("broker-a")
    assert "but broker-a is stopped since" in str(found)
    assert [change.sentence for change in found.changes] == ['rocketmq.start_broker("broker-a")']
    assert scene.emulator.explain(message, scene.name).reason is not Reason.BROKER_STOPPED


def test_an_unreachable_broker_is_the_reason(scene: Scene) -> None:
    """Clients cannot find a running broker without the name server, nor reach one that refuses connections."""
    scene.topic()
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.leave_unread(driver)
    for fault in (faults.stop_name_server(), faults.refuse_connection()):
        with scene.emulator.faults.add(fault, name="cut-off", optional=True):
            found = scene.explain(message, Reason.BROKER_UNREACHABLE)
            assert "broker-a runs and clients cannot reach it: " in str(found)


def test_a_broker_without_read_permission_is_the_reason(scene: Scene) -> None:
    """A broker whose permission is 2 (write only) refuses pulls."""
    scene.topic()
    driver = scene.push("go-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.leave_unread(driver)
    scene.emulator.configure({"brokerPermission": 2})
    try:
        found = scene.explain(message, Reason.BROKER_NOT_READABLE)
    finally:
        scene.emulator.configure({"brokerPermission": 6})
    assert str(found).endswith("but broker-a refuses pulls and pops: brokerPermission=2")


def test_a_group_disabled_for_slow_reads_is_suspended(scene: Scene) -> None:
    """The broker disables a group that reads more than 100 bytes behind the end of the log."""
    scene.topic()
    driver = scene.simple("python")
    scene.emulator.configure({"disableConsumeIfConsumerReadSlowly": True})
    try:
        messages = [scene.send(bytes(200)) for _ in range(3)]
        assert len(scene.call(driver, "receive", max=1, invisible_ms=20_000)["messages"]) == 1
        scene.emulator.clock.advance("3m", wait=None)
        found = scene.explain(messages[2], Reason.SUSPENDED)
    finally:
        scene.emulator.configure({"disableConsumeIfConsumerReadSlowly": False})
    assert f"broker-a disabled group {scene.name}, because it reads too far behind the end of the log" in str(found)
    assert [change.sentence for change in found.changes] == [f'rocketmq.group("{scene.name}", consume_enable=True)']

    scene.emulator.group(scene.name, consume_enable=True)
    assert scene.emulator.explain(messages[2], scene.name).reason is Reason.AVAILABLE


ALL_COLD = {"coldDataFlowControlEnable": True, "accessMessageInMemoryHotRatio": 0, "cgColdReadThreshold": 1}


def test_a_group_over_its_cold_read_limit_is_suspended() -> None:
    """After a group has read more cold data than its limit, its pulls are refused until the count starts again."""
    with Emulator(topics=["orders:NORMAL:1"], config=CONFIG | ALL_COLD, time="frozen") as emulator:
        sdks = Sdks(emulator)
        try:
            driver = sdks.driver("java-remoting")
            driver.call("push", as_="c", group="billing", sub={"orders": EVERYTHING}, from_="first")
            emulator.wait_for_consumer("billing", assigned=True)
            emulator.topic("orders").send(b"first")
            driver.wait_for_event(lambda event: event["ev"] == "msg")
            second = emulator.topic("orders").send(b"second")
            found = emulator.explain(second, "billing")
            idle = emulator.groups["billing"].explain().sentence
            emulator.clock.advance("5s", wait=None)
            assert emulator.explain(second, "billing").reason is not Reason.SUSPENDED
            driver.wait_for_event(lambda event: event["ev"] == "msg" and body(event["msg"]) == b"second")
        finally:
            sdks.close()
    assert found.reason is Reason.SUSPENDED, found
    assert "but broker-a suspends group billing, because group billing has read " in str(found)
    assert "bytes of cold data in the last 5 s, at least cgColdReadThreshold=1" in str(found)
    assert found.until_ms is not None
    assert found.until_ms - found.at_ms <= 5_000
    assert found.changes[0].sentence.endswith("the broker serves the next pull")
    assert "is suspended in queue 0 until " in idle


def test_a_full_request_pool_is_the_reason(scene: Scene) -> None:
    """A broker whose pool for pulls is full refuses the pulls of a remoting consumer."""
    scene.topic()
    driver = scene.push("java-remoting")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    scene.emulator.configure({"requestRefusals": "pull=TIMEOUT_CLEAN_QUEUE"})
    try:
        message = scene.leave_unread(driver)
        scene.call(driver, "resume")
        scene.emulator.clock.advance_until(
            lambda: scene.emulator.explain(message, scene.name).reason is Reason.OVERLOADED, limit="1m"
        )
        found = scene.explain(message, Reason.OVERLOADED)
    finally:
        scene.emulator.configure({"requestRefusals": ""})
    assert "a request pool of broker-a refused PULL_MESSAGE" in str(found)


def test_a_new_group_skips_messages_of_an_old_queue(scene: Scene) -> None:
    """A new group of a remoting SDK starts at the end of a queue whose first messages are deleted.

    The broker lets it start at the first message of a queue that still has all messages.
    """
    scene.topic()
    for _ in range(1500):
        missed = scene.send(bytes(900))
    assert scene.emulator.messages(scene.name)[0].queue_offset > 0
    driver = scene.push("go-remoting", from_="last")
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    received = scene.send(b"received")
    scene.wait_for(driver, b"received")
    scene.emulator.clock.advance("1ms")  # waits until the offset is committed
    assert scene.emulator.explain(received, scene.name).reason is Reason.ACKNOWLEDGED
    found = scene.explain(missed, Reason.STARTED_AT_END)
    assert f"but group {scene.name} started at offset " in str(found)
