"""Measures the answers of the web console with 100,000 messages, half of them in flight, and 1,000 clients.

    python bench/console.py            # some two minutes
    python bench/console.py 10000 100  # fewer messages and clients

It prints the processor time of the first answer of each list, and the 95th percentile of 20 further answers. A message
is sent before each of them. A list that reads everything does so in parts: its page sends the same request until all is
read. The exit code is 1 if a 95th percentile is more than 100 ms. `tests/fixtures/console/test_work.py` limits the same
work by counts.
"""

import asyncio
import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack, closing

from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.emulator.operations.consume import PopMessage
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.console.site import LISTS
from rocketmq_testkit.fixtures.console.window import Window
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.remoting.client.connection import RemotingClient

MESSAGES, CLIENTS, GROUPS = 100_000, 1_000, 20
ANSWERS = 20
LIMIT_MS = 100.0
WINDOWS = {
    "topics": Window(limit=10),
    "messages": Window(limit=15),
    "messages, topic": Window(limit=15, choices={"topic": "orders"}),
    "messages, filter": Window(limit=15, filter="key:77777 tag:tea"),
    "groups": Window(),
    "members": Window(limit=25, choices={"group": "group-3"}),
    "clients": Window(),
    "receipts": Window(),
    "receipts, filter": Window(filter="group:billing"),
    "scheduled": Window(),
    "journal": Window(),
    "journal, failures": Window(limit=10, choices={"only": "failures"}),
}


def fill(host: Host, messages: int) -> None:
    """Send messages to two topics, and pop one of them for a group."""
    for number in range(messages):
        topic = "orders" if number % 2 else "parcels"
        host.direct.send(topic, b'{"order": %d}' % number, tag="tea", keys=[str(number)])
    engine = host.direct._engine
    for _ in range(messages // 64):
        now_ms = engine.scheduler.now_ms
        engine.execute(engine.brokers[0], PopMessage("billing", "orders", -1, 32, 600_000, 0, now_ms, 0, "TAG", "*"))


def answer_ms(host: Host, name: str, window: Window) -> float:
    """Return the processor time (ms) of an answer on the thread of the event loop."""
    done: Future[float] = Future()
    tasks: list[asyncio.Task[None]] = []

    async def answered() -> None:
        begin = time.thread_time()
        try:
            await LISTS[name.split(",")[0]](host, window)
        finally:
            done.set_result(1000 * (time.thread_time() - begin))

    host.event_loop.call(lambda: tasks.append(asyncio.get_running_loop().create_task(answered())), 60)
    return done.result(600)


def measured(emulator: Emulator, host: Host, name: str, window: Window) -> bool:
    """Print the times of a list, and return True if they are within the limit."""
    times = []
    for _ in range(ANSWERS + 1):
        emulator.topics["orders"].send(b"one more")
        times.append(answer_ms(host, name, window))
    first, *others = times
    p95 = sorted(others)[int(0.95 * len(others)) - 1]
    print(f"{name:20} first {first:6.1f} ms, p95 {p95:6.1f} ms", flush=True)
    return p95 <= LIMIT_MS


def main(messages: int, clients: int) -> int:
    """Measure all lists."""
    with ExitStack() as stack:
        topics = ["orders::8", "parcels::8"]
        emulator = stack.enter_context(Emulator(topics=topics, time="frozen", call_timeout="10m"))
        host = emulator._host
        assert host is not None
        emulator.group("billing")
        emulator.reset_offset("billing", "orders", to="earliest")
        host.event_loop.call(lambda: fill(host, messages), 600)
        for number in range(clients):
            client = stack.enter_context(closing(RemotingClient(emulator.broker)))
            group, topic = f"group-{number % GROUPS}", "orders" if number % 2 else "parcels"
            assert client.request(*heartbeat_request(f"client-{number}", groups={group: {topic: "*"}})).code == 0
        within = [measured(emulator, host, name, window) for name, window in WINDOWS.items()]
        return 0 if all(within) else 1


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*given, *(MESSAGES, CLIENTS)[len(given) :]))
