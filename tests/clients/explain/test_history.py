"""Histories of messages that real SDKs send and consume."""

import json
from contextlib import suppress

import pytest
from explained_sdks import Scene
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.drivers.process import DriverError
from rocketmq_testkit.conformance.drivers.registry import recipe
from rocketmq_testkit.fixtures import MessageHistory, Reason
from wait_budget import until

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def kinds(history: MessageHistory) -> list[tuple[str, int | None]]:
    """Return the kind of each step, with the attempt of a delivery."""
    return [(step.kind.value, step.attempt) for step in history.steps]


def consumed(scene: Scene, message_id: str) -> MessageHistory:
    """Advance the clock until the message is acknowledged, and return its history."""
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message_id, scene.name).reason is Reason.ACKNOWLEDGED, limit="1h", wait="30s"
    )
    return scene.emulator.history(message_id)


def test_history_of_a_failure_over_grpc_has_the_retry(scene: Scene) -> None:
    """The history has the producer's SDK and trace context, the failure, and the acknowledgement of the retry."""
    topic = scene.topic()
    producer = scene.client("producer", "java-grpc", "p1", topics=[topic])
    scene.push("java-grpc", fail={"tea": 1})
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    sent = scene.call(producer, "send", "p1", topic=topic, body=b"tea", keys=["1001"], props={"traceparent": TRACE})
    found = consumed(scene, sent["id"])
    assert kinds(found) == [
        ("sent", None),
        ("delivered", 1),
        ("returned", None),
        ("redelivered", None),
        ("delivered", 2),
        ("acknowledged", None),
    ]
    assert found.trace == {"traceparent": TRACE}
    first, second, *_ = found.steps
    assert first.sdk.startswith("JAVA 5.")
    assert first.detail == f"{topic} queue 0 offset 0, key 1001"
    assert (second.client, second.group) == (scene.client_id(), scene.name)
    assert [each["at_ms"] for each in json.loads(json.dumps(found.as_json()))["steps"]] == [
        step.at_ms for step in found.steps
    ]


def test_history_of_a_failure_over_remoting_has_each_retry(scene: Scene) -> None:
    """The history has each send-back, and the delay level before each retry."""
    scene.topic()
    driver = scene.push("go-remoting", fail={"tea": 1})
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send()
    scene.wait_for(driver, b"tea")
    found = consumed(scene, message.message_id)
    names = [kind for kind, _ in kinds(found)]
    assert names[-1] == "acknowledged"  # the SDK commits the offset of the first delivery some time after the retry
    assert [name for name in names if name != "acknowledged"] == [
        "sent",
        "delivered",
        "sent back",
        "delayed",
        "redelivered",
        "delivered",
    ]
    assert [attempt for kind, attempt in kinds(found) if kind == "delivered"] == [1, 2]
    assert "before retry 1, level 3, until" in repr(found)


def test_history_of_a_checked_transaction_has_its_commit(scene: Scene) -> None:
    """The history has the transaction check at which the producer commits an undecided transaction.

    The clock waits for the response of a remoting SDK, which responds to each check. gRPC SDKs need not respond.
    """
    topic = scene.topic("TRANSACTION")
    producer = scene.client("producer", "java-remoting", "p1", topics=[topic], check="COMMIT")
    sent = scene.call(producer, "send_tx", "p1", topic=topic, body=b"tea", outcome="UNKNOWN")
    scene.emulator.clock.advance_until(lambda: scene.emulator.messages(topic), limit="5m", wait="30s")
    found = scene.emulator.history(sent["id"])
    assert [kind for kind, _ in kinds(found)] == ["half", "checked", "committed", "available"]
    assert found.steps[2].client is not None


def test_history_has_the_rule_that_acted(scene: Scene) -> None:
    """The history has a step for the rule that dropped the response of a receive."""
    topic = scene.topic()
    driver = scene.simple("python")
    message = scene.send()
    lost = faults.drop_response()
    scene.emulator.faults.add(lost, operation="ReceiveMessage", topic=topic, name="one-lost-pop", times=1)
    with suppress(DriverError):  # the deadline of the call
        assert scene.call(driver, "receive", max=1, invisible_ms=10_000)["messages"] == []
    found = scene.emulator.history(message)
    assert ("fault", None) in kinds(found)
    assert "rule one-lost-pop acted on" in repr(found)
    assert ("delivered", 1) not in kinds(found)


@pytest.mark.parametrize("sdk", ["java-remoting", "go-remoting", "java-grpc", "python"])
def test_producer_that_has_left_is_named_with_its_sdk(scene: Scene, sdk: str) -> None:
    """A message contains only the address of its producer; the emulator remembers the client with that address."""
    topic = scene.topic()
    driver = scene.producer(sdk)
    sent = scene.produce(driver)
    scene.emulator.wait_for_producer(topic if recipe(sdk).protocol == "grpc" else f"{scene.name}-producer")
    connected = scene.emulator.history(sent["id"]).steps[0]
    assert connected.client in scene.emulator.clients
    scene.call(driver, "close", "p")
    until(lambda: connected.client not in scene.emulator.clients, "the end of the client's connection")
    left = scene.emulator.history(sent["id"]).steps[0]
    assert (left.client, left.sdk) == (connected.client, connected.sdk)
    assert connected.sdk
