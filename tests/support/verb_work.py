"""Measures the work of requests of the control port in one turn of the event loop, in executed lines of Python."""

import asyncio
import json
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import grpc
from control_examples import TOKEN, emulator_of_examples, state_of_examples
from grpc_harness import subscribing
from operation_counts import executed_lines
from pull_operation import pull_of
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.operations.clients import ACTIVELY, ConsumerData, Heartbeat, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import PopMessage, PopResult
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.control.dispatch import respond
from rocketmq_testkit.fixtures.control.http.problems import ASSERTION_FAILED, CLOCK_TIMEOUT
from rocketmq_testkit.fixtures.control.http.request import HttpRequest
from rocketmq_testkit.fixtures.control.http.response import HttpResponse, WhileConnected
from rocketmq_testkit.fixtures.control.schema.examples import request_of
from rocketmq_testkit.fixtures.control.schema.table import Verb
from rocketmq_testkit.fixtures.host.host import Host

PIECES = 40
"""The number of pieces of a response, from its start, that are measured."""
INVISIBLE_MS = 600_000
EXAMPLE_LINES = 100
"""The limit of the example of `GET /v1/journal`."""


@dataclass(frozen=True)
class Load:
    """The content of an emulator: messages of each kind on each broker, and clients of each protocol."""

    messages: int
    clients: int


@dataclass(frozen=True)
class Case:
    """A request of a verb: its example, or another path and body.

    `stopped`: the broker to stop before the request. `is_flushed`: True if brokers flush all messages before it.
    """

    verb: Verb
    path: str
    body: Mapping[str, Any] | None
    stopped: str | None = None
    _: KW_ONLY
    is_flushed: bool = False

    @property
    def name(self) -> str:
        """The name of the verb, and the differences from its example."""
        path, body = request_of(self.verb)
        parts = [self.verb.name, *([self.path] if self.path != path else [])]
        return " ".join([*parts, *([json.dumps(self.body)] if self.body != body else [])])


@contextmanager
def loaded_emulator(load: Load) -> Iterator[Emulator]:
    """Run an emulator with the state of the examples, messages and clients."""
    with ExitStack() as stack:
        emulator = stack.enter_context(emulator_of_examples())
        stack.enter_context(state_of_examples(emulator))
        for topic in ("%DLQ%warehouse", "%RETRY%warehouse"):
            emulator.topic(topic)
        emulator.group("warehouse", orderly=True)
        emulator.run_on_loop(_fill_journal_piece)
        emulator.run_on_loop(lambda host: _connect(host, load.clients))
        if load.clients:
            connection = stack.enter_context(GrpcClient(grpc.insecure_channel(emulator.endpoint)))
            for number in range(load.clients):
                connection.open(f"10.0.0.9@{number}", subscribing("warehouse", "later")).command()
        emulator.run_on_loop(lambda host: _fill(host, load.messages))
        emulator.run_on_loop(_keep_snapshots)
        emulator.run_on_loop(_settle_tallies)
        yield emulator


def _fill_journal_piece(host: Host) -> None:
    """Write as many lines to the journal as the example reads, so that they do not depend on the load."""
    for _ in range(EXAMPLE_LINES):
        host.engine.execute(host.engine.brokers[0], GetMaxOffset("orders", 0))


def _connect(host: Host, number: int) -> None:
    """Connect remoting consumers, which are producers as well. Each has a waiting pull."""
    broker = host.engine.brokers[0]
    for index in range(number):
        channel = DirectChannel(f"client-{index}", ("10.0.0.8", index))
        data = ConsumerData("warehouse", subscriptions=[SubscriptionData("later", "*")])
        host.engine.submit(broker, Heartbeat(f"10.0.0.8@{index}", ["shop"], [data]), channel)
        pull = pull_of("warehouse", "later", suspend_ms=INVISIBLE_MS)
        host.engine.submit(broker, pull, channel)


