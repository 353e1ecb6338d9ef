"""Queues that clients poll: the number of waiting polls for each queue of a topic, as its broker counts them."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.json_text import dumps
from ..drivers.process import Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Style

QUEUES: Final = 4
ANY_QUEUE: Final = -1
INVISIBLE_MS: Final = 30_000
AWAIT_MS: Final = 15_000
"""Longer than it takes to count the waiting polls."""
QUIET_SECONDS: Final = 2.0
"""A starting consumer sends all its requests, one after the other, within this time."""

Counts = dict[str, int]
"""Number of polls that wait for each queue; `any` stands for all queues of a broker."""


def _waiting(s: ScenarioContext, topic: str, group: str) -> Counts:
    counts = {}
    for queue in range(ANY_QUEUE, QUEUES):
        asked = {"consumerGroup": group, "topic": topic, "queueId": queue}
        count = int(s.admin.request(RequestCode.POLLING_INFO, asked)["pollingNum"])
        if count:
            counts["any" if queue == ANY_QUEUE else str(queue)] = count
    return counts


def _note_waiting(
    s: ScenarioContext, label: str, topic: str, group: str, *, consumers: Sequence[Consumer] = ()
) -> None:
    """Note the highest number of polls that waited for each queue at once, after it has not grown for a while."""
    most: Counts = {}
    changed = time.monotonic()

    def at_rest() -> bool:
        nonlocal most, changed
        now = _waiting(s, topic, group)
        grown = {queue: max(most.get(queue, 0), now.get(queue, 0)) for queue in {*most, *now}}
        if grown != most:
            most, changed = grown, time.monotonic()
        return bool(most) and time.monotonic() - changed > QUIET_SECONDS

    s.wait_until(at_rest, f"polls of {group} in {topic}", consumers=consumers)
    s.note(label, dict(sorted(most.items())))


def _pushed(s: ScenarioContext, style: Style) -> None:
    topic, group = s.pair(style, queues=QUEUES)
    consumers = [s.consumer(group, topic, style)]
    _note_waiting(s, "one consumer", topic, group, consumers=consumers)
    consumers.append(s.consumer(group, topic, style, process=1))
    _note_waiting(s, "two consumers", topic, group, consumers=consumers)


def _received(s: ScenarioContext, topic: str, group: str) -> None:
    consumer = s.consumer(group, topic, "simple", await_ms=AWAIT_MS)
    receives: list[Future[Fields]] = []
    for label, count in (("one receive", 1), ("three receives", 2)):
        receives += [consumer.post_receive(INVISIBLE_MS) for _ in range(count)]
        _note_waiting(s, label, topic, group)
    for each in receives:
        s.finish(each)


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple"})
def each_receive_of_a_simple_consumer_is_one_held_pop_for_all_queues(s: ScenarioContext) -> None:
    """Each receive of a simple consumer is one waiting poll for all queues of its broker."""
    _received(s, s.topic(queues=QUEUES), s.group())


@scenario("ReceiveMessageActivity.receiveMessage", verbs={"simple"})
def each_receive_of_an_ordered_group_is_one_held_pop_for_all_queues(s: ScenarioContext) -> None:
    """Each receive of a simple consumer of an ordered group is one waiting poll for all queues."""
    _received(s, s.topic(kind="FIFO", queues=QUEUES), s.group(orderly=True))


@scenario("RouteActivity.queryAssignment", modes={"concurrent"}, protocol="grpc")
def a_grpc_push_consumer_holds_one_pop_for_all_queues(s: ScenarioContext) -> None:
    """A gRPC push consumer is assigned its whole broker, so one receive of each consumer waits there."""
    _pushed(s, "concurrent")


@scenario("RouteActivity.queryAssignment", modes={"orderly"}, protocol="grpc")
def an_ordered_grpc_push_consumer_holds_one_pop_per_queue(s: ScenarioContext) -> None:
    """An ordered gRPC push consumer is assigned each queue, and has one receive for each.

    All these receives wait for messages of any queue.
    """
    _pushed(s, "orderly")


@scenario("QueryAssignmentProcessor.allocate4Pop", modes={"pop"})
def a_popping_consumer_sharing_all_queues_holds_one_pop(s: ScenarioContext) -> None:
    """A popping push consumer whose group shares all queues is assigned its whole broker, so one pop waits there."""
    _pushed(s, "pop")


@scenario("QueryAssignmentProcessor.allocate4Pop", modes={"pop"})
def pop_share_queue_num_1_also_assigns_the_queues_of_the_next_consumer(s: ScenarioContext) -> None:
    """Popping push consumers with popShareQueueNum=1 are assigned their own queues and the next consumer's."""
    topic, group = s.pair("pop", queues=QUEUES)
    mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 1}
    response = s.admin.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, dumps(mode))
    s.require(response.code == 0, f"{group} shall share: {response}")
    consumers = [s.consumer(group, topic, "pop", process=number) for number in range(3)]

    def divided() -> bool:
        waiting = _waiting(s, topic, group)
        return bool(waiting) and "any" not in waiting

    s.wait_until(divided, f"{group} divides {topic}", consumers=consumers)
    _note_waiting(s, "three consumers", topic, group, consumers=consumers)
