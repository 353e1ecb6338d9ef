"""A seeded simulation of remoting clients of one broker, while rules that cause faults are added and removed.

    python tests/simulation ruled_requests SEED

runs one seed and prints its actions. The rules of `KINDS` lose, delay, repeat, reorder and reject requests, responses
and deliveries, stop and restart the broker, and turn off its services. A client sends each request once.
`ruled_messages.py` has the invariants.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from remoting_harness import Peer
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.receipt_handles import built_handle, place_of
from rocketmq_testkit.conformance.clients.remoting_consumption import (
    ack_request,
    commit_request,
    pop_request,
    pull_request,
)
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.engine_cluster_control import EngineClusterControl
from rocketmq_testkit.emulator.faults.given_fault import rule_of
from rocketmq_testkit.emulator.faults.rule import RunningRule
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.fixtures.faults.running_rules import RunningRules
from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.server.dispatcher import RemotingDispatcher
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from ruled_messages import RuledMessages
from session import START_MS
from shortening import failure_of, report_of, show
from simulation import NUMBERS, Action
from stored_messages import Violation

TOPIC, QUEUES = "T", 2
PULLERS, TAKERS = "pullers", "takers"
ACTIONS = 60
WEIGHTS = {"send": 18, "pull": 7, "commit": 2, "pop": 12, "ack": 10, "rule": 9, "end rule": 3, "crash": 1, "advance": 9}
JUMPS_MS = (1, 100, 1_000, 3_000, 11_000, 61_000)
INVISIBLE_MS = (10_000, 1_000, 60_000)
POLL_MS = (0, 0, 3_000)
OPERATIONS = ("SendMessage", "PopMessage", "PullMessage", "AckMessage", None)
DELIVERING = ("PopMessage", "PullMessage", None)
LONGEST_MS = 120_000
"""Longer than any delay, pause and invisible duration."""
DRAIN_ROUNDS = 30

KINDS: tuple[tuple[Callable[..., Any], dict[str, Any], tuple[str | None, ...]], ...] = (
    (faults.drop_request, {}, OPERATIONS),
    (faults.drop_request, {"how": "close"}, OPERATIONS),
    (faults.delay_request, {"duration": "700ms"}, OPERATIONS),
    (faults.duplicate_request, {}, OPERATIONS),
    (faults.throttle, {"per_second": 0.5}, OPERATIONS),
    (faults.respond, {"code": "SYSTEM_BUSY", "strict": False}, OPERATIONS),
    (faults.drop_response, {}, OPERATIONS),
    (faults.drop_response, {"how": "close"}, OPERATIONS),
    (faults.delay_response, {"duration": "2s"}, OPERATIONS),
    (faults.duplicate_response, {}, OPERATIONS),
    (faults.reorder_responses, {}, OPERATIONS),
    (faults.wrong_opaque, {}, OPERATIONS),
    (faults.close_connection, {}, OPERATIONS),
    (faults.duplicate_delivery, {}, DELIVERING),
    (faults.reorder_delivery, {}, DELIVERING),
    (faults.corrupt_checksum, {}, DELIVERING),
    (faults.deliver_to_second_consumer, {}, DELIVERING),
    (faults.refuse_append, {}, ("SendMessage",)),
    (faults.refuse_append, {"reason": "flush_timeout"}, ("SendMessage",)),
    (faults.refuse_append, {"reason": "page_cache_busy"}, ("SendMessage",)),
    (faults.restart_broker, {}, OPERATIONS),
    (faults.restart_broker, {"kill": True}, OPERATIONS),
    (faults.stop_broker, {"broker": "broker-a", "duration": "2s"}, (None,)),
    (faults.stop_revive, {}, (None,)),
    (faults.stop_transaction_checks, {}, (None,)),
    (faults.skew_clock, {"broker": "broker-a", "by": "-20s"}, (None,)),
)
"""Faults, each with its parameters and the operations to which a rule may limit it (None: all operations)."""
STANDING = (faults.stop_broker, faults.stop_revive, faults.stop_transaction_checks, faults.skew_clock)


class RuledSetup(NamedTuple):
    """Set-up of the broker: the seed of its engine."""

    seed: int


class Taken(NamedTuple):
    """A popped message that is not acknowledged yet, with its receipt handle."""

    message: ReceivedMessage
    handle: str


class RuledRequests:
    """A broker, its rules and its clients; `perform` raises Violation."""

    def __init__(self, setup: RuledSetup) -> None:
        config = BrokerConfig(flush_disk_type="SYNC_FLUSH")
        self.engine = Engine(brokers=[config], seed=setup.seed, now_ms=START_MS)
        self.broker = self.engine.brokers[0]
        self.engine.execute(self.broker, CreateTopic(TopicConfig(TOPIC, QUEUES, QUEUES)))
        self._rules = RunningRules(self.engine, EngineClusterControl(self.engine))
        self._dispatcher = RemotingDispatcher(
            gate=self.engine.gate,
            broker=self.broker,
            name_server=self.engine.name_server,
            broker_address=lambda name, broker_id, channel: f"{name}:{10911 + broker_id}",
            log=self._log,
        )
        self._clients = [self._connected(number) for number in range(2)]
        self._asked: dict[int, Callable[[RemotingCommand], None]] = {}
        self._answers: Counter[int] = Counter()
        self._sent = 0
        self._cursors = dict.fromkeys(range(QUEUES), 0)
        self._taken: list[Taken] = []
        self.book = RuledMessages(self.broker, TOPIC, QUEUES)
        self.all_rules: list[RunningRule] = []

    def _log(self, line: str) -> None:
        raise Violation(f"the server reports a bug: {line}")

    def _connected(self, number: int) -> Peer:
        return Peer(self._dispatcher, 50_001 + number)

    @property
    def now_ms(self) -> int:
        """The simulated time (ms since the epoch)."""
        return self.engine.scheduler.now_ms

    def fired(self, *kinds: str) -> int:
        """Return how often rules with one of these kinds of faults caused their fault."""
        return sum(rule.fired for rule in self.all_rules if rule.spec.fault.KIND.name in kinds)

    def perform(self, action: Action) -> None:
        """Carry out an action, and check what it may have changed. Raises Violation."""
        match action.verb:
            case "send":
                self._send(action)
            case "pull":
                self._pull(action.client, action.a % QUEUES)
            case "commit":
                queue = action.a % QUEUES
                request = commit_request(TOPIC, PULLERS, self._cursors[queue], queue)
                self._ask(action.client, request, lambda response: None)
            case "pop":
                self._pop(action.client, INVISIBLE_MS[action.a % 3], POLL_MS[action.b % 3], 1 + action.c % 4)
            case "ack":
                if self._taken:
                    self._ack(action.client, self._taken.pop(action.a % len(self._taken)))
            case "rule":
                self._add_rule(action)
            case "end rule":
                rules = list(self._rules.plan)
                if rules:
                    self._rules.plan.remove(rules[action.a % len(rules)].name)
            case "crash":
                if self.broker.running:
                    self.engine.crash(self.broker, power_loss=action.a % 2 == 0)
                    self.book.restarted(self.now_ms)
            case _:
                self._advance(JUMPS_MS[action.a % len(JUMPS_MS)])
        self._collect()
        self._judge()

    def _add_rule(self, action: Action) -> None:
        fault, parameters, operations = KINDS[action.a % len(KINDS)]
        given = dict(parameters)
        operation = operations[action.b % len(operations)]
        if operation is not None:
            given["operation"] = operation
        if fault not in STANDING:
            given["times"] = 1 + action.c % 3
            given["probability"] = (1.0, 0.5)[action.d % 2]
        self.all_rules += self._rules.add([rule_of(fault(**given), {})], of_test=False)

    def _ask(self, client: int, request: RemotingRequest, on_answer: Callable[[RemotingCommand], None]) -> int:
        """Send a request, on a new connection if the server has ended the old one; return its opaque."""
        at = client % len(self._clients)
        peer = self._clients[at]
        if peer.socket.ends or not peer.channel.active:
            peer = self._clients[at] = self._connected(len(self._asked) + 10)
        opaque = len(self._asked) + 1
        self._asked[opaque] = on_answer
        command = RemotingCommand(request.code, opaque=opaque, ext_fields=request.ext, body=request.body)
        peer.send(command)
        return opaque

    def _collect(self) -> None:
        """Take the responses that have arrived."""
        for peer in self._clients:
            for command in peer.received():
                if not command.is_response:
                    continue
                on_answer = self._asked.get(command.opaque)
                if on_answer is None:
                    self.book.stray += 1
                    continue
                self._answers[command.opaque] += 1
                if self._answers[command.opaque] == 1:
                    on_answer(command)

    def _advance(self, ms: int) -> None:
        self.engine.scheduler.advance_to(self.now_ms + ms)

    # requests

    def _send(self, action: Action) -> None:
        self._sent += 1
        body, queue = f"m{self._sent}", action.a % QUEUES

        def on_answer(response: RemotingCommand) -> None:
            fields = response.ext_fields or {}
            if response.code == 0:
                self.book.sent(body, int(fields["queueId"]), int(fields["queueOffset"]))

        self.book.asked(body, self.now_ms)
        self._ask(action.client, send_request(TOPIC, body, born_ms=self.now_ms, queue=queue), on_answer)

    def _pull(self, client: int, queue: int) -> int:
        offset = self._cursors[queue]

        def on_answer(response: RemotingCommand) -> None:
            if response.code == 0:
                self.book.pulled(queue, decode_messages(response.body))
                self._cursors[queue] = int((response.ext_fields or {})["nextBeginOffset"])

        return self._ask(client, pull_request(TOPIC, PULLERS, queue, offset), on_answer)

    def _pop(self, client: int, invisible_ms: int, poll_ms: int, count: int) -> int:
        def on_answer(response: RemotingCommand) -> None:
            if response.code == 0:
                for message in decode_messages(response.body):
                    fields = response.ext_fields or {}
                    handle = message.properties.get("POP_CK") or built_handle(message, fields, self.broker.name)
                    self.book.popped(message, handle)
                    self._taken.append(Taken(message, handle))

        more = {"invisible_ms": invisible_ms, "poll_ms": poll_ms, "born_ms": self.now_ms, "max_messages": count}
        return self._ask(client, pop_request(TOPIC, TAKERS, **more), on_answer)

    def _ack(self, client: int, taken: Taken) -> int:
        def on_answer(response: RemotingCommand) -> None:
            if response.code == 0:
                self.book.acknowledged(taken.message, taken.handle, self.now_ms)

        topic, queue, offset = place_of(taken.handle, TOPIC, TAKERS)
        return self._ask(client, ack_request(topic, TAKERS, taken.handle, offset, queue=queue), on_answer)

    # invariants

    def _judge(self) -> None:
        restarts = self.fired("restart_broker", "stop_broker")
        if restarts != self.book.restarts_of_rules:
            self.book.restarts_of_rules = restarts
            self.book.restarted(self.now_ms)
        if self.fired("skew_clock", "deliver_to_second_consumer"):
            self.book.redelivers = True
        self.book.judge(self.fired("duplicate_request"))
        most = 2 ** self.fired("duplicate_response")  # a second rule also repeats the copies that the first one made
        if (doubled := max(self._answers.values(), default=0)) > most:
            raise Violation(f"a request has {doubled} responses, rules allow {most}")
        strays = most * self.fired("wrong_opaque")
        if self.book.stray > strays:
            raise Violation(f"{self.book.stray} responses to no request, rules allow {strays}")
        for rule in self.all_rules:
            most = rule.spec.occurrence.times
            if most is not None and rule.fired > most:
                raise Violation(f"{rule.name} has fired {rule.fired} times, and may {most} times")

    def finish(self) -> None:
        """Remove all rules, and consume until no message is left. Raises Violation."""
        for rule in list(self._rules.plan):
            self._rules.plan.remove(rule.name)
        self._advance(LONGEST_MS)
        self._collect()
        self._judge()
        if self.engine.scheduler.has(lambda timer: timer.kind == "fault"):
            raise Violation("a timer of a removed rule remains")
        self._clients = [self._connected(9_000)]
        for queue in range(QUEUES):
            self._cursors[queue] = 0
            while self._cursors[queue] < self.broker.store.max_offset(TOPIC, queue):
                before = self._cursors[queue]
                self._answered_once(self._pull(0, queue))
                if self._cursors[queue] == before:
                    raise Violation(f"a pull of queue {queue} from offset {before} returns no messages")
        for _ in range(DRAIN_ROUNDS):
            came = 0
            while True:
                self._taken.clear()
                self._answered_once(self._pop(0, 10_000, 0, 32))
                if not self._taken:
                    break
                came += len(self._taken)
                for taken in tuple(self._taken):
                    self._answered_once(self._ack(0, taken))
            if not came:
                break
            self._advance(LONGEST_MS)
        self._judge()
        self.book.finished()

    def _answered_once(self, opaque: int) -> None:
        self._collect()
        if self._answers[opaque] != 1:
            raise Violation(f"without rules a request has {self._answers[opaque]} responses")


def plan(seed: int) -> tuple[RuledSetup, list[Action]]:
    """Return the set-up and actions of a seed."""
    draw = random.Random(f"rules {seed}")
    verbs = draw.choices(list(WEIGHTS), list(WEIGHTS.values()), k=ACTIONS)
    return RuledSetup(seed), [_drawn(verb, draw) for verb in verbs]


def _drawn(verb: str, draw: random.Random) -> Action:
    client, a, b, c, d = (draw.randrange(NUMBERS) for _ in range(5))
    return Action(verb, client, draw.randrange(len(KINDS)) if verb == "rule" else a, b, c, d)


def run(setup: RuledSetup, actions: Iterable[Action]) -> RuledRequests:
    """Carry out all actions and consume everything. Raises Violation."""
    simulation = RuledRequests(setup)
    for action in actions:
        simulation.perform(action)
    simulation.finish()
    return simulation


def failure(setup: RuledSetup, actions: Iterable[Action]) -> str:
    """Run the actions; return the error, "" if there is none."""
    return failure_of(lambda: run(setup, actions))


def report(seed: int) -> str:
    """Return how to reproduce a failing seed and its shortest actions; "" if it does not fail."""
    return report_of(seed, "test_ruled_requests.py", *plan(seed), judge=failure)


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:], plan, report))