def _fill(host: Host, number: int) -> None:
    """Add messages: stored, delayed, timed, half, in flight, retries and dead letters; and lines of the journal."""
    later = {"__STARTDELIVERTIME": str(host.direct.now_ms + 3_600_000)}
    for name in host.direct.masters():
        send = partial(host.direct.send, broker=name.name)
        for index in range(number):
            send("orders", b"tea", keys=[f"more-{index}"], message_group="table-7")
            send("later", b"tea", properties={"DELAY": "17"})
            send("later", b"tea", properties=later)
            send("payments", b"tea", properties={"TRAN_MSG": "true", "PGROUP": "shop"})
            for topic in ("%DLQ%booking", "%DLQ%warehouse", "%RETRY%warehouse"):
                send(topic, b"tea")
    if number:
        courier = DirectChannel("courier", ("10.0.0.10", 1))
        heartbeat = Heartbeat("10.0.0.10@1", [], [ConsumerData("couriers", ACTIVELY)])
        host.engine.execute(host.engine.brokers[0], heartbeat, courier)
        _take_all(host, "couriers", courier)
        _take_all(host, "warehouse", DirectChannel("silent"))


def _take_all(host: Host, group: str, channel: DirectChannel) -> None:
    """Pop all messages of a topic. They stay in flight."""
    while True:
        pop = PopMessage(
            group,
            "orders",
            queue_id=-1,
            max_msg_nums=1,
            invisible_ms=INVISIBLE_MS,
            born_ms=host.direct.now_ms,
            exp_type="TAG",
            exp="*",
            attempt_id=None,
        )
        outcome = host.engine.submit(host.engine.brokers[0], pop, channel).outcome
        if not isinstance(outcome, PopResult) or not outcome.messages:
            return


def _settle_tallies(host: Host) -> None:
    """Settle the counts of the setup. `TALLIED_MAX` bounds the work of a settlement; the smaller load is below it."""
    for broker in host.engine.brokers:
        broker.store.stats.by_name.settle()
        broker.store.stats.by_name.sent.settle()


def _keep_snapshots(host: Host) -> None:
    vars(host).pop("kept_snapshots", None)
    for _ in range(2):
        host.kept_snapshots.keep()


def most_lines(emulator: Emulator, case: Case) -> int:
    """Return the most lines in one turn of the loop, or in one of the first PIECES pieces of the response."""
    if case.is_flushed:
        emulator.clock.advance("1s", wait=None)
    if case.stopped is not None:
        emulator.stop_broker(case.stopped)
    target, _, query = case.path.partition("?")
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    content = b"" if case.body is None else json.dumps(case.body).encode()
    request = HttpRequest(case.verb.method, target, query, headers, body=content)

    async def measure(host: Host) -> int:
        made: list[Any] = []
        turns = [executed_lines(lambda: made.append(respond(host, request)))]
        response = made[0].response if isinstance(made[0], WhileConnected) else made[0]
        if isinstance(response, Coroutine):
            response = await _driven(response, turns)
        assert isinstance(response, HttpResponse), case.name
        allowed = {case.verb.status, *(each.status for each in case.verb.own_errors if each in _OUTCOMES)}
        assert response.status in allowed, response.body
        if isinstance(response.body, Iterator):
            pieces = response.body
            turns.extend(executed_lines(lambda: next(pieces, None)) for _ in range(PIECES))
        elif (close := getattr(response.body, "aclose", None)) is not None:
            await close()
        return max(turns)

    return emulator.await_on_loop(measure)


_OUTCOMES = {ASSERTION_FAILED, CLOCK_TIMEOUT}
"""Problems of requests that do their whole work before they report the problem."""


async def _driven(work: Coroutine[Any, Any, Any], turns: list[int]) -> Any:
    """Run a coroutine to its end, and count the lines of each turn."""
    ended: list[Any] = []

    def turn() -> Any:
        try:
            waits.append(work.send(None))
        except StopIteration as end:
            ended.append(end.value)

    while not ended:
        waits: list[Any] = []
        turns.append(executed_lines(turn))
        for future in waits:
            if future is None:
                await asyncio.sleep(0)
            else:
                future._asyncio_future_blocking = False
                await asyncio.wait([future])
    return ended[0]
