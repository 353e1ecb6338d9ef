"""Upstream's defects as applications see them: a real SDK with one defect enabled, and with none."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, DriverError, Fields, body, start
from rocketmq_testkit.fixtures import Emulator

INTERNAL_SERVER_ERROR = 50001
EXPIRY = ("clients_expire_in_clock_jumps", "receive_needs_settings", "settings_expire_with_open_stream")
"""Defects by which a consumer that was silent for 130 s cannot receive any more."""
DEFECTIVE = pytest.mark.parametrize("defective", [False, True], ids=["without the defect", "with the defect"])


@dataclass(frozen=True)
class Application:
    """An application with a real SDK, and its emulator."""

    emulator: Emulator
    driver: Driver

    def defects(self, names: tuple[str, ...], *, on: bool) -> ExitStack:
        """Enable these defects within a block if `on`, else none of them."""
        block = ExitStack()
        for name in names if on else ():
            block.enter_context(self.emulator.faults.add(faults.upstream_defect(name)))
        return block

    def consumer(self, topic: str) -> None:
        """Start a simple consumer of a new topic, both with one name."""
        self.emulator.topic(topic, queues=1)
        subscription: Fields = {topic: {"expr": "*", "type": "TAG"}}
        self.driver.call("simple", as_=topic, group=topic, sub=subscription, await_ms=1_000)

    def receive(self, name: str) -> list[Fields]:
        """Receive once."""
        messages: list[Fields] = self.driver.call("receive", on=name, max=32, invisible_ms=20_000)["messages"]
        return messages


def sends(driver: Driver, name: str) -> bool:
    """Send with the producer of this name to the topic of this name; return False if the SDK raises an error."""
    try:
        driver.call("send", on=name, topic=name, body=b"hello")
    except DriverError:
        return False
    return True


@pytest.fixture(scope="module")
def application() -> Iterator[Application]:
    with (
        Emulator() as emulator,
        start("python", Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver,
    ):
        yield Application(emulator, driver)


@DEFECTIVE
def test_an_acknowledged_message_with_a_changed_duration_is_redelivered(
    application: Application, defective: bool
) -> None:
    """With `ack_with_changed_handle_is_lost` a message whose duration was changed is redelivered after its ack."""
    name = f"changed-{defective}".lower()
    with application.defects(("ack_with_changed_handle_is_lost",), on=defective):
        application.consumer(name)
        for number in range(3):
            application.emulator.topic(name).send(b"%d" % number)
        taken = application.receive(name)
        assert [body(each) for each in taken] == [b"0", b"1", b"2"]
        application.driver.call("invisible", on=name, h=taken[2]["h"], ms=60_000)
        application.driver.call("ack", on=name, h=[each["h"] for each in taken])
        application.emulator.clock.advance("2m")
        assert [body(each) for each in application.receive(name)] == [b"2"] * defective
    application.driver.call("close", on=name)


@DEFECTIVE
def test_a_consumer_that_was_silent_for_140_s_cannot_receive(application: Application, defective: bool) -> None:
    """A consumer that was silent for 140 s cannot receive if its settings expire and receives need them."""
    name = f"silent-{defective}".lower()
    with application.defects(EXPIRY, on=defective):
        application.consumer(name)
        application.emulator.topic(name).send(b"waits")
        application.emulator.clock.advance("140s")
        if defective:
            with pytest.raises(DriverError) as refused:
                application.receive(name)
            assert (refused.value.code, '"settings" is null' in refused.value.err) == (INTERNAL_SERVER_ERROR, True)
        else:
            assert [body(each) for each in application.receive(name)] == [b"waits"]
    application.driver.call("close", on=name)


@DEFECTIVE
def test_a_topic_created_after_a_refused_send_is_unknown_for_20_seconds(
    application: Application, defective: bool
) -> None:
    """With `route_cache` a producer cannot send to a topic that was created after its first attempt."""
    name, driver = f"late-{defective}".lower(), application.driver
    with application.defects(("route_cache",), on=defective):
        driver.call("producer", as_=name, topics=[])
        assert not sends(driver, name)
        application.emulator.topic(name, queues=1)
        assert sends(driver, name) is not defective
        application.emulator.clock.advance("21s")
        sends(driver, name)  # finds the old entry, which it refreshes for the next query
        assert sends(driver, name)
    assert len(application.emulator.topic(name).messages) == (1 if defective else 3)
    driver.call("close", on=name)
