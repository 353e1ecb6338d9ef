"""Many waiting receives need no threads and no work while they wait, and a message wakes each of them."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest
from grpc_harness import START_MS, GrpcHarness, a_receive
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.receive_metrics import RECEIVE

CLIENTS = 1_000
IDLE_SECONDS = 1.0
METHOD = "/apache.rocketmq.v2.MessagingService/ReceiveMessage"
APART = [("grpc.use_local_subchannel_pool", 1)]
"""Channel option for a connection of its own; by default grpcio shares one among all channels of a process."""


@pytest.mark.sampled
@pytest.mark.parametrize("threshold", [0, 100_000])
@pytest.mark.parametrize(("brokers", "clients"), [(1, 10_000), (3, 2_000)])
def test_thousands_of_waiting_polls_cause_no_work_until_the_first_ends(
    brokers: int, clients: int, threshold: int
) -> None:
    names = ("broker-a", "broker-b", "broker-c")[:brokers]
    harness = GrpcHarness(*(BrokerConfig(broker_name=name, pop_polling_size=20_000) for name in names))
    harness.config.pop_with_notify_threshold = threshold
    harness.topic_everywhere(queues=8)
    request = a_receive(poll_ms=20_000, broker="")
    waiting = [harness.client(f"client-{number}").receive(request) for number in range(clients)]
    assert harness.service.metrics()[RECEIVE].pops_in_progress == clients
    due = [timer.due_ms for timer in harness.engine.scheduler.scheduled() if timer.kind in ("pop", "notification")]
    assert due == [START_MS + 20_000] * clients * brokers
    written = harness.engine.journal.written
    harness.advance(19_999)
    assert harness.engine.journal.written == written
    assert not any(received.call.sent for received in waiting)
    for number in range(100):
        harness.store(b"%d" % number, broker=number % brokers, queue=number % 8)
    assert sorted(int(body) for received in waiting for body in received.bodies) == list(range(100))
    harness.advance(1)
    assert all(received.call.finished for received in waiting)
    assert not [timer for timer in harness.engine.scheduler.scheduled() if timer.kind in ("pop", "notification")]


@asynccontextmanager
async def channels(endpoint: str, count: int) -> AsyncIterator[list[grpc.aio.Channel]]:
    """Open channels, each with its own connection."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(grpc.aio.insecure_channel(endpoint, options=APART)) for _ in range(count)
        ]


async def received(channel: grpc.aio.Channel, number: int) -> list[bytes]:
    """Return the bodies that client `number` gets from one receive."""
    method = channel.unary_stream(
        METHOD,
        request_serializer=sv.ReceiveMessageRequest.SerializeToString,
        response_deserializer=sv.ReceiveMessageResponse.FromString,
    )
    facts = (
        ("x-mq-client-id", f"client-{number}"),
        ("x-mq-language", "PYTHON"),
        ("x-mq-client-version", "5.1.2"),
    )
    request = a_receive("crowd", batch=1, poll_ms=20_000)
    return [
        frame.message.body async for frame in method(request, metadata=facts, timeout=60) if frame.HasField("message")
    ]


async def wait_for_polls(emulator: Emulator, polls: list[asyncio.Task[list[bytes]]]) -> None:
    """Wait until all polls are in flight."""
    while emulator.receive_metrics.pops_in_progress < len(polls):
        assert not any(poll.done() for poll in polls), emulator.receive_metrics
        await asyncio.sleep(0.02)


async def a_crowd(emulator: Emulator) -> tuple[list[list[bytes]], float, int]:
    """Return each client's bodies, the CPU seconds of the emulator's thread while all waited, and the threads then."""
    async with channels(emulator.endpoint, CLIENTS) as opened:
        polls = [asyncio.create_task(received(channel, number)) for number, channel in enumerate(opened)]
        await wait_for_polls(emulator, polls)
        before = emulator.run_on_loop(lambda _host: time.thread_time())
        await asyncio.sleep(IDLE_SECONDS)
        idle = emulator.run_on_loop(lambda _host: time.thread_time()) - before
        threads = threading.active_count()
        topic = emulator.topic("crowd")
        for number in range(CLIENTS):
            topic.send(b"%d" % number)
        return await asyncio.gather(*polls), idle, threads


@pytest.mark.alone
@pytest.mark.parametrize("threshold", [0, CLIENTS // 2, CLIENTS])
def test_a_thousand_clients_wait_on_one_thread_and_each_gets_a_message(threshold: int) -> None:
    """A thousand clients with a connection each wait in pops, in notifications or in both.

    One idle thread serves them, and each gets a message.
    """
    with Emulator(config={"popWithNotifyThreshold": threshold}, topics=["crowd"]) as emulator:
        threads_before = threading.active_count()
        bodies, idle_cpu, threads = asyncio.run(a_crowd(emulator))
        counted = emulator.receive_metrics
    print(f"{CLIENTS} waiting polls: {idle_cpu * 1000:.1f} ms CPU in {IDLE_SECONDS:g} s")
    assert sorted(int(body) for found in bodies for body in found) == list(range(CLIENTS))
    assert all(len(found) == 1 for found in bodies)
    assert threads <= threads_before + 2  # two of grpcio
    assert (counted.is_long_polling, counted.is_short_polling_hit) == (CLIENTS, 0)
    assert threshold <= counted.pop_with_notify <= counted.notified + threshold
    assert idle_cpu < 0.02 * IDLE_SECONDS
