"""Reasons that lie in refused requests: a group that gets no messages, and a producer that cannot send."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from explained_sdks import CONFIG, Scene
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, start
from rocketmq_testkit.fixtures import Emulator, Reason
from rocketmq_testkit.remoting.client import Credentials

PROVIDER = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
AUTH = {
    "authenticationEnabled": True,
    "authenticationMetadataProvider": PROVIDER.format("authentication", "Authentication"),
    "authorizationEnabled": True,
    "authorizationMetadataProvider": PROVIDER.format("authorization", "Authorization"),
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Emulator]:
    """An emulator whose user `shop` may send to the topic orders, and nothing else."""
    with Emulator(topics=["orders:NORMAL:1"], config=CONFIG | AUTH) as emulator:
        emulator.user("shop", "its secret", allow={"Topic:orders": "Pub"})
        yield emulator


def signed(emulator: Emulator, secret: str) -> Driver:
    """Start the published Python SDK with the access key of the shop."""
    return start("python", Addresses(emulator.namesrv, emulator.endpoint, credentials=Credentials("shop", secret)))


def test_a_wrong_filter_expression_is_named_as_the_cause(scene: Scene) -> None:
    """The broker refuses each receive with an expression that it cannot parse."""
    scene.topic()
    message = scene.send()
    driver = scene.simple("python", expression="price >> 10", kind="SQL92")
    with pytest.raises(DriverError):
        scene.call(driver, "receive", max=1, invisible_ms=20_000)
    found = scene.explain(message, Reason.REQUESTS_REFUSED)
    assert "broker-a refused ReceiveMessage of " in str(found)
    assert "SUBSCRIPTION_PARSE_FAILED: parse the consumer's subscription failed" in str(found)
    assert [change.sentence for change in found.changes] == ["correct the filter expression of the subscription"]


def test_a_missing_right_is_named_as_the_cause(guarded: Emulator) -> None:
    """The receives of a consumer without the right on its group are refused, so that the group is never created."""
    message = guarded.topic("orders").send(b"tea")
    driver = signed(guarded, "its secret")
    with suppress(DriverError):
        driver.call("simple", as_="c1", group="billing", sub={"orders": {"expr": "*", "type": "TAG"}}, await_ms=1000)
        driver.call("receive", on="c1", max=1, invisible_ms=20_000)
    found = guarded.explain(message, "billing")
    driver.close()
    assert found.reason is Reason.REQUESTS_REFUSED, found
    assert "the proxy refused " in str(found)
    assert "UNAUTHORIZED: User:shop has no permission to access Group:billing" in str(found)
    assert "grant the right that the refusal names" in found.changes[0].sentence


def test_a_producer_with_a_wrong_secret_is_named(guarded: Emulator) -> None:
    """A producer without a route never sends, so the explanation of its message names the refused route request."""
    driver = signed(guarded, "another secret")
    with suppress(DriverError):  # at the start or at the send
        driver.call("producer", as_="p", group="shop", topics=["orders"])
        driver.call("send", on="p", topic="orders", body="dGVh", keys=["1001"])
    found = guarded.explain("1001")
    driver.close()
    assert found.reason is Reason.NEVER_RECEIVED
    assert " (UNAUTHORIZED: " in str(found)
    assert "a client without a route or a session sends nothing" in str(found)


def test_a_producer_of_a_misspelled_topic_is_named(scene: Scene) -> None:
    """The name server refuses the route of the misspelled topic, and the SDK sends nothing."""
    topic = scene.topic()
    with suppress(DriverError):  # at the start or at the send
        scene.client("producer", "python", "p", group="shop", topics=[f"{topic}s"])
        scene.call(scene.sdks.driver("python"), "send", "p", topic=f"{topic}s", body=b"tea", keys=["misspelled"])
    found = scene.emulator.explain("misspelled")
    assert found.reason is Reason.NEVER_RECEIVED
    assert f"for {topic}s at " in str(found)
    assert "TOPIC_NOT_EXIST" in str(found)
