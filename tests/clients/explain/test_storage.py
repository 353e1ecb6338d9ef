"""Reasons that lie in the store: a message was not received, not kept, or not delivered to its topic yet."""

from typing import Any

import pytest
from explained_sdks import CONFIG, Scene, Sdks
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_request import request
from rocketmq_testkit.conformance.drivers.process import Addresses, DriverError, start
from rocketmq_testkit.fixtures import Emulator, Reason
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode
from wait_budget import until

HOUR_MS = 3_600_000
SMALL = {"storeMaxBytes": 1024 * 1024, "mappedFileSizeCommitLog": 256 * 1024, "maxMessageSize": 64 * 1024}


def test_a_message_of_another_emulator_was_never_received(scene: Scene) -> None:
    """A message of another emulator is unknown; for an id with one wrong digit the sentence names the nearest id."""
    topic = scene.topic()
    with (
        Emulator(topics=[f"{topic}:NORMAL:1"]) as other,
        start("python", Addresses(namesrv=other.namesrv, endpoint=other.endpoint)) as elsewhere,
    ):
        elsewhere.call("producer", as_="p", topics=[topic])
        lost = elsewhere.call("send", on="p", topic=topic, body=b"elsewhere")["id"]
        assert other.explain(lost).reason is Reason.AVAILABLE
        # The shared emulator may have another id as near, of another test.
        found = other.explain(lost[:-1] + ("0" if lost[-1] != "0" else "1"))
        assert found.reason is Reason.NEVER_RECEIVED
        assert f"the nearest id or key is {lost} in {topic}" in str(found)
    scene.explain(lost, Reason.NEVER_RECEIVED)


def test_a_message_of_the_wrong_type_was_refused(scene: Scene) -> None:
    """The proxy refuses a message without a message group for a FIFO topic; the explanation finds it by its key.

    The other gRPC SDKs refuse it themselves, and brokers do not compare the types for remoting SDKs.
    """
    topic = scene.topic("FIFO")
    driver = scene.producer("rust")
    with pytest.raises(DriverError):
        scene.produce(driver, keys=["order-of-another-type"])
    found = scene.explain("order-of-another-type", Reason.REFUSED_TYPE)
    assert f"topic {topic} has the type FIFO, and the message is NORMAL" in str(found)


def test_a_message_refused_by_the_broker_has_its_remark(scene: Scene) -> None:
    """A broker refuses a message that is due in forty days; the sentence has its code and its remark."""
    scene.topic("DELAY")
    driver = scene.producer("java-remoting")
    due_ms = int(scene.emulator.clock.now.timestamp() * 1000) + 40 * 24 * HOUR_MS
    with pytest.raises(DriverError) as refused:
        scene.produce(driver, deliver_at=due_ms, keys=["order-for-next-year"])
    assert "MESSAGE_ILLEGAL" in str(refused.value) or "illegal" in str(refused.value)
    found = scene.explain("order-for-next-year", Reason.REFUSED)
    assert "and never stored: MESSAGE_ILLEGAL: " in str(found)


def test_a_rule_that_dropped_the_send_is_the_reason(scene: Scene) -> None:
    """The sentence names the rule that dropped the send."""
    topic = scene.topic()
    driver = scene.producer("go-grpc")
    with scene.emulator.faults.add(faults.drop_request(), operation="SendMessage", topic=topic, name="lossy") as rule:
        driver.post("send", on=f"{scene.name}-p", topic=topic, body=b"tea", bg=True)  # fails after the SDK's timeout
        until(lambda: rule.fired, "the rule drops the send")
        message_id = rule.events[0].message_ids[0]
    found = scene.explain(message_id, Reason.SEND_LOST_BY_FAULT)
    assert "was never stored: rule lossy (drop_request) acted on its send at " in str(found)


def test_a_message_of_a_delay_level_is_delayed(scene: Scene) -> None:
    """A message of delay level 3 is delayed until the first check of its level, 10 s after its send."""
    scene.topic("DELAY")
    message_id = scene.produce(scene.producer("java-remoting"), delay_level=3)["id"]
    found = scene.explain(message_id, Reason.DELAYED)
    assert "is delayed by level 3 (10s) until " in str(found)
    assert found.until_ms is not None
    scene.emulator.clock.advance(f"{found.until_ms - found.at_ms}ms")
    scene.explain(message_id, Reason.NO_SUCH_GROUP)


