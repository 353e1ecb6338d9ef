"""Brokers that reject sends or accept only some of them, and the reactions of SDKs."""

from collections.abc import Mapping
from contextlib import suppress

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..deployment.target import Capability
from ..drivers.process import DriverError
from ..helpers.disk import CAN_BE_FULL, FULL, FULL_BESIDE, LATE_FLUSH, until_full
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import AWAIT_MS
from .several_brokers import on_both

BUSY: Mapping[str, str] = {"transientStorePoolEnable": "true", "transientStorePoolSize": "0"}
"""The broker rejects all sends of remoting clients."""
BUSY_BESIDE: Mapping[str, str] = {
    "second-broker.brokerName": "broker-b",
    **{f"second-broker.{key}": value for key, value in BUSY.items()},
}
SLOW_BESIDE: Mapping[str, str] = {
    "second-broker.brokerName": "broker-b",
    "second-broker.brokerRole": "SYNC_MASTER",
    "second-broker.inSyncReplicas": "2",
    "second-broker.slaveTimeout": "600",
}
"""A second broker that needs 600 ms for a send: it waits for a slave that does not exist."""
SENDS = 6
IN_VAIN: Mapping[str, str] = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "slaveTimeout": "300"}
"""Every send waits for a slave that does not exist."""
FEW_POLLS: Mapping[str, str] = {"popPollingSize": "0"}
"""Only one receive of a group may wait."""
INVISIBLE_MS = 10_000
READABLE_SECONDS = 10.0
"""A broker fills the consume queue after its response to a send."""
TRIES_SECONDS = 1.0
"""Sends that are still in flight when an SDK gives up are stored by then."""


def taken(s: ScenarioContext, topic: str) -> int:
    """Send several messages in a row; returns the number that the SDK reports as sent."""
    producer = s.producer(topic)
    done = 0
    for number in range(SENDS):
        with suppress(DriverError):
            producer.send(topic, f"m{number}")
            done += 1
    return done


@scenario("SendMessageProcessor.rejectRequest", verbs={"send"}, protocol="remoting", settings=BUSY)
def a_send_to_a_busy_broker_is_refused(s: ScenarioContext) -> None:
    """A send to a producer's only broker, which is busy, fails after all attempts of the SDK."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("send", lambda: producer.send(topic, "hello"), text=False)


@scenario(
    "DefaultMQProducerImpl.sendDefaultImpl",
    verbs={"send"},
    protocol="remoting",
    capabilities={Capability.SEVERAL_BROKERS},
    settings=BUSY_BESIDE,
)
def sends_refused_by_a_busy_broker_go_to_the_other_broker_or_fail(s: ScenarioContext) -> None:
    """If one of two brokers is busy, an SDK uses the other, or reports an error for each send to the busy one."""
    topic = on_both(s)
    done = s.note("taken", taken(s, topic))
    s.becomes_true(lambda: s.admin.max_offset(topic) >= done, seconds=READABLE_SECONDS)
    s.note("stored", s.admin.max_offset(topic))


@scenario(
    "DefaultMQProducerImpl.sendKernelImpl",
    verbs={"send"},
    protocol="remoting",
    capabilities=CAN_BE_FULL | {Capability.SEVERAL_BROKERS},
    settings=FULL_BESIDE,
)
def sends_refused_for_a_full_disk_go_to_the_other_broker_or_fail(s: ScenarioContext) -> None:
    """If one of two brokers has a full disk, an SDK uses the other, or reports an error for each rejected send."""
    topic = on_both(s)
    until_full(s.admin, s.admin.second_broker)
    before = s.admin.max_offset(topic)
    done = s.note("taken", taken(s, topic))
    s.becomes_true(lambda: s.admin.max_offset(topic) >= before + done, seconds=READABLE_SECONDS)
    s.note("stored", s.admin.max_offset(topic) - before)
    s.note("in the full one", _in_the_other(s, topic))


@scenario(
    "MQFaultStrategy.selectOneMessageQueue",
    verbs={"send"},
    protocol="remoting",
    options={"latency_fault"},
    capabilities={Capability.SEVERAL_BROKERS},
    settings=SLOW_BESIDE,
)
def a_producer_with_latency_fault_tolerance_avoids_a_slow_broker(s: ScenarioContext) -> None:
    """A producer with latency fault tolerance sends one message to a slow broker and the next ones elsewhere.

    A producer without it alternates between the brokers.
    """
    topic = on_both(s)
    for label, minds in (("minding", True), ("not minding", False)):
        producer = s.producer(topic, latency_fault=minds)
        before = _in_the_other(s, topic)
        for number in range(SENDS):
            producer.send(topic, f"{label} {number}")
        s.becomes_true(lambda: _in_the_other(s, topic) > before, seconds=READABLE_SECONDS)  # noqa: B023 used only in this iteration
        s.note(f"to the slow broker, {label}", _in_the_other(s, topic) - before)


def _in_the_other(s: ScenarioContext, topic: str) -> int:
    asked = {"topic": topic, "queueId": 0}
    return int(s.admin.request(RequestCode.GET_MAX_OFFSET, asked, to=s.admin.second_broker)["offset"])


@scenario("SendMessageProcessor.handlePutMessageResult", verbs={"send"}, settings=IN_VAIN)
def a_send_not_replicated_to_a_slave_in_time_fails_in_some_sdks(s: ScenarioContext) -> None:
    """A send that is stored but not replicated to a slave in time fails in some SDKs; some of these send it again."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("send", lambda: producer.send(topic, "hello"), text=False)
    s.idle(TRIES_SECONDS)
    s.note("stored", len(s.stored(topic)))


