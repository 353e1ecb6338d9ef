"""Creation and remapping of a static topic with Apache's own mqadmin, while a real SDK uses the topic."""

from pathlib import Path

from rocketmq_testkit.conformance.drivers.mqadmin import mqadmin
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, body, start
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.wire.lenient_json import loads

SECONDS = 60.0


def _map(namesrv: str, *command: str) -> None:
    """Run a command of mqadmin that changes the mapping, and delete the two files to which it writes the mapping."""
    printed = mqadmin(namesrv, *command)
    files = [Path(word) for word in printed.split() if word.endswith((".before", ".after"))]
    for file in files:
        file.unlink()
    assert len(files) == 2, printed


def _leading_queues(emulator: Emulator) -> dict[str, dict[str, int]]:
    """Return the logical queues that each broker leads now, with their physical ids, as mqadmin prints them."""
    printed = mqadmin(emulator.namesrv, "topicRoute", "-t", "orders")
    route = loads(printed[printed.index("{") :])
    return {name: each["currIdMap"] for name, each in route["topicQueueMappingByBroker"].items()}


def _started(emulator: Emulator) -> Driver:
    """Start a process of the SDK with a producer."""
    driver = start("java-remoting", Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint))
    driver.call("producer", as_="p", topics=["orders"], group="shop")
    return driver


def _send(driver: Driver, numbers: range) -> list[tuple[int, int]]:
    """Send messages with these numbers; return queue and offset of each from the send results."""
    sent = [driver.call("send", timeout=SECONDS, on="p", topic="orders", body=b"%d" % number) for number in numbers]
    return [(each["queue"], each["offset"]) for each in sent]


def _received(driver: Driver, count: int) -> list[int]:
    """Wait until the consumer has received `count` messages; return their numbers."""

    def messages() -> list[int]:
        return [int(body(event["msg"])) for event in driver.events("c") if event["ev"] == "msg"]

    driver.wait_until(lambda _: len(messages()) >= count, SECONDS)
    return sorted(messages())


def test_a_remapped_static_topic_keeps_its_queues_and_messages() -> None:
    """A remapped static topic keeps its queue ids, offsets rise, and consumers receive the messages of both brokers."""
    with Emulator(brokers=2) as emulator:
        namesrv = emulator.namesrv
        _map(namesrv, "updateStaticTopic", "-t", "orders", "-qn", "2", "-b", "broker-a")
        assert _leading_queues(emulator) == {"broker-a": {"0": 0, "1": 1}, "broker-b": {}}
        with _started(emulator) as driver:
            before = _send(driver, range(8))
        _map(namesrv, "remappingStaticTopic", "-t", "orders", "-b", "broker-b")
        assert set(_leading_queues(emulator)["broker-b"]) == {"0", "1"}
        assert _leading_queues(emulator)["broker-a"] == {}
        with _started(emulator) as driver:
            after = _send(driver, range(8, 16))
            subscription = {"orders": {"expr": "*", "type": "TAG"}}
            driver.call("push", as_="c", group="billing", sub=subscription, mode="concurrent", from_="first")
            assert _received(driver, 16) == list(range(16))
        assert {queue for queue, _ in before} == {queue for queue, _ in after} == {0, 1}
        assert max(offset for _, offset in before) < min(offset for _, offset in after)