def test_a_message_with_a_delivery_time_is_timed(scene: Scene) -> None:
    """A message with a delivery time is timed until then."""
    scene.topic("DELAY")
    due_ms = int(scene.emulator.clock.now.timestamp() * 1000) + HOUR_MS
    message_id = scene.produce(scene.producer("go-grpc"), deliver_at=due_ms)["id"]
    found = scene.explain(message_id, Reason.TIMED)
    assert found.until_ms is not None
    assert 0 <= found.until_ms - due_ms <= 1_000  # the timer wheel has slots of a second
    scene.emulator.clock.advance("61m")
    scene.explain(message_id, Reason.NO_SUCH_GROUP)


def test_a_recalled_message_stays_recalled(scene: Scene) -> None:
    """The explanation of a recalled message is the same before and after its delivery time."""
    topic = scene.topic("DELAY")
    driver = scene.producer("node")
    due_ms = int(scene.emulator.clock.now.timestamp() * 1000) + HOUR_MS
    sent = scene.produce(driver, deliver_at=due_ms)
    scene.explain(sent["id"], Reason.TIMED)
    scene.emulator.configure({"recallMessageEnable": True})
    try:
        scene.call(driver, "recall", "p", topic=topic, handle=sent["recall"])
    finally:
        scene.emulator.configure({"recallMessageEnable": False})
    scene.explain(sent["id"], Reason.RECALLED)
    scene.emulator.clock.advance("61m")
    found = scene.explain(sent["id"], Reason.RECALLED)
    assert "was recalled at " in str(found)


def test_a_message_deleted_from_a_full_store_is_expired(scene: Scene) -> None:
    """A full store deletes its oldest messages; the object of a deleted message has the offset that explains it."""
    with Emulator(topics=["orders:NORMAL:1"], config=CONFIG | SMALL) as emulator:
        sdks = Sdks(emulator)
        try:
            driver = sdks.driver("python")
            driver.call("producer", as_="p", topics=["orders"])
            driver.call("send", on="p", topic="orders", body=b"first")
            (first,) = emulator.messages("orders")
            for _ in range(60):
                driver.call("send", on="p", topic="orders", body=b"x" * 30_000)
            found = emulator.explain(first, "billing")
        finally:
            sdks.close()
    assert found.reason is Reason.EXPIRED
    assert "was deleted with the oldest messages of broker-a at " in str(found)
    assert str(found).endswith("because the log had reached storeMaxBytes")


def test_a_message_replaced_by_its_key_is_compacted_away() -> None:
    """A later message with the same key replaces the message in a compacted topic."""
    keys = {"compactionCqMappedFileSize": 460, "compactionScheduleInternal": 60_000}
    with Emulator(config=CONFIG | keys) as emulator, RemotingClient(emulator.broker) as client:
        fields = {
            "topic": "prices",
            "defaultTopic": "TBW102",
            "readQueueNums": 1,
            "writeQueueNums": 1,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": False,
            "attributes": "+cleanup.policy=COMPACTION",
        }
        assert client.request(*request(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)).code == 0
        sdks = Sdks(emulator)
        try:
            driver = sdks.driver("java-remoting")
            driver.call("producer", as_="p", topics=["prices"], group="quotes")
            ids = [
                driver.call("send", on="p", topic="prices", body=b"%d" % number, keys=["tea"], queue=0)["id"]
                for number in range(20)
            ]
            assert emulator.explain(ids[0]).reason is Reason.AVAILABLE
            emulator.clock.advance("3m")
            found = emulator.explain(ids[0])
            assert emulator.explain(ids[-1]).reason is Reason.AVAILABLE
        finally:
            sdks.close()
    assert found.reason is Reason.COMPACTED_AWAY
    assert "has the same key tea" in str(found)