@scenario("FlushDiskWatcher.run", verbs={"send"}, settings=LATE_FLUSH)
def a_send_not_flushed_to_disk_in_time_fails_in_some_sdks(s: ScenarioContext) -> None:
    """A send that is stored but not flushed to disk in time fails in some SDKs; some of these send it again."""
    topic = s.topic()
    producer = s.producer(topic)
    s.refusal("send", lambda: producer.send(topic, "hello"), text=False)
    s.idle(TRIES_SECONDS)
    s.becomes_true(lambda: s.admin.max_offset(topic), seconds=READABLE_SECONDS)
    s.note("stored", s.admin.max_offset(topic))


@scenario("HookUtils.checkBeforePutMessage", verbs={"send"}, capabilities=CAN_BE_FULL, settings=FULL)
def a_send_to_a_broker_with_a_full_disk_is_refused(s: ScenarioContext) -> None:
    """A send to a producer's only broker, whose disk is full, fails in the SDK."""
    topic = s.topic()
    until_full(s.admin)
    producer = s.producer(topic)
    s.refusal("send", lambda: producer.send(topic, "hello"), text=False)


@scenario("PopLongPollingService.polling", verbs={"simple"}, settings=FEW_POLLS)
def a_receive_beyond_pop_polling_size_is_refused(s: ScenarioContext) -> None:
    """A receive that would exceed the broker's limit of waiting receives is rejected at once."""
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, await_ms=4 * AWAIT_MS)
    waiting = consumer.post_receive(INVISIBLE_MS)
    s.wait_until(lambda: _waiting(s, topic, group), "a receive that waits")
    s.refusal("receive", lambda: consumer.receive(INVISIBLE_MS), text=False)
    producer.send(topic, "hello")
    s.note("given to the first", len(s.finish(waiting, jump_s=0)["messages"]))


def _waiting(s: ScenarioContext, topic: str, group: str) -> bool:
    """True if a pop of any queue waits, or one of the first queue."""
    asked = {"consumerGroup": group, "topic": topic}
    return any(
        s.admin.request(RequestCode.POLLING_INFO, {**asked, "queueId": queue})["pollingNum"] != "0" for queue in (-1, 0)
    )
