"""Reasons that lie in the delivery: in flight, invisible, waiting for a retry, dead, acknowledged."""

from typing import Any

import pytest
from explained_sdks import Scene
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.drivers.process import Driver, DriverError
from rocketmq_testkit.emulator.explanation.facts import ChangeAction
from rocketmq_testkit.fixtures import Reason
from sdks import ALL, PUSH


def receive(scene: Scene, driver: Driver, invisible_ms: int = 30_000) -> dict[str, Any]:
    """Receive one message with a simple consumer."""
    found: list[dict[str, Any]] = []
    while not found:
        found = scene.call(driver, "receive", max=1, invisible_ms=invisible_ms)["messages"]
    return found[0]


def test_a_received_message_is_in_flight(scene: Scene) -> None:
    """A received message is in flight for its invisible duration; then the broker redelivers it."""
    scene.topic()
    driver = scene.simple("python")
    message = scene.send()
    receive(scene, driver)
    found = scene.explain(message, Reason.IN_FLIGHT)
    client = scene.client_id()
    assert f"broker-a delivered it to {client} (PYTHON " in str(found)
    assert [change.client for change in found.changes] == [client, None]
    assert found.until_ms is not None

    scene.emulator.clock.advance(f"{found.until_ms - found.at_ms + 6_000}ms", wait=None)
    again = scene.explain(message, Reason.AVAILABLE)
    assert "is available for retry 1 of 16" in str(again)


def test_a_pulled_message_without_commit_is_in_flight(scene: Scene) -> None:
    """A pulled message is in flight until the consumer commits an offset beyond it."""
    scene.topic()
    driver = scene.push("java-remoting", hang_ms={"slow": 3_600_000}, begin=True)
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send(b"slow")
    driver.wait_for_event(lambda event: event["ev"] == "begin" and event.get("of") == f"{scene.name}-c1")
    found = scene.explain(message, Reason.IN_FLIGHT)
    assert str(found).endswith("and no offset beyond it is committed yet")
    assert found.until_ms is None


def test_a_message_with_a_changed_duration_is_invisible(scene: Scene) -> None:
    """A message whose invisible duration a client has changed is invisible for the new duration."""
    scene.topic()
    driver = scene.simple("python")
    message = scene.send()
    received = receive(scene, driver)
    scene.call(driver, "invisible", h=received["h"], ms=10_000)
    found = scene.explain(message, Reason.INVISIBLE_AFTER_FAILURE)
    assert f"is invisible: {scene.client_id()} (PYTHON " in str(found)
    assert found.until_ms is not None
    assert found.until_ms - found.at_ms <= 10_000


def test_a_failed_message_waits_for_its_retry(scene: Scene) -> None:
    """A message that a listener fails is sent back, and waits for its next retry at a delay level."""
    scene.topic()
    driver = scene.push("go-remoting", fail={"bad": 2})
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send(b"bad")
    scene.wait_for(driver, b"bad")
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message, scene.name).reason is Reason.WAITING_FOR_RETRY, limit="5s"
    )
    found = scene.explain(message, Reason.WAITING_FOR_RETRY)
    assert "waits for retry 1 of 16 until " in str(found)
    assert f"after {scene.client_id()} " in str(found)
    assert found.until_ms is not None

    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message, scene.name).reason is Reason.ACKNOWLEDGED, limit="5m"
    )


def test_a_message_without_further_retries_is_dead(scene: Scene) -> None:
    """A message of a group with one retry is dead after its second failure."""
    scene.topic()
    driver = scene.push("java-remoting", fail={"*": 9}, max_reconsume=1)
    scene.emulator.wait_for_consumer(scene.name, assigned=True)
    message = scene.send(b"bad")
    scene.wait_for(driver, b"bad")
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message, scene.name).reason is Reason.DEAD, limit="5m"
    )
    found = scene.explain(message, Reason.DEAD)
    assert f'rocketmq.dlq("{scene.name}") returns it' in str(found)
    assert [each.message_id for each in scene.emulator.dlq(scene.name)] == [message.message_id]


@pytest.mark.parametrize("sdk", ALL)
def test_a_consumed_message_is_acknowledged(scene: Scene, sdk: str) -> None:
    """A message is acknowledged by an acknowledgement, or by a commit of an offset beyond it.

    Remoting SDKs commit every 5 s. The commit of a closed consumer may come before its listener returns.
    """
    scene.topic()
    if sdk in PUSH:
        driver = scene.push(sdk)
        scene.emulator.wait_for_consumer(scene.name, assigned=True)
        message = scene.send()
        scene.wait_for(driver, message.body)
    else:
        driver = scene.simple(sdk)
        message = scene.send()
        scene.call(driver, "ack", h=receive(scene, driver)["h"])
    scene.emulator.clock.advance_until(
        lambda: scene.emulator.explain(message, scene.name).reason is Reason.ACKNOWLEDGED, limit="10s", wait="1m"
    )
    found = scene.explain(message, Reason.ACKNOWLEDGED)
    assert "was delivered to " in str(found)
    assert found.history_since_ms is None


def test_a_rule_that_refuses_an_acknowledgement_is_named(scene: Scene) -> None:
    """A rule of faults refuses the acknowledgement, so the message stays in flight."""
    topic = scene.topic()
    driver = scene.simple("python")
    message = scene.send()
    received = receive(scene, driver)
    busy = faults.respond("TOO_MANY_REQUESTS")
    rule = scene.emulator.faults.add(busy, operation="AckMessage", topic=topic, name="lost-ack")
    with pytest.raises(DriverError):
        scene.call(driver, "ack", h=received["h"])
    found = scene.explain(message, Reason.IN_FLIGHT)
    rule.remove()
    assert f"; rule lost-ack (respond) acted on AckMessage of {scene.client_id()}" in str(found)
    assert found.changes[-1].sentence == "remove the rule lost-ack"


def test_after_the_duration_no_acknowledgement_is_proposed(scene: Scene) -> None:
    """The proxy refuses an acknowledgement after the invisible duration, so the verdict does not propose it."""
    scene.topic()
    driver = scene.simple("python")
    message = scene.send()
    receive(scene, driver, 10_000)
    scene.emulator.run_on_loop(lambda host: host.real_time.jump(10_001))
    found = scene.explain(message, Reason.IN_FLIGHT)  # until the next scan of the broker
    assert "its invisible duration ended at " in str(found)
    assert [change.action for change in found.changes] == [ChangeAction.WAIT]


def test_a_dead_letter_of_a_grpc_consumer_had_as_many_retries_as_the_group_allows(scene: Scene) -> None:
    """After the last retry the proxy pops the message once more, and makes it a dead letter without delivering it."""
    scene.topic()
    scene.emulator.group(scene.name, retry_max_times=1)
    driver = scene.simple("python")
    message = scene.send()
    receive(scene, driver, 10_000)
    scene.emulator.clock.advance("20s", wait=None)
    receive(scene, driver, 10_000)
    scene.emulator.clock.advance("20s", wait=None)
    scene.call(driver, "receive", max=1, invisible_ms=10_000)
    found = scene.explain(message, Reason.DEAD)
    assert ", after 1 retry; " in str(found)