def test_an_unflushed_message_is_lost_in_a_crash() -> None:
    """A crash before the next flush loses the message."""
    with Emulator(topics=["orders:NORMAL:1"], config=CONFIG, time="frozen") as emulator:
        sdks = Sdks(emulator)
        try:
            driver = sdks.driver("java-remoting")
            driver.call("producer", as_="p", topics=["orders"], group="shop")
            message_id = driver.call("send", on="p", topic="orders", body=b"tea", keys=["1001"])["id"]
            emulator.crash()
            found = emulator.explain(message_id, "billing")
            assert emulator.explain("1001").reason is Reason.LOST_IN_CRASH
        finally:
            sdks.close()
    assert found.reason is Reason.LOST_IN_CRASH
    assert "and lost in the crash of broker-a at " in str(found)


def test_the_history_of_a_lost_message_has_its_steps() -> None:
    """The history of an acknowledged message that a crash removed keeps its steps, also if the key is given."""
    with Emulator(topics=["orders:NORMAL:1"], config=CONFIG, time="frozen") as emulator:
        sdks = Sdks(emulator)
        try:
            driver = sdks.driver("python")
            driver.call("producer", as_="p", topics=["orders"], group="shop")
            driver.call("send", on="p", topic="orders", body=b"tea", keys=["1001"])
            driver.call("simple", as_="c", group="billing", sub={"orders": {"expr": "*", "type": "TAG"}}, await_ms=1000)
            [received] = driver.call("receive", on="c", max=1, invisible_ms=30_000)["messages"]
            driver.call("ack", on="c", h=received["h"])
            emulator.crash()
            found = emulator.history("1001")
        finally:
            sdks.close()
    assert [step.kind for step in found.steps] == ["sent", "delivered", "acknowledged", "lost"]


def test_a_message_of_a_deleted_topic_is_found_by_id_and_key(scene: Scene) -> None:
    """A message of a deleted topic is found by its id and its key, also if a new topic has the same name."""
    topic = scene.topic()
    driver = scene.producer("python")
    sent = scene.produce(driver, keys=["deleted-with-its-topic"])["id"]
    [message] = scene.emulator.messages(topic)
    scene.emulator.delete_topic(topic)
    for wanted in (message, sent, "deleted-with-its-topic"):
        found = scene.explain(wanted, Reason.TOPIC_DELETED)
        assert str(found).startswith(f"message {sent} of {topic} was stored (queue 0, offset 0) at ")
        assert str(found).endswith(", and deleted with its topic")
    with pytest.raises(AssertionError, match="and deleted with its topic"):
        scene.emulator.assert_sent("deleted-with-its-topic")

    scene.topic()
    found = scene.explain(message, Reason.TOPIC_DELETED)
    assert str(found).endswith(", and deleted with its topic; the topic of this name was created later")


def test_members_of_another_cluster_are_the_reason() -> None:
    """The members of the group are connected to the other cluster, because their topic is stored there.

    The consumer assigns queues to itself, because a subscribing consumer requests the route of its retry topic, which
    has the brokers of all clusters. So has the template topic of automatic creation, which all producers request.
    """
    brokers = [
        {"brokerName": "broker-a", "brokerClusterName": "north"},
        {"brokerName": "broker-b", "brokerClusterName": "south"},
    ]
    with Emulator(config=CONFIG | {"autoCreateTopicEnable": False}, brokers=brokers) as emulator:
        for broker, topic in zip(emulator.brokers.values(), ("orders", "payments"), strict=True):
            with RemotingClient(broker) as client:
                fields = {
                    "topic": topic,
                    "defaultTopic": "TBW102",
                    "readQueueNums": 1,
                    "writeQueueNums": 1,
                    "perm": 6,
                    "topicFilterType": "SINGLE_TAG",
                    "topicSysFlag": 0,
                    "order": False,
                }
                assert client.request(*request(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)).code == 0
        sdks = Sdks(emulator)
        try:
            driver = sdks.driver("java-remoting")
            consumer: dict[str, Any] = {"group": "billing", "assign": "payments", "from": "first"}
            driver.call("lite", as_="c", **consumer)
            emulator.wait_for_consumer("billing")
            producer = sdks.driver("java-remoting", 1)  # clients of one process share their connections
            producer.call("producer", as_="p", topics=["orders"], group="shop")
            message_id = producer.call("send", on="p", topic="orders", body=b"tea")["id"]
            found = emulator.explain(message_id, "billing")
        finally:
            sdks.close()
    assert found.reason is Reason.OTHER_CLUSTER, found
    assert "is stored on cluster north, and the members of billing are connected to south only" in str(found)
